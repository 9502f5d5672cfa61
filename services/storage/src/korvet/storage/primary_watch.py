"""Notices at once when Redis stops being the primary, so that no lane outlives that.

Redis keeps plain connections when it becomes another's replica, takes over that one's
data and is promoted again: a lane would go on in a log that has lost its tail, and never
know. But it ends what blocks. So here one WAIT after the other waits for more replicas
than there are; when one is refused, all lanes connect anew, and learn the new history.
"""

import asyncio
import logging
from collections.abc import Sequence
from typing import Final

import hiredis

from korvet.redis.lane import ConnectionLost, Lane, NotSent

log = logging.getLogger(__name__)

_MORE_THAN_THERE_ARE: Final = 1_000_000
_WAIT_MS: Final = 5_000


class PrimaryWatch:
    def __init__(self, redis_url: str, lanes: Sequence[Lane]) -> None:
        self._lanes = lanes
        self._connected = asyncio.Event()
        self.lane = Lane(redis_url, "primary", scripts=(), on_connect=self._on_connect)

    def _on_connect(self) -> None:
        self._connected.set()
        # Whatever happened while this was away.
        for lane in self._lanes:
            if lane.connected and lane.history != self.lane.history:
                lane.hang_up()

    async def run(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self.lane.run())
            tasks.create_task(self._watch())

    async def _watch(self) -> None:
        while True:
            await self._connected.wait()
            try:
                await self.lane.send("WAIT", _MORE_THAN_THERE_ARE, _WAIT_MS)
            except NotSent:
                self._connected.clear()
            except ConnectionLost:
                # Nothing is known yet: the next connection tells.
                continue
            except hiredis.ReplyError as error:
                log.warning("Redis is no longer the primary: %s", error)
                self._connected.clear()
                for lane in (*self._lanes, self.lane):
                    lane.hang_up()
