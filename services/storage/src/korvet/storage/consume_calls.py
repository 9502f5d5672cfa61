"""The gRPC call that takes records from a work queue; `Consumption` is the consumer."""

import asyncio
from collections.abc import AsyncIterator
from typing import Final

from korvet.kafka.errors import ErrorCode, KafkaError
from korvet.proto.storage.v1 import storage_service_pb2 as pb
from korvet.redis.failures import InvalidRequestError
from korvet.runtime.intake import Intake
from korvet.storage.consumption import ConsumeOptions, Consumption, Write
from korvet.storage.find_offsets import Special, find_offset
from korvet.storage.partition_logs import PartitionLogs
from korvet.storage.questions import answered_by_redis, answered_for
from korvet.storage.request_limits import check_partitions
from korvet.storage.topic import Topic
from korvet.storage.work_queue import WorkQueue, claim_queue

_DEFAULT_IN_FLIGHT: Final = 100
# What is in flight is kept in memory, by consumer and storage.
_MOST_IN_FLIGHT: Final = 10_000
_DEFAULT_REDELIVER_MS: Final = 30_000
# Less would give records away that have only just been sent.
_SHORTEST_REDELIVER_MS: Final = 100
_LONGEST_REDELIVER_MS: Final = 86_400_000


class ConsumeCalls:
    def __init__(self, logs: PartitionLogs) -> None:
        self._logs = logs
        # Streams end when it is stopped.
        self.intake: Final = Intake()

    async def consume(
        self, requests: AsyncIterator[pb.ConsumeRequest], write: Write
    ) -> None:
        """Serve one stream to its end. What it cannot go on with is its last message."""
        first = await anext(requests, None)
        if first is None:
            return
        if not first.HasField("start"):
            raise InvalidRequestError("the first message has to have a start")
        try:
            await self._consume(first.start, requests, write)
        except KafkaError as error:
            await write(pb.ConsumeResponse(error_code=error.code, error_message=str(error)))

    async def _consume(
        self,
        start: pb.ConsumeRequest.Start,
        requests: AsyncIterator[pb.ConsumeRequest],
        write: Write,
    ) -> None:
        options = read_options(start)
        topic, partitions = await self._find(start)
        logs = self._logs
        lane, keys = logs.group_lane, logs.keys
        queue_id = await answered_by_redis(claim_queue(lane, keys, start.group))
        queue = WorkQueue(lane, keys, start.group, start.consumer, queue_id=queue_id)
        consumption = Consumption(queue, logs.lookup, logs.wakeups, keys, options, topic)
        try:
            await consumption.follow(
                {each: await self._begin(start, topic, each) for each in partitions}
            )
            await consumption.deliver_own(write)
            await self._run(consumption, requests, write)
            await consumption.write_settled(write)
        finally:
            consumption.leave()

    async def _run(
        self,
        consumption: Consumption,
        requests: AsyncIterator[pb.ConsumeRequest],
        write: Write,
    ) -> None:
        """Deliver and settle, until the caller has no more to say or something fails."""
        failed: Exception | None = None
        try:
            async with asyncio.TaskGroup() as tasks:
                delivering = tasks.create_task(consumption.deliver(write))
                settling = tasks.create_task(
                    self.intake.take_all(requests, consumption.settle)
                )
                settling.add_done_callback(lambda _: delivering.cancel())
        except* (KafkaError, InvalidRequestError) as group:
            failed = group.exceptions[0]
        if failed:
            raise failed

    async def _find(self, start: pb.ConsumeRequest.Start) -> tuple[Topic, list[int]]:
        check_partitions(start.partitions)
        wanted = sorted(set(start.partitions))
        topic = await self._logs.lookup.find(start.topic, max(wanted, default=0))
        if wanted and wanted[0] < 0:
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, topic.name)
        return topic, wanted or list(range(topic.partitions))

    async def _begin(
        self, start: pb.ConsumeRequest.Start, topic: Topic, partition: int
    ) -> int:
        """Where a group that is new to the partition begins."""
        if not start.HasField("timestamp_ms") or start.timestamp_ms == Special.EARLIEST:
            return 0
        found = await self._find_offset(start, topic, partition, start.timestamp_ms)
        if found < 0:
            # No record is that young yet: begin with the next one.
            return await self._find_offset(start, topic, partition, Special.LATEST)
        return found

    async def _find_offset(
        self, start: pb.ConsumeRequest.Start, topic: Topic, partition: int, moment: int
    ) -> int:
        logs = self._logs
        finding = find_offset(logs.lane, logs.keys, topic, partition, moment)
        return (await answered_for(logs.lookup, start.topic, topic, finding)).offset


def read_options(start: pb.ConsumeRequest.Start) -> ConsumeOptions:
    """What the caller wants, within bounds; KafkaError where it makes no sense."""
    if not start.group:
        raise KafkaError(ErrorCode.INVALID_GROUP_ID, "a group needs a name")
    if not start.consumer:
        raise KafkaError(ErrorCode.INVALID_REQUEST, "a consumer needs a name")
    if start.max_in_flight < 0 or start.redeliver_after_ms < 0:
        raise KafkaError(ErrorCode.INVALID_REQUEST, "limits are not negative")
    redeliver_after = start.redeliver_after_ms or _DEFAULT_REDELIVER_MS
    return ConsumeOptions(
        topic=start.topic,
        all_partitions=not start.partitions,
        max_in_flight=min(start.max_in_flight or _DEFAULT_IN_FLIGHT, _MOST_IN_FLIGHT),
        redeliver_after_ms=min(
            max(redeliver_after, _SHORTEST_REDELIVER_MS), _LONGEST_REDELIVER_MS
        ),
    )
