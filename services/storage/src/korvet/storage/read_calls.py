"""The gRPC calls that read. They translate; reading is `reader` and `parked_reads`."""

import asyncio
import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, nullcontext
from functools import partial
from typing import Any, Final, NamedTuple, TypeAlias

import grpc

from korvet.kafka.errors import ErrorCode, KafkaError
from korvet.kafka.records import Record
from korvet.proto.storage.v1 import storage_service_pb2 as pb
from korvet.redis.failures import InvalidRequestError
from korvet.runtime.intake import Intake
from korvet.runtime.outbox import Outbox
from korvet.runtime.rpc_spans import begin_in_frame, carry_out, method_name
from korvet.storage.parked_reads import ParkedReads, Turn
from korvet.storage.partition_read import STALE, ReadResult, ReadTarget
from korvet.storage.redis_deliveries import RedisDeliveries
from korvet.storage.redis_groups import RedisGroups
from korvet.storage.request_limits import check_partitions
from korvet.storage.topic_lookup import TopicLookup, unknown_topic

log = logging.getLogger(__name__)

_SERVICE: Final = pb.DESCRIPTOR.services_by_name["StorageService"]
_READ: Final = method_name(_SERVICE.methods_by_name["Read"])

# A caller may ask for more, but gets it in several answers.
_MAX_READ_BYTES: Final = 8 << 20
_MAX_WAIT_SECONDS: Final = 300.0
# Of one stream: what is read and not yet taken, and how many reads may be parked, which is
# more than a gateway has under way. A read that finds no place is answered at once: to wait
# for one would hold up what comes behind it, be it a cancellation that makes one.
_MAX_UNSENT_BYTES: Final = 64 << 20
_MAX_PARKED: Final = 32_768
# An append wakes all reads that wait for it; so many of a stream look at it at once.
_READS_AT_ONCE: Final = 16

_Context: TypeAlias = "grpc.aio.ServicerContext[Any, Any]"


class _Slot(NamedTuple):
    """One partition of a request: where to read, or why that is impossible."""

    target: ReadTarget | None
    result: ReadResult


