"""`korvet up` as a real process, and the `korvet` command as a person would run it."""

import contextlib
import os
import re
import shlex
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple, Self

ROOT: Final = Path(__file__).parents[2]
READY: Final = "Korvet is ready."
START_DEADLINE: Final = 60.0


def clean_environ(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment without settings of the shell's own, and without its size."""
    size = ("COLUMNS", "LINES")
    inherited = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("KORVET_") and name not in size
    }
    return {**inherited, **(extra or {})}


class Ended(NamedTuple):
    code: int
    out: bytes
    err: str


def korvet(
    *arguments: str, stdin: bytes = b"", environ: Mapping[str, str] | None = None
) -> Ended:
    """Run one command to its end."""
    done = subprocess.run(
        [sys.executable, "-m", "korvet.cli", *arguments],
        input=stdin,
        capture_output=True,
        env=clean_environ(environ),
        timeout=120,
        check=False,
    )
    return Ended(done.returncode, done.stdout, done.stderr.decode())


class UpProcess:
    """One `korvet up` on free ports. As a context manager it is ended, whatever happens."""

    _cwd: Path | None = None
    _start_deadline = START_DEADLINE

    def __init__(self, data: Path, *options: str, port: int = 0) -> None:
        self._port = port
        self._data = data
        self._options = options
        self._process: subprocess.Popen[str] | None = None
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._changed = threading.Condition()
        self._output = ""
        self._ended = False

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.kill()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        if self._running().poll() is None:
            self._running().send_signal(signal.SIGTERM)
        self.wait()

    def start(self) -> None:
        self._process = subprocess.Popen(
            self._command(),
            cwd=self._cwd,
            env=clean_environ(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            process_group=0,
        )
        self._reader.start()
        with self._changed:
            self._changed.wait_for(self._is_decided, timeout=self._start_deadline)
        if READY not in self._output:
            raise AssertionError(f"korvet up is not ready:\n{self._output}")

    @property
    def pid(self) -> int:
        return self._running().pid

    @property
    def output(self) -> str:
        return self._output

    @property
    def bootstrap(self) -> str:
        return self._address("Kafka")

    @property
    def storage(self) -> str:
        return self._address("gRPC")

    @property
    def coordinator(self) -> str:
        found = re.search(r"(\S+) \(coordinator\)", self._output)
        assert found, self._output
        return found[1]

    @property
    def redis(self) -> str:
        return self._address("Redis")

    @property
    def metrics(self) -> str:
        url = self._address("Metrics")
        return url.removeprefix("http://").removesuffix("/metrics")

    @property
    def addresses(self) -> dict[str, str]:
        """What commands find this Korvet by."""
        return {
            "KORVET_BOOTSTRAP": self.bootstrap,
            "KORVET_STORAGE": self.storage,
            "KORVET_COORDINATOR": self.coordinator,
            "KORVET_METRICS": self.metrics,
        }

    def korvet(self, *arguments: str, stdin: bytes = b"") -> Ended:
        """Run a command that finds this Korvet through its environment."""
        return korvet(*arguments, stdin=stdin, environ=self.addresses)

    def children(self) -> dict[str, int]:
        """Redis, Storage, Coordinator and Gateway -> their process ids."""
        names = {
            "redis": "Redis",
            "korvet.storage": "Storage",
            "korvet.coordinator": "Coordinator",
            "korvet.gateway": "Gateway",
        }
        listed = Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text().split()
        found = {}
        for pid in map(int, listed):
            command = Path(f"/proc/{pid}/cmdline").read_text()
            found.update({name: pid for part, name in names.items() if part in command})
        return found

    def signal(self, number: signal.Signals) -> None:
        self._running().send_signal(number)

    def press_ctrl_c(self) -> None:
        """What a terminal does: the whole process group hears of it."""
        os.killpg(self.pid, signal.SIGINT)

    def wait(self, deadline: float = 60.0) -> int:
        """Its exit status."""
        try:
            code = self._running().wait(deadline)
        except subprocess.TimeoutExpired:
            self.kill()
            raise
        self._reader.join()
        return code

    def kill(self) -> None:
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.pid, signal.SIGKILL)
            self._process.wait()
            self._reader.join()

    def _command(self) -> list[str]:
        return [sys.executable, "-m", "korvet.cli", "up", *self._arguments()]

    def _arguments(self) -> list[str]:
        ports = [f"--port={self._port}", "--storage-port=0", "--coordinator-port=0"]
        return ["--data", str(self._data), *ports, *self._options]

    def _running(self) -> "subprocess.Popen[str]":
        assert self._process is not None, "not started"
        return self._process

    def _is_decided(self) -> bool:
        return READY in self._output or self._ended

    def _address(self, name: str) -> str:
        found = re.search(rf"^  {name}\s+(\S+)", self._output, re.MULTILINE)
        assert found, self._output
        return found[1]

    def _read(self) -> None:
        pipe = self._running().stdout
        assert pipe is not None
        with pipe:
            for line in pipe:
                with self._changed:
                    self._output += line
                    self._changed.notify_all()
        with self._changed:
            self._ended = True
            self._changed.notify_all()


class MakeRun(UpProcess):
    """The same by `make run` in this very checkout, whose `.venv` stays as it is."""

    _cwd = ROOT

    def _command(self) -> list[str]:
        installed = "--old-file=.venv/runtime.stamp"
        return ["make", installed, "run", f"UP={shlex.join(self._arguments())}"]


class FreshMakeRun(UpProcess):
    """The same in a new clone, which has no `.venv` yet: so it installs everything."""

    _start_deadline = 300.0

    def __init__(self, clone: Path, data: Path) -> None:
        super().__init__(data)
        self._cwd = clone

    def _command(self) -> list[str]:
        return ["make", "run", f"UP={shlex.join(self._arguments())}"]
