"""One ordered, pipelined connection to Redis: the hot path's way in and out.

Commands leave in the order of `send`, and replies complete their futures in that order.
A command that was not written when the connection went is `NotSent` and certainly did
not run; of one that was written, the outcome is unknown: `ConnectionLost`. A lane never
sends a command twice, except scripts that Redis says it does not have (NOSCRIPT), which
therefore did not run: those go again, in order, before anything new.
"""

import asyncio
import contextlib
import logging
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from time import perf_counter
from typing import Final

import hiredis

from korvet.redis.command_spans import CommandSpans, name_script
from korvet.redis.connection import RedisConnection, address_of, open_connection
from korvet.redis.connection import Reply as Reply
from korvet.redis.greeting import Argument, greet
from korvet.redis.history import NotPrimaryError
from korvet.redis.lane_metrics import LaneMetrics
from korvet.redis.rights import MissingRightsError, Rights, is_denial
from korvet.redis.script import Script
from korvet.runtime.metrics import Distribution
from korvet.runtime.tracing import current
from redis.asyncio.connection import parse_url

log = logging.getLogger(__name__)

_FIRST_RETRY: Final = 0.05
_LONGEST_RETRY: Final = 1.0


def _pack(arguments: tuple[Argument, ...]) -> bytes:
    # hiredis' stub has a tuple of one where it takes any number.
    packed: bytes = hiredis.pack_command(arguments)  # type: ignore[arg-type]
    return packed


class NotSent(Exception):
    """The command certainly did not run."""


class ConnectionLost(Exception):
    """The connection went while the command was under way: it may have run or not."""


def _fail(future: "asyncio.Future[Reply]", error: Exception) -> None:
    """Tell whoever waits. Of several commands one may await the first alone."""
    if not future.done():
        future.set_exception(error)
        # Else asyncio would log it as one that nobody has retrieved.
        future.exception()


class _Command:
    __slots__ = ("data", "duration", "future", "sent_at")

    def __init__(
        self, data: bytes, future: "asyncio.Future[Reply]", duration: Distribution
    ) -> None:
        self.data = data
        self.future = future
        self.duration = duration
        self.sent_at = 0.0


