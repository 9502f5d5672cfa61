"""One service as a real process: started, waited for, killed, paused, restarted.

It is only ever ended by its own process id. Its log goes to a file, for failing tests.
"""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Final

START_DEADLINE: Final = 30.0
STOP_DEADLINE: Final = 30.0


class ServiceProcess:
    """`python -m module` with some environment; ready when `is_ready` says so.

    Address and settings stay the same over `kill` and `start`, as for a service that some
    supervisor restarts.
    """

    def __init__(
        self,
        name: str,
        module: str,
        *,
        address: str,
        environ: Mapping[str, str],
        folder: Path,
        is_ready: Callable[[str], bool],
    ) -> None:
        self.name = name
        self.address = address
        self.environ = dict(environ)
        self.log_file = folder / f"{name}.log"
        self._module = module
        self._is_ready = is_ready
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        return self._running().pid

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def start(self, *, wait: bool = True) -> None:
        """Start it; by default return when it is ready."""
        assert not self.is_running, f"{self.name} is already running"
        # Nothing of the shell's own settings may leak in.
        inherited = {k: v for k, v in os.environ.items() if not k.startswith("KORVET_")}
        with self.log_file.open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", self._module],
                env={**inherited, **self.environ},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        if wait:
            self.wait_until_ready()

    def wait_until_ready(self) -> None:
        deadline = time.monotonic() + START_DEADLINE
        while not self._is_ready(self.address):
            if self._running().poll() is not None:
                code = self._running().returncode
                raise RuntimeError(f"{self.name} exited with {code}:\n{self.log()}")
            if time.monotonic() > deadline:
                raise TimeoutError(f"{self.name} is not ready:\n{self.log()}")
            time.sleep(0.02)

    def stop(self) -> int:
        """Stop it in an orderly way; return its exit status."""
        self._running().send_signal(signal.SIGTERM)
        return self._reap(STOP_DEADLINE)

    def kill(self) -> None:
        """End it as kill -9 does. Does nothing where it is not running."""
        if self._process is not None:
            self._process.kill()
            self._reap(STOP_DEADLINE)

    def restart(self) -> None:
        """Kill -9, and start again at the same address."""
        self.kill()
        self.start()

    @contextlib.contextmanager
    def paused(self) -> Iterator[None]:
        """Alive but doing nothing, as one whose machine hangs."""
        self._running().send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self._running().send_signal(signal.SIGCONT)

    def log(self) -> str:
        if not self.log_file.exists():
            return "(no log)"
        return "\n".join(self.log_file.read_text(errors="replace").splitlines()[-60:])

    def _running(self) -> subprocess.Popen[bytes]:
        assert self._process is not None, f"{self.name} is not running"
        return self._process

    def _reap(self, deadline: float) -> int:
        process = self._running()
        try:
            code = process.wait(timeout=deadline)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise TimeoutError(f"{self.name} did not stop:\n{self.log()}") from None
        self._process = None
        return code
