"""A way from a service to what it calls, on which a test holds the bytes of one step.

    with gate_before(korvet.storages[0], "KORVET_STORAGE_REDIS_URL") as gate, korvet:
        held = gate.hold(b"korvet:partition:orders:0", "before")
        …                       # what has the storage write to that partition
        held.wait()             # what came before these bytes has passed, they have not
        korvet.storages[0].kill()
        held.release()          # they arrive, late; `drop` ends their connection instead

So a real process dies exactly between two steps. All calls block, with a deadline.
"""

import contextlib
import re
import socket
import threading
from collections.abc import Callable, Iterator
from typing import Any, Final, Literal

from tests.support.service_process import ServiceProcess
from tests.support.traffic import PATIENCE

# Not carried out, or carried out and not answered.
When = Literal["before", "after"]

_CHUNK: Final = 1 << 16


class Held:
    """Bytes that wait, and all that comes after them on their connection."""

    def __init__(self, pattern: bytes, when: When) -> None:
        self.pattern = pattern
        self.when = when
        self._arrived = threading.Event()
        self._is_over = threading.Event()
        self._is_gone = threading.Event()
        self._is_dropped = False
        self._has_passed = False

    def wait(self) -> None:
        """Until they are there."""
        if not self._arrived.wait(PATIENCE):
            raise TimeoutError(f"{self.pattern!r} does not come")

    def release(self) -> None:
        """Have them go on, and wait until they have."""
        self._is_over.set()
        self._is_gone.wait(PATIENCE)
        if not self._has_passed:
            raise ConnectionError(f"{self.pattern!r} cannot go on")

    def drop(self) -> None:
        self._is_dropped = True
        self._is_over.set()

    @contextlib.contextmanager
    def staying(self) -> Iterator[None]:
        """Around what is to happen when it is released."""
        self._arrived.set()
        self._is_over.wait()
        try:
            if self._is_dropped:
                raise ConnectionAbortedError
            yield
            self._has_passed = True
        finally:
            self._is_gone.set()


# Not the host of those behind it: so it has a port of theirs as its own.
_HOST: Final = "127.0.0.2"


class Gate:
    """Listens at `address`, and passes everything on to its target and back.

    On the way to Redis, commands that were sent together with what is held pass before it;
    of gRPC, all that was sent at once is held, lest a call's deadline begins to run.
    """

    def __init__(
        self, target: tuple[str, int], *, is_redis: bool, stream_port: int | None = None
    ) -> None:
        """`stream_port` is where a service takes streams, of which it tells by the port."""
        self._is_redis = is_redis
        self._wanted: Held | None = None
        self._held: list[Held] = []
        self._sockets: list[socket.socket] = []
        self._threads: list[threading.Thread] = []
        listener = socket.create_server((_HOST, 0))
        self.address = f"{_HOST}:{listener.getsockname()[1]}"
        self._ways = [(listener, target)]
        if stream_port is not None:
            streams = socket.create_server((_HOST, stream_port))
            self._ways.append((streams, (target[0], stream_port)))

    def start(self) -> None:
        for listener, target in self._ways:
            self._spawn(self._accept, listener, target)

    def hold(self, pattern: bytes, when: When) -> Held:
        """Hold what comes next with these bytes in it, or its answer."""
        self._wanted = Held(pattern, when)
        self._held.append(self._wanted)
        return self._wanted

    def open(self) -> None:
        """Hold nothing any more."""
        self._wanted = None
        for held in self._held:
            held.drop()

    def close(self) -> None:
        self.open()
        _end(*(listener for listener, _ in self._ways))
        # The first ones accept the others.
        for accepting in self._threads[: len(self._ways)]:
            accepting.join(PATIENCE)
        _end(*self._sockets)
        for thread in self._threads:
            thread.join(PATIENCE)

    def _spawn(self, work: Callable[..., None], *arguments: Any) -> None:
        thread = threading.Thread(target=work, args=arguments, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self, listener: socket.socket, target: tuple[str, int]) -> None:
        with contextlib.suppress(OSError):
            while True:
                near, _ = listener.accept()
                self._sockets.append(near)
                try:
                    far = socket.create_connection(target)
                except OSError:
                    _end(near)
                    continue
                self._sockets.append(far)
                answers: list[Held] = []
                self._spawn(self._pass_on, near, far, answers)
                self._spawn(self._pass_back, near, far, answers)

    def _pass_on(
        self, near: socket.socket, far: socket.socket, answers: list[Held]
    ) -> None:
        passed = b""
        with contextlib.suppress(OSError):
            while chunk := near.recv(_CHUNK):
                held, start = self._found(passed, chunk)
                if held is None:
                    far.sendall(chunk)
                elif held.when == "after":
                    answers.append(held)
                    far.sendall(chunk)
                else:
                    far.sendall(chunk[:start])
                    with held.staying():
                        far.sendall(chunk[start:])
                passed = chunk
        _end(near, far)

    def _pass_back(
        self, near: socket.socket, far: socket.socket, answers: list[Held]
    ) -> None:
        with contextlib.suppress(OSError):
            while chunk := far.recv(_CHUNK):
                with answers.pop().staying() if answers else contextlib.nullcontext():
                    near.sendall(chunk)
        _end(near, far)

    def _found(self, passed: bytes, chunk: bytes) -> tuple[Held | None, int]:
        """What is to be held in a chunk, and where that begins."""
        held = self._wanted
        if held is None:
            return None, 0
        # Its first bytes may have passed already, but not all of them.
        begun = passed[-len(held.pattern) + 1 :]
        at = (begun + chunk).find(held.pattern)
        if at < 0:
            return None, 0
        self._wanted = None
        return held, max(0, at - len(begun)) if self._is_redis else 0


@contextlib.contextmanager
def gate_before(
    service: ServiceProcess, variable: str, *, stream_port: int | None = None
) -> Iterator[Gate]:
    """Put a gate before the one address in a setting of a service, which is not started."""
    setting = service.environ[variable]
    found = re.search(r"([\d.]+):(\d+)", setting)
    assert found is not None, setting
    gate = Gate(
        (found[1], int(found[2])),
        is_redis=setting.startswith("redis:"),
        stream_port=stream_port,
    )
    gate.start()
    service.environ[variable] = setting.replace(found[0], gate.address)
    try:
        yield gate
    finally:
        gate.close()


def _end(*sockets: socket.socket) -> None:
    for each in sockets:
        # So that whoever waits for it in another thread does so no longer.
        with contextlib.suppress(OSError):
            each.shutdown(socket.SHUT_RDWR)
        each.close()