class Lane:
    """Connects by itself and again after a loss, for as long as `run` runs."""

    def __init__(
        self,
        url: str,
        name: str,
        *,
        scripts: Sequence[Script],
        rights: Rights | None = None,
        timeout: float = 15.0,
        max_pending_bytes: int = 32 << 20,
        on_connect: Callable[[], None] = lambda: None,
        on_message: Callable[[bytes, bytes], None] | None = None,
    ) -> None:
        self._options = parse_url(url)
        self._address = address_of(self._options)
        self._name = name
        self._timeout = timeout
        self._max_pending_bytes = max_pending_bytes
        self._on_connect = on_connect
        self._on_message = on_message
        self._scripts = scripts
        self._rights = rights
        # What EVALSHA takes on this lane, by the script's name.
        self.digests: Final = {script.name: script.digest for script in scripts}
        self._metrics = LaneMetrics(name, scripts)
        self._spans = CommandSpans(self._options)
        for script in scripts:
            name_script(script.digest.decode(), script.name)
        self._connection: RedisConnection | None = None
        self._waiting: deque[_Command] = deque()
        self._sent: deque[_Command] = deque()
        self._again: list[_Command] = []
        self._pending_bytes = 0
        self._room = asyncio.Event()
        self._room.set()
        self._flush_scheduled = False
        self._loop = asyncio.get_running_loop()
        # Which history of which Redis server this is connected to.
        self.history = ""

    @property
    def connected(self) -> bool:
        return self.history != ""

    async def room(self) -> None:
        """Wait until so little is under way that more may be sent."""
        if self._room.is_set():
            return
        since = perf_counter()
        while not self._room.is_set():
            await self._room.wait()
        self._metrics.waits.observe(perf_counter() - since)

    def send(self, *arguments: Argument) -> "asyncio.Future[Reply]":
        """Send a command; its future gets the reply (an error reply as exception)."""
        future: asyncio.Future[Reply] = self._loop.create_future()
        if (asking := current.get()) is not None:
            self._spans.follow(asking, arguments, future)
        if not self.connected:
            _fail(future, NotSent(f"{self._name}: not connected to Redis"))
            return future
        self._enqueue(_Command(_pack(arguments), future, self._metrics.of(arguments)))
        return future

    def _enqueue(self, command: _Command) -> None:
        self._waiting.append(command)
        self._pending_bytes += len(command.data)
        if self._pending_bytes > self._max_pending_bytes:
            self._room.clear()
        if not self._flush_scheduled:
            self._flush_scheduled = True
            self._loop.call_soon(self.flush)

    def flush(self) -> None:
        """Write what is waiting: everything of one turn of the loop in one go."""
        self._flush_scheduled = False
        connection = self._connection
        if (
            connection is None
            or not connection.writable
            or self._again
            or not self._waiting
        ):
            return
        # The loop's own time is that of its turn, in milliseconds.
        now = perf_counter()
        for command in self._waiting:
            command.sent_at = now
        self._metrics.round_trips.value += 1
        connection.write([command.data for command in self._waiting])
        self._sent.extend(self._waiting)
        self._waiting.clear()

    def _received(self, reply: Reply) -> None:
        if self._on_message and isinstance(reply, list) and reply[0] == b"message":
            self._on_message(reply[1], reply[2])
            return
        command = self._sent.popleft()
        if isinstance(reply, hiredis.ReplyError) and str(reply).startswith("NOSCRIPT"):
            self._again.append(command)
        else:
            self._complete(command, reply)
            if isinstance(reply, hiredis.ReplyError) and self._is_over(str(reply)):
                self.hang_up()
        if self._again and not self._sent:
            self._reload()

    def _is_over(self, error: str) -> bool:
        # No longer the primary: its address may lead to another server by now.
        # Or rights were taken from the user, and are to be looked at again.
        return "READONLY" in error or (self.connected and is_denial(error))

    def _complete(self, command: _Command, reply: Reply) -> None:
        self._pending_bytes -= len(command.data)
        if self._pending_bytes <= self._max_pending_bytes:
            self._room.set()
        command.duration.observe(perf_counter() - command.sent_at)
        if isinstance(reply, Exception):
            _fail(command.future, reply)
        elif not command.future.done():
            command.future.set_result(reply)

    def hang_up(self) -> None:
        """Give the connection up, and make another one."""
        if self._connection is not None:
            self._connection.abort()

    def _reload(self) -> None:
        """Redis lost the scripts (SCRIPT FLUSH): load them, then go on where it stopped."""
        log.warning("%s: redis has lost the scripts; loading them again", self._name)
        again, self._again = self._again, []
        loads = [
            _Command(
                _pack(("SCRIPT", "LOAD", script.text)),
                self._loop.create_future(),
                self._metrics.untold,
            )
            for script in self._scripts
        ]
        # Their failure shows as another NOSCRIPT.
        self._pending_bytes += sum(len(command.data) for command in loads)
        self._waiting.extendleft(reversed(loads + again))
        self.flush()

    # --- the connection's life ---

    async def run(self) -> None:
        """Keep connected until cancelled."""
        delay = _FIRST_RETRY
        reported = False
        while True:
            try:
                async with asyncio.timeout(self._timeout):
                    connection = await self._connect()
            except (
                OSError,
                TimeoutError,
                ConnectionLost,
                NotSent,
                NotPrimaryError,
                MissingRightsError,
                hiredis.ReplyError,
            ) as error:
                if not reported:
                    log.warning(
                        "%s: cannot connect to %s: %s", self._name, self._address, error
                    )
                    reported = True
                await asyncio.sleep(delay)
                delay = min(delay * 2, _LONGEST_RETRY)
                continue
            if reported:
                log.info("%s: connected to %s", self._name, self._address)
            delay, reported = _FIRST_RETRY, False
            try:
                await self._watch(connection)
            finally:
                self._disconnect("lost its connection")

    async def _connect(self) -> RedisConnection:
        connection = await open_connection(self._options, self._received, self.flush)
        self._connection = connection
        try:
            history = await greet(
                partial(self._ask, connection), self._options, self._scripts, self._rights
            )
            if not history:
                raise ConnectionLost(f"{self._name}: Redis tells no run_id")
        except BaseException:
            self._disconnect("could not greet Redis")
            raise
        self.history = history
        self._on_connect()
        return connection

    async def _ask(
        self, connection: RedisConnection, commands: Sequence[tuple[Argument, ...]]
    ) -> list[Reply]:
        """The replies, errors as well, on a connection that is not in use yet."""
        futures: list[asyncio.Future[Reply]] = []
        for arguments in commands:
            future: asyncio.Future[Reply] = self._loop.create_future()
            self._enqueue(_Command(_pack(arguments), future, self._metrics.untold))
            futures.append(future)
        gone = asyncio.ensure_future(connection.lost.wait())
        try:
            for future in futures:
                await asyncio.wait({future, gone}, return_when=asyncio.FIRST_COMPLETED)
                if not future.done():
                    raise ConnectionLost(f"{self._name}: Redis hung up")
        finally:
            gone.cancel()
        return [future.exception() or future.result() for future in futures]

    async def _watch(self, connection: RedisConnection) -> None:
        """Return when the connection is lost, or when Redis has stopped answering."""
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._timeout / 4):
                    await connection.lost.wait()
            if connection.lost.is_set():
                return
            if not self._sent:
                # A connection that died in silence shows by not answering.
                self.send("PING")
            elif perf_counter() - self._sent[0].sent_at > self._timeout:
                log.warning("%s: no answer from %s", self._name, self._address)
                return

    def _disconnect(self, why: str) -> None:
        self.hang_up()
        self._connection = None
        self.history = ""
        unknown = list(self._sent)
        unsent = [*self._again, *self._waiting]
        self._sent.clear()
        self._again = []
        self._waiting.clear()
        self._pending_bytes = 0
        self._room.set()
        for command in unknown:
            _fail(command.future, ConnectionLost(f"{self._name}: {why}"))
        for command in unsent:
            _fail(command.future, NotSent(f"{self._name}: {why}"))
