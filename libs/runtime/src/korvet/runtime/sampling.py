"""Finds out, again and again while somebody reads metrics, what others know.

Who reads gets what was found last. When nobody has read for a while, nothing is asked, and
what was found is forgotten rather than told when it is no longer true.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Final

from korvet.runtime.logs import LimitedLog
from korvet.runtime.metrics import REGISTRY

_failures: Final = LimitedLog(logging.getLogger(__name__), lines=1, seconds=60)

INTERVAL_SECONDS: Final = 5.0
# However slow it is, what is asked for takes no more than this share of the time.
_SHARE: Final = 0.05
# Longer than Prometheus and OTLP's exporters leave between two reads.
_FORGOTTEN_SECONDS: Final = 150.0


class Sampler:
    def __init__(
        self, sample: Callable[[], Awaitable[None]], forget: Callable[[], None]
    ) -> None:
        """`forget` drops what `sample` has found, also where that fails."""
        self._sample = sample
        self._forget = forget
        self._loop = asyncio.get_running_loop()
        self._wanted = asyncio.Event()
        self._read_at = 0.0

    async def run(self) -> None:
        with REGISTRY.observing(self._is_read):
            while True:
                await self._wanted.wait()
                started = self._loop.time()
                if started - self._read_at > _FORGOTTEN_SECONDS:
                    self._wanted.clear()
                    self._forget()
                    continue
                try:
                    await self._sample()
                except Exception as error:  # noqa: BLE001 - metrics must not end a service
                    _failures.warning("what metrics tell could not be asked for: %r", error)
                    self._forget()
                took = self._loop.time() - started
                await asyncio.sleep(max(INTERVAL_SECONDS, took / _SHARE))

    def _is_read(self) -> None:
        self._read_at = self._loop.time()
        if not self._wanted.is_set():
            # From whichever thread reads.
            self._loop.call_soon_threadsafe(self._wanted.set)
