"""Reads partitions by offset: one round trip to Redis for a group of partitions."""

import asyncio
from collections import OrderedDict
from collections.abc import Sequence
from time import perf_counter
from typing import Final, TypeAlias

import hiredis

from korvet.kafka.errors import ErrorCode
from korvet.redis.keys import Keys
from korvet.redis.lane import ConnectionLost, Lane, NotSent, Reply
from korvet.storage.log_metrics import READ_DURATION
from korvet.storage.partition_read import (
    PartitionRead,
    ReadResult,
    ReadTarget,
    ask_points,
    parse_points,
)
from korvet.storage.read_plan import ReadPlan

# Partitions read in one round trip. How much they have is known only afterwards, so this
# bounds by how much more a read of many partitions can ask of Redis than it returns.
_GROUP: Final = 16
_MOST_PLANS: Final = 4096

# By the offset that its reader will ask for next: readers of one partition may be anywhere.
_PlanKey: TypeAlias = tuple[str, int, int]


class Reader:
    """Reads what is there now. Waiting for more is `parked_reads`' part."""

    def __init__(self, lanes: Sequence[Lane], keys: Keys) -> None:
        self._lanes = lanes
        self._keys = keys
        self._next_lane = 0
        self._plans: OrderedDict[_PlanKey, ReadPlan] = OrderedDict()
        self._history = ""
        self._loop = asyncio.get_running_loop()

    async def read(
        self,
        targets: Sequence[ReadTarget],
        max_bytes: int,
        *,
        decoded: bool = False,
        may_exceed: bool = True,
    ) -> list[ReadResult]:
        """Read from each target, in order, until the limit is reached.

        Of the first one with records there is a result whatever the limits are, if the
        answer has no others yet (`may_exceed`), so that readers get on (KIP-74). Of those
        behind it there is as much as fits.
        """
        self._next_lane = (self._next_lane + 1) % len(self._lanes)
        lane = self._lanes[self._next_lane]
        results: list[ReadResult] = []
        room = max_bytes
        started = perf_counter()
        for first in range(0, len(targets), _GROUP):
            group = targets[first : first + _GROUP]
            try:
                found = await self._read_group(lane, group, room, may_exceed, decoded)
            except (NotSent, ConnectionLost, hiredis.ReplyError) as error:
                failed = ReadResult(error=ErrorCode.KAFKA_STORAGE_ERROR, message=str(error))
                found = [failed] * len(group)
            results += found
            size = sum(result.size for result in found)
            room -= size
            may_exceed = may_exceed and not size
        READ_DURATION.observe(perf_counter() - started)
        return results

    async def _read_group(
        self,
        lane: Lane,
        targets: Sequence[ReadTarget],
        room: int,
        may_exceed: bool,
        decoded: bool,
    ) -> list[ReadResult]:
        plans = await self._find_plans(lane, targets)
        reads: list[PartitionRead] = []
        planned = 0
        for target, plan in zip(targets, plans, strict=True):
            limit = min(target.max_bytes, room - planned)
            read = PartitionRead(lane, self._keys, target, plan, limit)
            size = read.send()
            # No more than fits is returned of any but the first, however much is read.
            planned += size if may_exceed and not planned else min(size, max(0, limit))
            reads.append(read)
        results: list[ReadResult] = []
        for read, plan in zip(reads, plans, strict=True):
            limit = min(read.target.max_bytes, room)
            result = await read.result(limit, may_exceed, decoded)
            if result.error is ErrorCode.NONE:
                self._keep_plan(plan, read.target, result.next_offset)
            room -= result.size
            may_exceed = may_exceed and not result.size
            results.append(result)
        return results

    async def _find_plans(
        self, lane: Lane, targets: Sequence[ReadTarget]
    ) -> list[ReadPlan]:
        if lane.history != self._history:
            # A new run of Redis may have lost the tail that the points speak of.
            self._plans.clear()
            self._history = lane.history
        now = self._loop.time()
        found: list[ReadPlan | tuple[asyncio.Future[Reply], int]] = []
        for target in targets:
            position = max(0, target.offset)
            plan = self._plans.get(_plan_key(target, position))
            readable_from = plan.readable_from if plan else 0
            position = max(position, readable_from)
            if plan is None or not plan.covers(position, now):
                start = target.topic.config.encoding.entry_id(position)
                asked = ask_points(lane, self._keys, target, start)
                found.append((asked, readable_from))
            else:
                found.append(plan)
        plans: list[ReadPlan] = []
        for known, target in zip(found, targets, strict=True):
            if isinstance(known, ReadPlan):
                plans.append(known)
            else:
                asked, readable_from = known
                points = parse_points(await asked, target.topic.config.encoding)
                plans.append(ReadPlan(points, now, readable_from))
        return plans

    def _keep_plan(self, plan: ReadPlan, target: ReadTarget, next_offset: int) -> None:
        """Have the plan ready for the read that follows on this one."""
        self._plans.pop(_plan_key(target, max(0, target.offset)), None)
        self._plans[_plan_key(target, next_offset)] = plan.behind(next_offset)
        if len(self._plans) > _MOST_PLANS:
            self._plans.popitem(last=False)


def _plan_key(target: ReadTarget, offset: int) -> _PlanKey:
    return (target.topic.id_text, target.partition, offset)
