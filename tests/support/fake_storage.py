"""A storage service in memory, for tests of the gateway's handlers (`handler.Storage`).

It keeps topics and logs as a real one answers for them, with dense offsets; and it can be
told to refuse a partition, to hold appends back, or to be away.
"""

import asyncio
import itertools
from collections import defaultdict
from collections.abc import Awaitable, Iterable, Sequence
from dataclasses import dataclass, field

from korvet.gateway.handler import PartitionBatch
from korvet.kafka.errors import ErrorCode, KafkaError
from korvet.kafka.records import HEADER_SIZE, read_header
from korvet.proto.storage.v1 import storage_service_pb2 as pb

_EARLIEST = -2
_LATEST = -1
_NOT_FOUND = pb.FindOffsetsResponse.Found(offset=-1, timestamp_ms=-1, leader_epoch=-1)


@dataclass
class FakeLog:
    """One partition: its batches, each with the offset that it begins at."""

    batches: list[tuple[int, bytes]] = field(default_factory=list)
    log_start: int = 0
    high_watermark: int = 0
    producers: list[pb.DescribeProducersResponse.Producer] = field(default_factory=list)

    def append(self, batch: bytes) -> int:
        base = self.high_watermark
        self.batches.append((base, batch))
        self.high_watermark = base + max(read_header(batch).record_count, 1)
        return base


