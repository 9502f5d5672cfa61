"""Wakes parked reads: each append publishes its partition's bytes on a channel of its own.

A reader listens before it reads. Whatever is appended after that read wakes it, from
whichever replica; and when a subscription is made, or made again after a loss, its
readers are woken once, since messages may have been missed before.
"""

import asyncio
from collections.abc import Callable
from typing import Final, TypeAlias

from korvet.redis.lane import Lane

# Called with the partition's bytes from its creation on; None: look for yourself.
Listener: TypeAlias = Callable[[int | None], None]

# A consumer that comes back within this time finds its subscription still there.
_IDLE_SECONDS: Final = 30.0


class _Channel:
    __slots__ = ("idle_since", "listeners")

    def __init__(self) -> None:
        self.listeners: set[Listener] = set()
        self.idle_since = 0.0


class Wakeups:
    def __init__(self, redis_url: str) -> None:
        self._lane = Lane(
            redis_url,
            "wakeups",
            scripts=(),
            on_connect=self._subscribe_all,
            on_message=self._on_message,
        )
        self._channels: dict[bytes, _Channel] = {}
        self._loop = asyncio.get_running_loop()

    async def run(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._lane.run())
            tasks.create_task(self._drop_idle())

    def listen(self, name: str, listener: Listener) -> None:
        key = name.encode()
        channel = self._channels.get(key)
        if channel is None:
            channel = self._channels[key] = _Channel()
            if self._lane.connected:
                self._subscribe(key)
        channel.listeners.add(listener)

    def forget(self, name: str, listener: Listener) -> None:
        channel = self._channels[name.encode()]
        channel.listeners.discard(listener)
        if not channel.listeners:
            channel.idle_since = self._loop.time()

    def _on_message(self, key: bytes, payload: bytes) -> None:
        # Anything but a number is no append: the topic's end, or another program's word.
        heard = int(payload) if payload.isdigit() else None
        if channel := self._channels.get(key):
            for listener in tuple(channel.listeners):
                listener(heard)

    def _subscribe_all(self) -> None:
        for key in self._channels:
            self._subscribe(key)

    def _subscribe(self, key: bytes) -> None:
        def confirmed(future: "asyncio.Future[object]") -> None:
            # A subscription that failed went with its connection; the next one makes it.
            if future.cancelled() or future.exception():
                return
            if channel := self._channels.get(key):
                for listener in tuple(channel.listeners):
                    listener(None)

        self._lane.send("SUBSCRIBE", key).add_done_callback(confirmed)

    async def _drop_idle(self) -> None:
        while True:
            await asyncio.sleep(_IDLE_SECONDS / 2)
            now = self._loop.time()
            for key, channel in list(self._channels.items()):
                if not channel.listeners and now - channel.idle_since > _IDLE_SECONDS:
                    del self._channels[key]
                    if self._lane.connected:
                        # Nobody listens, so nobody minds how it went.
                        self._lane.send("UNSUBSCRIBE", key).add_done_callback(
                            lambda future: future.cancelled() or future.exception()
                        )