class ReadCalls:
    def __init__(
        self, reads: ParkedReads, lookup: TopicLookup, groups: RedisGroups
    ) -> None:
        self._reads = reads
        self._deliveries = RedisDeliveries(groups)
        self._lookup = lookup
        # Streams end when it is stopped.
        self.intake: Final = Intake()

    async def read(
        self, request: pb.ReadRequest, turn: Turn = nullcontext, *, may_wait: bool = True
    ) -> pb.ReadResponse:
        check_partitions(request.partitions)
        max_wait = request.max_wait_ms / 1000 if may_wait else 0
        results = await self._read(request, max_wait, turn, retry_stale=True)
        if any(read.HasField("deliver_to") for read in request.partitions):
            await self._deliver(request, results)
        response = pb.ReadResponse()
        for result in results:
            _fill(response.partitions.add(), result)
        return response

    async def read_stream(
        self, frames: AsyncIterator[pb.ReadFrame], context: _Context
    ) -> None:
        outbox: Outbox[pb.ReadResultCall] = Outbox(_MAX_PARKED, _MAX_UNSENT_BYTES)
        under_way: dict[int, asyncio.Task[None]] = {}
        turns = asyncio.Semaphore(_READS_AT_ONCE)

        @asynccontextmanager
        async def turn() -> AsyncIterator[None]:
            async with turns:
                await outbox.byte_room()
                yield

        async def write(calls: list[pb.ReadResultCall]) -> None:
            await context.write(pb.ReadResultFrame(calls=calls))

        async def answer(call: int, request: pb.ReadRequest, may_wait: bool) -> None:
            try:
                response = await self.read(request, turn, may_wait=may_wait)
            except Exception:
                log.exception("a read failed")
                code = ErrorCode.UNKNOWN_SERVER_ERROR
                failed = [pb.PartitionData(error_code=code) for _ in request.partitions]
                response = pb.ReadResponse(partitions=failed)
            size = sum(len(data.batches) for data in response.partitions)
            if request.decoded:
                size = response.ByteSize()
            outbox.put(pb.ReadResultCall(call=call, response=response), size)

        def ended(call: int, task: "asyncio.Task[None]") -> None:
            # Not in `answer`, which a task that is cancelled at once does not even begin.
            if under_way.get(call) is task:
                del under_way[call]
            if task.cancelled():
                outbox.dropped()

        async def take(frame: pb.ReadFrame) -> None:
            for number in frame.cancelled:
                if task := under_way.get(number):
                    task.cancel()
            for call in frame.calls:
                check_partitions(call.request.partitions)
                await outbox.byte_room()
                may_wait = outbox.has_place
                outbox.opened()
                part = partial(answer, call.call, call.request, may_wait)
                if call.traceparent and (work := begin_in_frame(_READ, call.traceparent)):
                    part = partial(carry_out, work, part)
                task = tasks.create_task(part())
                under_way[call.call] = task
                task.add_done_callback(partial(ended, call.call))
                if not may_wait:
                    await asyncio.wait([task])

        def taken(_: "asyncio.Task[None]") -> None:
            # Whoever waits for these may ask elsewhere.
            for task in tuple(under_way.values()):
                task.cancel()
            outbox.close()

        invalid: Exception | None = None
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(outbox.write_all(write))
                taking = tasks.create_task(self.intake.take_all(frames, take))
                taking.add_done_callback(taken)
        except* InvalidRequestError as group:
            invalid = group.exceptions[0]
        if invalid:
            raise invalid

    async def _read(
        self, request: pb.ReadRequest, max_wait: float, turn: Turn, *, retry_stale: bool
    ) -> list[ReadResult]:
        committed = request.isolation_level == pb.ISOLATION_LEVEL_READ_COMMITTED
        slots = [await self._slot(read, committed) for read in request.partitions]
        targets = [slot.target for slot in slots if slot.target]
        refused = any(slot.target is None for slot in slots)
        found = iter(
            await self._reads.read(
                targets,
                # An error is answered at once, as in Kafka.
                max_wait=0 if refused else min(max_wait, _MAX_WAIT_SECONDS),
                min_bytes=request.min_bytes,
                max_bytes=max(
                    1, min(request.max_bytes or _MAX_READ_BYTES, _MAX_READ_BYTES)
                ),
                decoded=request.decoded,
                turn=turn,
            )
        )
        results = [next(found) if slot.target else slot.result for slot in slots]
        stale = [
            index
            for index, (slot, result) in enumerate(zip(slots, results, strict=True))
            if slot.target and result is STALE
        ]
        if not stale:
            return results
        for index in stale:
            target = slots[index].target
            assert target is not None
            self._lookup.is_stale(target.topic)
        if retry_stale:
            return await self._read(request, max_wait, turn, retry_stale=False)
        for index in stale:
            code = unknown_topic(request.partitions[index].topic)
            results[index] = ReadResult(error=code)
        return results

    async def _deliver(
        self, request: pb.ReadRequest, results: Sequence[ReadResult]
    ) -> None:
        """Make what was read pending for the Redis consumers that the caller names."""
        await asyncio.gather(
            *(
                self._deliveries.deliver(topic, read, result)
                for read, result in zip(request.partitions, results, strict=True)
                if read.HasField("deliver_to")
                and result.error is ErrorCode.NONE
                and (topic := self._lookup.cached(read.topic, read.partition))
            )
        )

    async def _slot(self, read: pb.PartitionRead, committed: bool) -> _Slot:
        topic = self._lookup.cached(read.topic, read.partition)
        if topic is None:
            try:
                topic = await self._lookup.find(read.topic, read.partition)
            except KafkaError as error:
                return _Slot(None, ReadResult(error=error.code, message=str(error)))
        epoch = read.current_leader_epoch if read.HasField("current_leader_epoch") else -1
        return _Slot(
            ReadTarget(
                topic,
                read.partition,
                read.offset,
                read.max_bytes or _MAX_READ_BYTES,
                epoch if epoch >= 0 else None,
                committed,
            ),
            ReadResult(),
        )


def _fill(data: pb.PartitionData, result: ReadResult) -> None:
    data.error_code = result.error
    data.error_message = result.message
    data.high_watermark = result.high_watermark
    data.last_stable_offset = result.last_stable_offset
    for aborted in result.aborted:
        data.aborted_transactions.add(
            producer_id=aborted.producer_id, first_offset=aborted.first_offset
        )
    data.log_start_offset = result.log_start_offset
    data.batches = result.batches
    data.next_offset = result.next_offset
    if result.leader_epoch is not None:
        data.leader_epoch = result.leader_epoch
    for record in result.records:
        fill_record(data.records.add(), record)


def fill_record(out: pb.Record, record: Record) -> None:
    out.offset = record.offset
    out.timestamp_ms = record.timestamp
    if record.key is not None:
        out.key = record.key
    if record.value is not None:
        out.value = record.value
    for name, value in record.headers:
        out.headers.add(name=name, value=value)