class FakeStorage:
    def __init__(self) -> None:
        self.topics: dict[str, pb.Topic] = {}
        self.logs: defaultdict[tuple[str, int], FakeLog] = defaultdict(FakeLog)
        # Partition -> what an append, a read or a look-up of it gets.
        self.refusals: dict[tuple[str, int], pb.PartitionAppended] = {}
        # Topic -> what creating or changing it gets.
        self.topic_refusals: dict[str, KafkaError] = {}
        # Raised by every call but append, which answers each batch with its code.
        self.is_away_with: ErrorCode | None = None
        self.default_partitions = 1
        self.settings: list[pb.Config] = []
        self.memory_limit_bytes = 0
        self.memory_used_bytes = 0
        # What was asked, in order, for tests that care how.
        self.requests: list[object] = []
        self.appends: list[tuple[Sequence[PartitionBatch], int, float]] = []
        # Appends are answered only while this is set.
        self.may_answer = asyncio.Event()
        self.may_answer.set()
        self._grown = asyncio.Condition()
        self._versions = itertools.count(1)
        self._producer_ids = itertools.count(1000)

    def add_topic(
        self, name: str, partitions: int = 1, *, delivers_through_redis: bool = False
    ) -> pb.Topic:
        version = next(self._versions)
        topic = pb.Topic(
            name=name,
            id=version.to_bytes(16, "big"),
            leader_epochs=[0] * partitions,
            version=version,
            delivers_through_redis=delivers_through_redis,
        )
        self.topics[name] = topic
        return topic

    # ------------------------------------------------------------ the log

    async def append(
        self,
        batches: Sequence[PartitionBatch],
        *,
        acks: "pb.Acks.ValueType",
        time_limit: float,
    ) -> Awaitable[Sequence[pb.PartitionAppended]]:
        self.appends.append((batches, acks, time_limit))
        results = [self._append(batch) for batch in batches]
        async with self._grown:
            self._grown.notify_all()
        return self._answer(results)

    async def read(self, request: pb.ReadRequest) -> Sequence[pb.PartitionData]:
        self._called(request)
        async with self._grown:
            try:
                async with asyncio.timeout(request.max_wait_ms / 1000):
                    await self._grown.wait_for(lambda: self._is_enough(request))
            except TimeoutError:
                pass
            return [self._read(partition) for partition in request.partitions]

    async def find_offsets(self, request: pb.FindOffsetsRequest) -> pb.FindOffsetsResponse:
        self._called(request)
        return pb.FindOffsetsResponse(
            found=[self._find(position) for position in request.positions]
        )

    async def find_epoch_ends(
        self, request: pb.FindEpochEndsRequest
    ) -> pb.FindEpochEndsResponse:
        self._called(request)
        ends = []
        for question in request.questions:
            log, code = self._log(question.topic, question.partition)
            ends.append(
                pb.FindEpochEndsResponse.EpochEnd(
                    error_code=code,
                    leader_epoch=min(question.leader_epoch, 0),
                    end_offset=log.high_watermark,
                )
            )
        return pb.FindEpochEndsResponse(ends=ends)

    async def delete_records(
        self, request: pb.DeleteRecordsRequest
    ) -> pb.DeleteRecordsResponse:
        self._called(request)
        results = []
        for cut in request.cuts:
            log, code = self._log(cut.topic, cut.partition)
            offset = log.high_watermark if cut.offset == -1 else cut.offset
            if not code and not 0 <= offset <= log.high_watermark:
                code = ErrorCode.OFFSET_OUT_OF_RANGE
            if not code:
                log.log_start = max(log.log_start, offset)
            results.append(
                pb.DeleteRecordsResponse.Result(
                    error_code=code, low_watermark=log.log_start
                )
            )
        return pb.DeleteRecordsResponse(results=results)

    async def describe_logs(
        self, request: pb.DescribeLogsRequest
    ) -> pb.DescribeLogsResponse:
        self._called(request)
        response = pb.DescribeLogsResponse(
            memory_limit_bytes=self.memory_limit_bytes,
            memory_used_bytes=self.memory_used_bytes,
        )
        wanted: Iterable[tuple[str, Sequence[int]]] = (
            [(name, ()) for name in self.topics]
            if request.all
            else [(chosen.topic.name, chosen.partitions) for chosen in request.topics]
        )
        for name, partitions in wanted:
            count = len(self.topics[name].leader_epochs) if name in self.topics else 0
            for partition in partitions or range(count):
                log, code = self._log(pb.TopicRef(name=name), partition)
                response.logs.add(
                    topic=name,
                    partition=partition,
                    error_code=code,
                    size_bytes=sum(len(batch) for _, batch in log.batches),
                    log_start_offset=log.log_start,
                    high_watermark=log.high_watermark,
                )
        return response

    async def allocate_producer_id(self) -> int:
        self._called(pb.AllocateProducerIdRequest())
        return next(self._producer_ids)

    async def describe_producers(
        self, request: pb.DescribeProducersRequest
    ) -> pb.DescribeProducersResponse:
        self._called(request)
        response = pb.DescribeProducersResponse()
        for each in request.partitions:
            log, code = self._log(each.topic, each.partition)
            response.partitions.add(error_code=code, producers=log.producers)
        return response

    # ------------------------------------------------------------ topics

    async def create_topics(
        self, request: pb.CreateTopicsRequest
    ) -> pb.CreateTopicsResponse:
        self._called(request)
        response = pb.CreateTopicsResponse()
        for new in request.topics:
            result = response.topics.add(name=new.name)
            if self._is_refused(new.name, result):
                continue
            if new.name in self.topics:
                result.error_code = ErrorCode.TOPIC_ALREADY_EXISTS
            elif new.name.startswith("__"):
                result.error_code = ErrorCode.INVALID_TOPIC_EXCEPTION
            else:
                count = new.partitions if new.HasField("partitions") else None
                topic = self.add_topic(new.name, count or self.default_partitions)
                topic.configs.extend(
                    pb.Config(name=name, value=value, source=pb.CONFIG_SOURCE_TOPIC)
                    for name, value in new.configs.items()
                )
                result.topic.CopyFrom(topic)
                if request.validate_only:
                    del self.topics[new.name]
        return response

    async def describe_topics(
        self, request: pb.DescribeTopicsRequest
    ) -> pb.DescribeTopicsResponse:
        self._called(request)
        refs = (
            [pb.TopicRef(name=name) for name in self.topics]
            if request.all
            else request.topics
        )
        response = pb.DescribeTopicsResponse()
        for ref in refs:
            topic = self._topic(ref)
            result = response.topics.add(name=ref.name)
            if topic is None:
                result.error_code = _unknown(ref)
            else:
                result.name = topic.name
                result.topic.CopyFrom(topic)
        return response

    async def delete_topics(
        self, request: pb.DeleteTopicsRequest
    ) -> pb.DeleteTopicsResponse:
        self._called(request)
        response = pb.DeleteTopicsResponse()
        for ref in request.topics:
            topic = self._topic(ref)
            result = response.topics.add(name=ref.name, id=ref.id)
            if topic is None:
                result.error_code = _unknown(ref)
            else:
                result.name, result.id = topic.name, topic.id
                result.version = next(self._versions)
                del self.topics[topic.name]
        return response

    async def create_partitions(
        self, request: pb.CreatePartitionsRequest
    ) -> pb.CreatePartitionsResponse:
        self._called(request)
        response = pb.CreatePartitionsResponse()
        for growth in request.topics:
            topic = self.topics.get(growth.topic)
            result = response.topics.add(name=growth.topic)
            if self._is_refused(growth.topic, result):
                continue
            if topic is None:
                result.error_code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            elif growth.count <= len(topic.leader_epochs):
                result.error_code = ErrorCode.INVALID_PARTITIONS
            else:
                grown = pb.Topic()
                grown.CopyFrom(topic)
                grown.leader_epochs.extend([0] * (growth.count - len(topic.leader_epochs)))
                grown.version = next(self._versions)
                if not request.validate_only:
                    self.topics[growth.topic] = grown
                result.topic.CopyFrom(grown)
        return response

    async def alter_topic_configs(
        self, request: pb.AlterTopicConfigsRequest
    ) -> pb.AlterTopicConfigsResponse:
        self._called(request)
        response = pb.AlterTopicConfigsResponse()
        for change in request.topics:
            result = response.topics.add(name=change.topic)
            if self._is_refused(change.topic, result):
                continue
            if change.topic not in self.topics:
                result.error_code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            else:
                result.topic.CopyFrom(self.topics[change.topic])
        return response

    async def describe_server(self) -> pb.DescribeServerResponse:
        self._called(pb.DescribeServerRequest())
        return pb.DescribeServerResponse(cluster_id="cluster", settings=self.settings)

    # ------------------------------------------------------------ rules

    def _called(self, request: object) -> None:
        self.requests.append(request)
        if self.is_away_with is not None:
            raise KafkaError(self.is_away_with, "storage cannot be reached")

    def _is_refused(self, name: str, result: pb.TopicResult) -> bool:
        refusal = self.topic_refusals.get(name)
        if refusal is not None:
            result.error_code, result.error_message = refusal.code, refusal.detail
        return refusal is not None

    def _topic(self, ref: pb.TopicRef) -> pb.Topic | None:
        if not ref.id:
            return self.topics.get(ref.name)
        return next((topic for topic in self.topics.values() if topic.id == ref.id), None)

    def _log(self, ref: pb.TopicRef, partition: int) -> tuple[FakeLog, int]:
        """A partition's log, or an empty one and why."""
        topic = self._topic(ref)
        if topic is None:
            return FakeLog(), _unknown(ref)
        if not 0 <= partition < len(topic.leader_epochs):
            return FakeLog(), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        refusal = self.refusals.get((topic.name, partition))
        if refusal is not None:
            return FakeLog(), refusal.error_code
        return self.logs[topic.name, partition], ErrorCode.NONE

    def _append(self, batch: PartitionBatch) -> pb.PartitionAppended:
        if self.is_away_with is not None:
            return pb.PartitionAppended(error_code=self.is_away_with)
        ref = pb.TopicRef(name=batch.target.name, id=batch.target.topic_id)
        log, code = self._log(ref, batch.target.partition)
        if code:
            refusal = self.refusals.get((batch.target.name, batch.target.partition))
            return refusal or pb.PartitionAppended(error_code=code)
        if len(batch.batch) < HEADER_SIZE:
            return pb.PartitionAppended(error_code=ErrorCode.CORRUPT_MESSAGE)
        return pb.PartitionAppended(
            base_offset=log.append(batch.batch),
            log_append_time_ms=-1,
            log_start_offset=log.log_start,
        )

    async def _answer(
        self, results: Sequence[pb.PartitionAppended]
    ) -> Sequence[pb.PartitionAppended]:
        await self.may_answer.wait()
        return results

    def _is_enough(self, request: pb.ReadRequest) -> bool:
        found = [self._read(partition) for partition in request.partitions]
        size = sum(len(data.batches) for data in found)
        return size >= request.min_bytes or any(data.error_code for data in found)

    def _read(self, request: pb.PartitionRead) -> pb.PartitionData:
        log, code = self._log(request.topic, request.partition)
        if not code and not log.log_start <= request.offset <= log.high_watermark:
            code = ErrorCode.OFFSET_OUT_OF_RANGE
        if code:
            return pb.PartitionData(error_code=code)
        return pb.PartitionData(
            high_watermark=log.high_watermark,
            last_stable_offset=log.high_watermark,
            log_start_offset=log.log_start,
            batches=b"".join(
                batch for base, batch in log.batches if base >= request.offset
            ),
        )

    def _find(
        self, position: pb.FindOffsetsRequest.Position
    ) -> pb.FindOffsetsResponse.Found:
        log, code = self._log(position.topic, position.partition)
        if code:
            return pb.FindOffsetsResponse.Found(error_code=code)
        if position.timestamp_ms == _EARLIEST:
            return pb.FindOffsetsResponse.Found(offset=log.log_start, timestamp_ms=-1)
        if position.timestamp_ms == _LATEST:
            return pb.FindOffsetsResponse.Found(offset=log.high_watermark, timestamp_ms=-1)
        for base, batch in log.batches:
            if read_header(batch).max_timestamp >= position.timestamp_ms:
                timestamp = read_header(batch).base_timestamp
                return pb.FindOffsetsResponse.Found(offset=base, timestamp_ms=timestamp)
        return _NOT_FOUND


def _unknown(ref: pb.TopicRef) -> int:
    return ErrorCode.UNKNOWN_TOPIC_ID if ref.id else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
