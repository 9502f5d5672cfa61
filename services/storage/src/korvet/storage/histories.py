"""Notices when Redis has begun a new history, and raises every partition's leader epoch.

A Redis that was restarted, or a replica that was promoted, may lack a tail that consumers
have read. They learn of it by the new epoch (KIP-320), which must therefore be in every
answer before the first record of the new history.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable, Sequence
from typing import Final

import hiredis

from korvet.redis.keys import Keys
from korvet.redis.lane import ConnectionLost, Lane, NotSent
from korvet.storage.epochs import parse_epochs
from korvet.storage.scripts import OBSERVE
from korvet.storage.topic import Topic

log = logging.getLogger(__name__)

_PARTITIONS_AT_ONCE: Final = 256
_RETRY_SECONDS: Final = 0.2


class Histories:
    def __init__(
        self,
        lane: Lane,
        keys: Keys,
        topics: Callable[[], Iterable[Topic]],
        set_epochs: Callable[[Topic, Sequence[int]], None],
    ) -> None:
        self._lane = lane
        self._keys = keys
        self._topics = topics
        self._set_epochs = set_epochs
        self._due = asyncio.Event()

    def look(self) -> None:
        """Look at all partitions: the lane has connected, or all topics were loaded."""
        self._due.set()

    async def run(self) -> None:
        while True:
            await self._due.wait()
            self._due.clear()
            try:
                await self.observe()
            except (NotSent, ConnectionLost):
                # The lane is gone; its next connection comes by here again.
                continue
            except hiredis.ReplyError as error:
                log.warning("leader epochs could not be looked at: %s", error)
                await asyncio.sleep(_RETRY_SECONDS)
                self._due.set()

    async def observe(self) -> None:
        for topic in list(self._topics()):
            epochs: list[int] = []
            for first in range(0, topic.partitions, _PARTITIONS_AT_ONCE):
                some = range(first, min(first + _PARTITIONS_AT_ONCE, topic.partitions))
                answers = await asyncio.gather(*(self._ask(topic, index) for index in some))
                epochs += [
                    parse_epochs(answer[1], topic.config.encoding)[-1].number
                    for answer in answers
                    if answer[0] == b"OK"
                ]
            # Fewer answers: the topic was deleted meanwhile.
            if len(epochs) == topic.partitions and tuple(epochs) != topic.leader_epochs:
                self._set_epochs(topic, epochs)

    def _ask(self, topic: Topic, partition: int) -> "asyncio.Future[Sequence[bytes]]":
        return self._lane.send(
            "EVALSHA",
            OBSERVE.digest,
            1,
            self._keys.partition(topic.name, partition),
            topic.id_text,
            self._lane.history,
            topic.config.encoding.sequences,
            topic.leader_epochs[partition],
        )
