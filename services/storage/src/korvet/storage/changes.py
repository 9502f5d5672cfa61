"""Follows what replicas announce, and keeps this one's caches up to date.

Redis forgets what is published while nobody listens. So everything is read again after
each subscription, and only then is the process ready; whatever goes wrong on the way ends
in a new connection. A lapse of a gateway's registration is announced by nobody, and is
looked for every second.
"""

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable
from typing import Final

from redis.asyncio import Redis
from redis.asyncio.client import PubSub
from redis.exceptions import RedisError

from korvet.redis.cancellation import stop_if_cancelled
from korvet.redis.keys import Keys
from korvet.storage.catalogue import Announcement, Catalogue
from korvet.storage.gateways import GatewayRegistry

log = logging.getLogger(__name__)

_TICK_SECONDS: Final = 1.0
# A connection that stays silent so long after a ping is dead, whatever TCP says.
_SILENCE_SECONDS: Final = 10.0
_FIRST_RETRY: Final = 0.1
_LONGEST_RETRY: Final = 2.0
_REPORT_EVERY: Final = 10
_MESSAGES_AT_ONCE: Final = 500


class ChangeFollower:
    """Keeps a catalogue and a registry current for as long as `run` runs."""

    def __init__(
        self,
        redis: "Redis",
        keys: Keys,
        catalogue: Catalogue,
        gateways: GatewayRegistry,
        *,
        address: str,
        prepare: Callable[[], Awaitable[None]],
        set_ready: Callable[[bool], Awaitable[None]],
    ) -> None:
        """`prepare` is awaited on each connection before anything is read.

        What it raises, other than Redis's errors, ends `run`. `address` is for the log.
        """
        self._redis = redis
        self._channel = keys.changes
        self._catalogue = catalogue
        self._gateways = gateways
        self._address = address
        self._prepare = prepare
        self._set_ready = set_ready

    async def run(self) -> None:
        failures = 0
        while True:
            try:
                async with self._redis.pubsub() as subscription:
                    await self._begin(subscription)
                    log.info("connected to Redis at %s", self._address)
                    failures = 0
                    await self._follow(subscription)
            except (RedisError, OSError) as error:
                await self._set_ready(False)
                if failures % _REPORT_EVERY == 0:
                    log.warning("waiting for Redis at %s: %s", self._address, error)
                delay = min(_LONGEST_RETRY, _FIRST_RETRY * 2 ** min(failures, 10))
                failures += 1
                await asyncio.sleep(delay)

    async def _begin(self, subscription: PubSub) -> None:
        await self._prepare()
        await subscription.subscribe(self._channel)
        async with asyncio.timeout(_SILENCE_SECONDS):
            while (await _next(subscription, _SILENCE_SECONDS) or {})[
                "type"
            ] != "subscribe":
                continue
        await self._catalogue.reload()
        await self._gateways.refresh()
        await self._set_ready(True)

    async def _follow(self, subscription: PubSub) -> None:
        loop = asyncio.get_running_loop()
        heard_at = pinged_at = looked_at = loop.time()
        while True:
            stop_if_cancelled()
            message = await _next(subscription, _TICK_SECONDS)
            now = loop.time()
            if message is not None:
                heard_at = now
                await self._hear(await _drain(subscription, message))
            elif now - heard_at > _SILENCE_SECONDS:
                raise TimeoutError(f"nothing heard for {_SILENCE_SECONDS:.0f} s")
            if now - pinged_at >= _SILENCE_SECONDS / 3:
                pinged_at = now
                await subscription.ping()
            if now - looked_at >= _TICK_SECONDS:
                looked_at = now
                await self._gateways.refresh()

    async def _hear(self, messages: list[str]) -> None:
        if announcements := [a for text in messages if (a := _parse(text))]:
            await self._catalogue.hear(announcements)
        if "gateways" in messages:
            await self._gateways.refresh()


async def _next(subscription: PubSub, seconds: float) -> dict[str, object] | None:
    message: dict[str, object] | None = await subscription.get_message(timeout=seconds)
    return message


async def _drain(subscription: PubSub, message: dict[str, object] | None) -> list[str]:
    """The texts of this message and of those that have arrived after it."""
    texts: list[str] = []
    for _ in range(_MESSAGES_AT_ONCE):
        if message is None:
            break
        if message["type"] == "message":
            texts.append(str(message["data"]))
        elif message["type"] == "subscribe":
            raise TimeoutError("the connection was lost and made again")
        message = await _next(subscription, 0.0)
    return texts


def _parse(text: str) -> Announcement | None:
    """An announcement of the scripts; None for anything else that somebody publishes."""
    kind, *parts = text.split(":")
    with contextlib.suppress(ValueError):
        if kind == "topic" and len(parts) == 2:
            return Announcement(int(parts[0]), parts[1], is_deletion=False)
        if kind == "deleted" and len(parts) == 3:
            return Announcement(int(parts[0]), parts[1], is_deletion=True)
    return None
