"""The gRPC calls about positions and sizes of logs, and the one that cuts them."""

import asyncio
from collections.abc import Awaitable, Iterable, Sequence
from functools import partial
from typing import TypeVar

from korvet.kafka.errors import ErrorCode, KafkaError
from korvet.proto.storage.v1 import storage_service_pb2 as pb
from korvet.redis.keys import Keys
from korvet.redis.lane import Lane
from korvet.storage.count_records import count_records
from korvet.storage.epochs import Epoch, find_epoch_end
from korvet.storage.find_offsets import find_offset, load_state
from korvet.storage.partition_state import STATE_FIELDS, PartitionState, parse_state
from korvet.storage.questions import AT_ONCE, answer_all, answered_by_redis, answered_for
from korvet.storage.redis_memory import parse_memory
from korvet.storage.request_limits import check_partitions
from korvet.storage.topic import Topic
from korvet.storage.topic_lookup import TopicLookup
from korvet.storage.trimmer import Trimmer

Answer = TypeVar("Answer")


class LookupCalls:
    def __init__(
        self, lane: Lane, keys: Keys, lookup: TopicLookup, trimmer: Trimmer
    ) -> None:
        self._lane = lane
        self._keys = keys
        self._lookup = lookup
        self._trimmer = trimmer

    async def find_offsets(self, request: pb.FindOffsetsRequest) -> pb.FindOffsetsResponse:
        committed = request.isolation_level == pb.ISOLATION_LEVEL_READ_COMMITTED
        find = partial(self._find_offset, committed=committed)
        found = await answer_all(find, request.positions)
        return pb.FindOffsetsResponse(found=found)

    async def find_epoch_ends(
        self, request: pb.FindEpochEndsRequest
    ) -> pb.FindEpochEndsResponse:
        ends = await answer_all(self._find_epoch_end, request.questions)
        return pb.FindEpochEndsResponse(ends=ends)

    async def delete_records(
        self, request: pb.DeleteRecordsRequest
    ) -> pb.DeleteRecordsResponse:
        results = await answer_all(self._delete_records, request.cuts)
        return pb.DeleteRecordsResponse(results=results)

    async def _find_offset(
        self, wanted: pb.FindOffsetsRequest.Position, *, committed: bool
    ) -> pb.FindOffsetsResponse.Found:
        try:
            topic = await self._lookup.find(wanted.topic, wanted.partition)
            if wanted.HasField("current_leader_epoch"):
                state = await self._answered(
                    wanted.topic,
                    topic,
                    load_state(self._lane, self._keys, topic, wanted.partition),
                )
                epoch = self._epochs(topic, wanted.partition, state)[-1].number
                _check_epoch(wanted.current_leader_epoch, epoch)
            found = await self._answered(
                wanted.topic,
                topic,
                find_offset(
                    self._lane,
                    self._keys,
                    topic,
                    wanted.partition,
                    wanted.timestamp_ms,
                    committed=committed,
                ),
            )
        except KafkaError as error:
            return pb.FindOffsetsResponse.Found(
                error_code=error.code, error_message=str(error), offset=-1, timestamp_ms=-1
            )
        return pb.FindOffsetsResponse.Found(
            offset=found.offset,
            timestamp_ms=found.timestamp,
            leader_epoch=found.leader_epoch,
        )

    async def _find_epoch_end(
        self, asked: pb.FindEpochEndsRequest.Question
    ) -> pb.FindEpochEndsResponse.EpochEnd:
        try:
            topic = await self._lookup.find(asked.topic, asked.partition)
            state = await self._answered(
                asked.topic,
                topic,
                load_state(self._lane, self._keys, topic, asked.partition),
            )
            epochs = self._epochs(topic, asked.partition, state)
            if asked.HasField("current_leader_epoch"):
                _check_epoch(asked.current_leader_epoch, epochs[-1].number)
        except KafkaError as error:
            return pb.FindEpochEndsResponse.EpochEnd(
                error_code=error.code,
                error_message=str(error),
                leader_epoch=-1,
                end_offset=-1,
            )
        end = find_epoch_end(epochs, asked.leader_epoch, state.end_offset)
        number, offset = end or (-1, -1)
        return pb.FindEpochEndsResponse.EpochEnd(leader_epoch=number, end_offset=offset)

    async def _delete_records(
        self, cut: pb.DeleteRecordsRequest.Cut
    ) -> pb.DeleteRecordsResponse.Result:
        try:
            topic = await self._lookup.find(cut.topic, cut.partition)
            if not topic.config.deletes:
                raise KafkaError(
                    ErrorCode.POLICY_VIOLATION, f"{topic.name} is compacted, not deleted"
                )
            start = await self._answered(
                cut.topic,
                topic,
                self._trimmer.delete_records(topic, cut.partition, cut.offset),
            )
        except KafkaError as error:
            return pb.DeleteRecordsResponse.Result(
                error_code=error.code, error_message=str(error), low_watermark=-1
            )
        return pb.DeleteRecordsResponse.Result(low_watermark=start)

    async def count_records(
        self, request: pb.CountRecordsRequest
    ) -> pb.CountRecordsResponse:
        counts = await answer_all(self._count_records, request.positions)
        return pb.CountRecordsResponse(counts=counts)

    async def _count_records(
        self, position: pb.CountRecordsRequest.Position
    ) -> pb.CountRecordsResponse.Count:
        try:
            topic = await self._lookup.find(position.topic, position.partition)
            count = await self._answered(
                position.topic,
                topic,
                count_records(
                    self._lane,
                    self._keys,
                    topic,
                    position.partition,
                    position.offset,
                    position.end_offset if position.HasField("end_offset") else None,
                ),
            )
        except KafkaError as error:
            return pb.CountRecordsResponse.Count(
                error_code=error.code,
                error_message=str(error),
                records=-1,
                log_start_offset=-1,
                high_watermark=-1,
            )
        return pb.CountRecordsResponse.Count(
            records=count.records,
            log_start_offset=count.start_offset,
            high_watermark=count.end_offset,
        )

    async def describe_logs(
        self, request: pb.DescribeLogsRequest, everything: Iterable[Topic]
    ) -> pb.DescribeLogsResponse:
        response = pb.DescribeLogsResponse()
        if request.all:
            for topic in everything:
                await self._describe(topic, range(topic.partitions), response)
        check_partitions(request.topics)
        for selection in request.topics:
            check_partitions(selection.partitions)
            try:
                topic = await self._lookup.find(selection.topic, 0)
            except KafkaError as error:
                response.logs.add(topic=selection.topic.name, error_code=error.code)
                continue
            partitions = selection.partitions or range(topic.partitions)
            await self._describe(topic, partitions, response)
        info = await answered_by_redis(self._lane.send("INFO", "memory"))
        memory = parse_memory(info)
        response.memory_limit_bytes = memory.limit
        response.memory_used_bytes = memory.used
        return response

    async def _describe(
        self, topic: Topic, partitions: Iterable[int], response: pb.DescribeLogsResponse
    ) -> None:
        remaining = list(partitions)
        for first in range(0, len(remaining), AT_ONCE):
            await self._describe_some(topic, remaining[first : first + AT_ONCE], response)

    async def _describe_some(
        self, topic: Topic, partitions: Sequence[int], response: pb.DescribeLogsResponse
    ) -> None:
        asked = [
            self._lane.send("HMGET", self._keys.partition(topic.name, index), *STATE_FIELDS)
            for index in partitions
        ]
        encoding = topic.config.encoding
        for index, values in zip(
            partitions, await answered_by_redis(asyncio.gather(*asked)), strict=True
        ):
            log = response.logs.add(topic=topic.name, partition=index)
            state = parse_state(values, topic.id_text, encoding)
            if state is None:
                self._lookup.is_stale(topic)
                log.error_code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
                continue
            log.size_bytes = state.bytes - state.trimmed_bytes
            log.record_count = state.records - state.trimmed_records
            log.log_start_offset = state.start_offset
            log.high_watermark = state.end_offset

    async def _answered(
        self, ref: pb.TopicRef, topic: Topic, answer: Awaitable[Answer]
    ) -> Answer:
        return await answered_for(self._lookup, ref, topic, answer)

    def _epochs(
        self, topic: Topic, partition: int, state: PartitionState
    ) -> Sequence[Epoch]:
        return state.epochs_in(self._lane.history, topic.leader_epochs[partition])


def _check_epoch(believed: int, epoch: int) -> None:
    """Refuse a caller whose leader epoch is not the partition's; -1 does not care."""
    if 0 <= believed < epoch:
        raise KafkaError(ErrorCode.FENCED_LEADER_EPOCH, f"{believed}, not {epoch}")
    if believed > epoch:
        raise KafkaError(ErrorCode.UNKNOWN_LEADER_EPOCH, f"{believed}, not {epoch}")
