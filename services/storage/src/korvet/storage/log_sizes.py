"""How large topics are and how much of them was trimmed, as Redis has it.

That is true of a topic, not of what one storage has done: every storage tells the same, and
so it must not be added up over them.
"""

import asyncio
import contextlib
import logging
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Final, NamedTuple

import hiredis

from korvet.redis.keys import Keys
from korvet.redis.lane import ConnectionLost, Lane, NotSent
from korvet.runtime import metrics
from korvet.storage.log_metrics import TOPIC
from korvet.storage.partition_state import STATE_FIELDS, PartitionState, parse_state
from korvet.storage.topic import Topic

log = logging.getLogger(__name__)

_AT_ONCE: Final = 100


class _Sum(NamedTuple):
    """A number of each topic, and how a partition adds to it."""

    instrument: metrics.Counter | metrics.Gauge
    of: Callable[[PartitionState], int]


_SUMS: Final = (
    _Sum(
        metrics.gauge(
            "korvet.topic.records",
            unit="{record}",
            description="Records that are in the log. The same from every storage.",
            attributes=(TOPIC,),
            limit=metrics.NAMES_SHOWN,
        ),
        lambda state: state.records - state.trimmed_records,
    ),
    _Sum(
        metrics.gauge(
            "korvet.topic.bytes",
            unit="By",
            description="Bytes that are in the log. The same from every storage.",
            attributes=(TOPIC,),
            limit=metrics.NAMES_SHOWN,
        ),
        lambda state: state.bytes - state.trimmed_bytes,
    ),
    _Sum(
        metrics.counter(
            "korvet.topic.trimmed.records",
            unit="{record}",
            description="Records that retention and DeleteRecords have deleted since the"
            " topic was made; on batch topics with time offsets to a block of the index."
            " The same from every storage.",
            attributes=(TOPIC,),
            limit=metrics.NAMES_SHOWN,
        ),
        lambda state: state.trimmed_records,
    ),
    _Sum(
        metrics.counter(
            "korvet.topic.trimmed.bytes",
            unit="By",
            description="Bytes that were deleted with them. The same from every storage.",
            attributes=(TOPIC,),
            limit=metrics.NAMES_SHOWN,
        ),
        lambda state: state.trimmed_bytes,
    ),
)


class LogSizes:
    def __init__(
        self, lane: Lane, keys: Keys, topics: Callable[[], Iterable[Topic]]
    ) -> None:
        self._lane = lane
        self._keys = keys
        self._topics = topics

    async def sample(self) -> None:
        sums: tuple[Counter[tuple[str, ...]], ...] = tuple(Counter() for _ in _SUMS)
        try:
            for topic in list(self._topics()):
                for state in await self._states(topic):
                    for values, each in zip(sums, _SUMS, strict=True):
                        values[topic.name,] += each.of(state)
        except (NotSent, ConnectionLost) as error:
            log.debug("the sizes of topics are not known now: %s", error)
            self.forget()
            return
        for values, each in zip(sums, _SUMS, strict=True):
            each.instrument.set_all(values)

    def forget(self) -> None:
        nothing: Mapping[tuple[str, ...], float] = {}
        for each in _SUMS:
            each.instrument.set_all(nothing)

    async def _states(self, topic: Topic) -> list[PartitionState]:
        states: list[PartitionState | None] = []
        for first in range(0, topic.partitions, _AT_ONCE):
            asked = [
                self._lane.send(
                    "HMGET", self._keys.partition(topic.name, index), *STATE_FIELDS
                )
                for index in range(first, min(first + _AT_ONCE, topic.partitions))
            ]
            for values in await asyncio.gather(*asked, return_exceptions=True):
                # What somebody has put into one partition's key hides no other one.
                if isinstance(values, hiredis.ReplyError):
                    continue
                if isinstance(values, BaseException):
                    raise values
                with contextlib.suppress(ValueError):
                    states.append(parse_state(values, topic.id_text, topic.config.encoding))
        return [state for state in states if state is not None]
