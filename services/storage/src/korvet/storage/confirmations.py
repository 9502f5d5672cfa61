"""Asks Redis whether replicas, or its disk, have what was appended (WAIT, WAITAOF).

Both block their connection, so they have one that nothing else is sent on, and appends go
on meanwhile. One question at a time: whatever was appended during it shares the next one
(group commit). Each append has its own deadline all the same.
"""

import asyncio
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple, TypeAlias

from korvet.redis.lane import Lane, Reply

# Called with whether it is confirmed.
Confirmed: TypeAlias = Callable[[bool], None]

_LONGEST_WAIT_MS: Final = 30_000
# A question is not a connection that died.
_ANSWER_SECONDS: Final = 2 * _LONGEST_WAIT_MS / 1000


class Level(NamedTuple):
    """What makes an append safe."""

    # How many besides the primary.
    replicas: int
    # Not only in memory there.
    on_disk: bool


def strictest(levels: Sequence[Level]) -> Level | None:
    """What satisfies all of these; None where there are none."""
    if not levels:
        return None
    return Level(
        max(level.replicas for level in levels), any(level.on_disk for level in levels)
    )


class _Append:
    __slots__ = ("deadline", "done", "history", "timer")

    def __init__(self, history: str, deadline: float, done: Confirmed) -> None:
        self.history = history
        self.deadline = deadline
        self.done: Confirmed | None = done
        self.timer: asyncio.TimerHandle | None = None

    def finish(self, is_confirmed: bool) -> None:
        if self.timer is not None:
            self.timer.cancel()
        done, self.done = self.done, None
        if done is not None:
            done(is_confirmed)


class Confirmations:
    """Of one level: a replica that hangs must hold up only those who need it."""

    def __init__(self, redis_url: str, channel: str, level: Level) -> None:
        self._channel = channel
        self._level = level
        self._loop = asyncio.get_running_loop()
        # In order, as a dict is. What has ended leaves it, however long a question takes.
        self._waiting: dict[_Append, None] = {}
        self._is_asking = False
        name = f"confirm-{level.replicas}{'-on-disk' if level.on_disk else ''}"
        self.lane = Lane(
            redis_url, name, scripts=(), timeout=_ANSWER_SECONDS, on_connect=self._ask
        )

    def confirm(self, history: str, deadline: float, done: Confirmed) -> None:
        """Find out whether an append is safe that Redis has carried out in `history`."""
        append = _Append(history, deadline, done)
        append.timer = self._loop.call_at(deadline, self._expire, append)
        if not self._waiting:
            # All that Redis answers in one turn of the loop is asked for at once.
            self._loop.call_soon(self._ask)
        self._waiting[append] = None

    def _expire(self, append: _Append) -> None:
        self._waiting.pop(append, None)
        append.finish(False)

    def _ask(self) -> None:
        if self._is_asking or not self._waiting or not self.lane.connected:
            return
        asked = self._take_current()
        if not asked:
            return
        left = max(append.deadline for append in asked) - self._loop.time()
        timeout_ms = min(max(1, int(left * 1000)), _LONGEST_WAIT_MS)
        # WAIT speaks of what its own connection has written: this, behind all the appends.
        self.lane.send("PUBLISH", self._channel, "")
        if self._level.on_disk:
            reply = self.lane.send("WAITAOF", 1, self._level.replicas, timeout_ms)
        else:
            reply = self.lane.send("WAIT", self._level.replicas, timeout_ms)
        self._is_asking = True
        reply.add_done_callback(lambda reply: self._answered(asked, reply))

    def _take_current(self) -> list[_Append]:
        """Those that this connection can speak of; the others are not confirmed.

        Another history is another server's, or the same one's after it lost what it had.
        """
        current: list[_Append] = []
        waiting, self._waiting = self._waiting, {}
        for append in waiting:
            if append.history == self.lane.history:
                current.append(append)
            else:
                append.finish(False)
                # Which of the two is out of date, a new connection tells.
                self.lane.hang_up()
        return current

    def _answered(self, asked: list[_Append], reply: "asyncio.Future[Reply]") -> None:
        self._is_asking = False
        is_confirmed = not reply.cancelled() and not reply.exception()
        if is_confirmed:
            is_confirmed = self._is_enough(reply.result())
        for append in asked:
            append.finish(is_confirmed)
        self._ask()

    def _is_enough(self, answer: Reply) -> bool:
        if not self._level.on_disk:
            return bool(answer >= self._level.replicas)
        local, replicas = answer
        return bool(local >= 1 and replicas >= self._level.replicas)
