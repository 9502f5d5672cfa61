"""The gRPC call that follows partitions. Each turn is one parked read of all of them."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Final

import hiredis

from korvet.kafka.errors import ErrorCode, KafkaError
from korvet.proto.storage.v1 import storage_service_pb2 as pb
from korvet.redis.keys import Keys
from korvet.redis.lane import ConnectionLost, Lane, NotSent
from korvet.storage.find_offsets import Special, find_offset
from korvet.storage.parked_reads import ParkedReads
from korvet.storage.partition_read import ReadResult, ReadTarget
from korvet.storage.read_calls import fill_record
from korvet.storage.topic import Topic
from korvet.storage.topic_lookup import TopicLookup, unknown_topic

_WAIT_SECONDS: Final = 30.0
_TURN_BYTES: Final = 1 << 20


class TailCalls:
    def __init__(
        self, reads: ParkedReads, lookup: TopicLookup, lane: Lane, keys: Keys
    ) -> None:
        self._reads = reads
        self._lookup = lookup
        self._lane = lane
        self._keys = keys
        self._stopped: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def stop(self) -> None:
        """End every tail where it is; its caller goes on elsewhere, at its next offset."""
        self._stopped.set_result(None)

    async def tail(self, request: pb.TailRequest) -> AsyncIterator[pb.TailResponse]:
        try:
            first_topic, positions = await self._start(request)
        except KafkaError as error:
            yield pb.TailResponse(error_code=error.code, error_message=str(error))
            return
        committed = request.isolation_level == pb.ISOLATION_LEVEL_READ_COMMITTED
        while True:
            # Found anew each turn, so that a topic deleted meanwhile is noticed.
            partitions = list(positions)
            try:
                topic = await self._lookup.find(request.topic, max(partitions))
                if topic.id != first_topic.id:
                    # Made again under the name: its offsets are not those of the first.
                    raise KafkaError(unknown_topic(request.topic), topic.name)
            except KafkaError as error:
                yield pb.TailResponse(error_code=error.code, error_message=str(error))
                return
            results = await self._turn(topic, positions, committed)
            if results is None:
                return
            for partition, result in zip(partitions, results, strict=True):
                if result.error is not ErrorCode.NONE:
                    yield self._failed(request, topic, partition, result)
                    return
                positions[partition] = result.next_offset
                if result.records:
                    yield _answer(partition, result)
            # Those read first in this turn come last in the next, so that none starves.
            first = partitions[0]
            positions[first] = positions.pop(first)

    async def _turn(
        self, topic: Topic, positions: dict[int, int], committed: bool
    ) -> Sequence[ReadResult] | None:
        """What there is, or None: the server stops."""
        reading = asyncio.ensure_future(
            self._reads.read(
                [
                    ReadTarget(topic, partition, offset, _TURN_BYTES, None, committed)
                    for partition, offset in positions.items()
                ],
                max_wait=_WAIT_SECONDS,
                min_bytes=1,
                max_bytes=_TURN_BYTES,
                decoded=True,
            )
        )
        try:
            await asyncio.wait(
                (reading, self._stopped), return_when=asyncio.FIRST_COMPLETED
            )
        finally:
            if not reading.done():
                reading.cancel()
        return None if self._stopped.done() else reading.result()

    async def _start(self, request: pb.TailRequest) -> tuple[Topic, dict[int, int]]:
        """The topic, and partition -> the offset to begin with."""
        wanted = list(request.partitions)
        topic = await self._lookup.find(request.topic, max(wanted, default=0))
        partitions = wanted or list(range(topic.partitions))
        if any(not 0 <= partition < topic.partitions for partition in partitions):
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"{topic.name}")
        if request.WhichOneof("start") == "offset":
            if len(partitions) != 1:
                raise KafkaError(
                    ErrorCode.INVALID_REQUEST, "an offset is of one partition: name it"
                )
            return topic, {partitions[0]: request.offset}
        timestamp: int = Special.LATEST
        if request.WhichOneof("start") == "timestamp_ms":
            timestamp = request.timestamp_ms
        return topic, {
            partition: await self._find(topic, partition, timestamp)
            for partition in partitions
        }

    async def _find(self, topic: Topic, partition: int, timestamp: int) -> int:
        try:
            found = await find_offset(self._lane, self._keys, topic, partition, timestamp)
            if found.offset < 0:
                # No record is that young yet: begin with the next one.
                latest = Special.LATEST
                found = await find_offset(self._lane, self._keys, topic, partition, latest)
        except (NotSent, ConnectionLost, hiredis.ReplyError) as error:
            raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, str(error)) from error
        except KafkaError as error:
            if error.code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
                self._lookup.is_stale(topic)
            raise
        return found.offset

    def _failed(
        self, request: pb.TailRequest, topic: Topic, partition: int, result: ReadResult
    ) -> pb.TailResponse:
        code = result.error
        if code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            self._lookup.is_stale(topic)
            code = unknown_topic(request.topic)
        return pb.TailResponse(
            error_code=code,
            error_message=result.message,
            partition=partition,
            next_offset=result.next_offset,
        )


def _answer(partition: int, result: ReadResult) -> pb.TailResponse:
    answer = pb.TailResponse(
        partition=partition,
        next_offset=result.next_offset,
        high_watermark=result.high_watermark,
    )
    for record in result.records:
        fill_record(answer.records.add(), record)
    return answer
