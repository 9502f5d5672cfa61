"""Storage, as commands about groups ask it: where a place is, and what lies behind it."""

import contextlib
from collections.abc import AsyncIterator, Awaitable, Iterable, Mapping, Sequence
from itertools import islice
from typing import Final, TypeAlias, TypeVar

import grpc

from korvet.cli.addresses import no_such_topic
from korvet.cli.failure import Failure
from korvet.cli.group_model import Count, Position, TopicNow, TopicPartition
from korvet.cli.grpc_failure import no_answer
from korvet.kafka.errors import ErrorCode
from korvet.proto.storage.v1 import storage_service_pb2 as pb
from korvet.proto.storage.v1 import storage_service_pb2_grpc as pb_grpc
from korvet.runtime.grpc_channel import open_channel

EARLIEST: Final = -2
LATEST: Final = -1

_CALL_DEADLINE: Final = 30.0
_POSITIONS_A_CALL: Final = 1000

# The topic was deleted, or made again, since we asked for it.
_GONE: Final = frozenset({ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_TOPIC_ID})

# Only type checkers know this class.
_Stub: TypeAlias = "pb_grpc.StorageServiceAsyncStub"
_Answer = TypeVar("_Answer")


class LogPositions:
    def __init__(self, address: str, stub: _Stub) -> None:
        self._address = address
        self._stub = stub

    @classmethod
    @contextlib.asynccontextmanager
    async def connected(cls, address: str) -> AsyncIterator["LogPositions"]:
        async with open_channel(address) as channel:
            yield cls(address, pb_grpc.StorageServiceStub(channel))

    async def topics(self, names: Iterable[str]) -> dict[str, TopicNow]:
        """Those that there are."""
        request = pb.DescribeTopicsRequest(
            topics=[pb.TopicRef(name=name) for name in names]
        )
        answer = await self._asked(
            self._stub.DescribeTopics(request, timeout=_CALL_DEADLINE)
        )
        found = {}
        for result in answer.topics:
            if result.error_code == ErrorCode.NONE:
                topic = result.topic
                found[topic.name] = TopicNow(topic.id, len(topic.leader_epochs))
            elif result.error_code != ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
                raise _refusal(result.name, result.error_code, result.error_message)
        return found

    async def find(
        self, topic: str, topic_id: bytes, partitions: Sequence[int], timestamp_ms: int
    ) -> dict[int, int]:
        """Partition -> the first offset at or after a time, or after all records."""
        found = await self._find(topic, topic_id, partitions, timestamp_ms)
        late = [partition for partition, offset in found.items() if offset < 0]
        if late:
            found |= await self._find(topic, topic_id, late, LATEST)
        return found

    async def count(
        self, offsets: Mapping[TopicPartition, int], topics: Mapping[str, TopicNow]
    ) -> dict[TopicPartition, Count]:
        """What is at an offset and behind it, in each of the partitions that are there."""
        places = iter(offsets)
        counts = {}
        while some := list(islice(places, _POSITIONS_A_CALL)):
            request = pb.CountRecordsRequest(
                positions=[
                    pb.CountRecordsRequest.Position(
                        topic=pb.TopicRef(name=place.topic, id=topics[place.topic].id),
                        partition=place.partition,
                        offset=offsets[place],
                    )
                    for place in some
                ]
            )
            answer = await self._asked(
                self._stub.CountRecords(request, timeout=_CALL_DEADLINE)
            )
            for place, count in zip(some, answer.counts, strict=True):
                if count.error_code == ErrorCode.NONE:
                    counts[place] = Count(
                        count.records, count.log_start_offset, count.high_watermark
                    )
                elif count.error_code not in _GONE:
                    raise _refusal(place.topic, count.error_code, count.error_message)
        return counts

    async def queue(self, group_id: str) -> tuple[Position, ...]:
        """How far a work queue is, in each partition that it consumes."""
        request = pb.DescribeQueueRequest(group=group_id)
        answer = await self._asked(
            self._stub.DescribeQueue(request, timeout=_CALL_DEADLINE)
        )
        return tuple(
            Position(
                topic=each.topic,
                partition=each.partition,
                commit=None,
                end=each.high_watermark,
                lag=each.waiting,
                member_id=None,
                pending=each.pending,
            )
            for each in answer.partitions
        )

    async def _find(
        self, topic: str, topic_id: bytes, partitions: Sequence[int], timestamp_ms: int
    ) -> dict[int, int]:
        request = pb.FindOffsetsRequest(
            positions=[
                pb.FindOffsetsRequest.Position(
                    topic=pb.TopicRef(name=topic, id=topic_id),
                    partition=partition,
                    timestamp_ms=timestamp_ms,
                )
                for partition in partitions
            ]
        )
        answer = await self._asked(self._stub.FindOffsets(request, timeout=_CALL_DEADLINE))
        for found in answer.found:
            if found.error_code != ErrorCode.NONE:
                raise _refusal(topic, found.error_code, found.error_message)
        return {
            partition: found.offset
            for partition, found in zip(partitions, answer.found, strict=True)
        }

    async def _asked(self, call: Awaitable[_Answer]) -> _Answer:
        try:
            return await call
        except grpc.aio.AioRpcError as error:
            detail = error.details() or error.code().name
            raise no_answer("storage", self._address, detail) from None


def _refusal(topic: str, code: int, message: str) -> Failure:
    if code in _GONE:
        return no_such_topic(topic)
    return Failure(f"Storage refused for {topic}: {message or 'no reason'} (error {code}).")
