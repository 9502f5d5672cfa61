"""The gRPC calls that append. They translate; the rules are in `append_rules`."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Sequence
from time import perf_counter
from typing import Any, Final, TypeAlias

import grpc

from korvet.kafka.errors import ErrorCode, KafkaError
from korvet.proto.storage.v1 import storage_service_pb2 as pb
from korvet.redis.failures import InvalidRequestError
from korvet.runtime.intake import Intake
from korvet.runtime.outbox import Outbox
from korvet.runtime.rpc_spans import begin_in_frame, method_name, when_answered
from korvet.storage import log_metrics
from korvet.storage.append_rules import (
    NewRecord,
    Prepared,
    ProducerSequence,
    prepare_batch,
    prepare_records,
)
from korvet.storage.appender import Appended, Appender, Target, now_ms, refusal
from korvet.storage.request_limits import check_partitions
from korvet.storage.topic import Topic
from korvet.storage.topic_lookup import TopicLookup, unknown_topic

log = logging.getLogger(__name__)

_SERVICE: Final = pb.DESCRIPTOR.services_by_name["StorageService"]
_APPEND: Final = method_name(_SERVICE.methods_by_name["Append"])

# Of one stream: calls that are not answered yet.
_MAX_OPEN_CALLS: Final = 4096

_Context: TypeAlias = "grpc.aio.ServicerContext[Any, Any]"


class AppendCalls:
    def __init__(self, appender: Appender, lookup: TopicLookup) -> None:
        self._appender = appender
        self._lookup = lookup
        # Streams end when it is stopped, after what they have taken is answered.
        self.intake: Final = Intake()

    async def append(self, request: pb.AppendRequest) -> pb.AppendResponse:
        finished: asyncio.Future[pb.AppendResponse]
        finished = asyncio.get_running_loop().create_future()

        def finish(response: pb.AppendResponse) -> None:
            if not finished.done():
                finished.set_result(response)

        await self._submit(request, finish)
        return await finished

    async def append_stream(
        self, frames: AsyncIterator[pb.AppendFrame], context: _Context
    ) -> None:
        outbox: Outbox[pb.AppendedCall] = Outbox(_MAX_OPEN_CALLS, max_bytes=64 << 20)

        async def write(calls: list[pb.AppendedCall]) -> None:
            await context.write(pb.AppendedFrame(calls=calls))

        def answer(call: int) -> Callable[[pb.AppendResponse], None]:
            return lambda response: outbox.put(
                pb.AppendedCall(call=call, response=response), len(response.partitions) * 32
            )

        async def take(frame: pb.AppendFrame) -> None:
            # One after the other up to Redis, so that order is kept.
            for call in frame.calls:
                await outbox.room()
                outbox.opened()
                finish = answer(call.call)
                if call.traceparent and (work := begin_in_frame(_APPEND, call.traceparent)):
                    with work:
                        await self._submit(call.request, when_answered(work, finish))
                else:
                    await self._submit(call.request, finish)

        invalid: Exception | None = None
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(outbox.write_all(write))
                taking = tasks.create_task(self.intake.take_all(frames, take))
                taking.add_done_callback(lambda _: outbox.close())
        except* InvalidRequestError as group:
            invalid = group.exceptions[0]
        if invalid:
            raise invalid

    async def _submit(
        self, request: pb.AppendRequest, finish: Callable[[pb.AppendResponse], None]
    ) -> None:
        """Send a request's appends on their way, in order."""
        check_partitions(request.partitions)
        if not request.partitions:
            finish(pb.AppendResponse())
            return
        answers = _Answers(request, finish)
        confirm_by: float | None = None
        if request.acks == pb.ACKS_ALL:
            now = asyncio.get_running_loop().time()
            confirm_by = now + max(0, request.timeout_ms) / 1000
        # Redis is asked once for all that is not known: others wait behind this.
        topics = await self._find_topics(request.partitions)
        for index, (append, topic) in enumerate(
            zip(request.partitions, topics, strict=True)
        ):
            if isinstance(topic, KafkaError):
                answers.put(index, refusal(topic))
                continue
            try:
                target = Target(topic, append.partition)
                prepared = prepare(append, topic)
            except KafkaError as error:
                answers.put(index, refusal(error))
                continue
            except Exception:
                log.exception("an append could not be prepared")
                answers.put(index, Appended(error=ErrorCode.UNKNOWN_SERVER_ERROR))
                continue
            await self._appender.ready(target, confirm_by)
            done = self._done(answers, index, topic, unknown_topic(append.topic), prepared)
            self._appender.submit(target, prepared, confirm_by, done)

    async def _find_topics(
        self, appends: Sequence[pb.PartitionAppend]
    ) -> Sequence[Topic | KafkaError]:
        try:
            return await self._lookup.find_all([(a.topic, a.partition) for a in appends])
        except Exception:
            log.exception("topics could not be looked up")
            return [KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR)] * len(appends)

    def _done(
        self,
        answers: "_Answers",
        index: int,
        topic: Topic,
        if_unknown: ErrorCode,
        prepared: Prepared,
    ) -> Callable[[Appended], None]:
        # It must not hold the request: any part of that keeps its whole frame in memory,
        # which nobody counts any more once the lane has what is to be sent.
        started, records, size = perf_counter(), prepared.record_count, prepared.size

        def done(appended: Appended) -> None:
            log_metrics.appended(
                topic.name, records, size, appended.error, perf_counter() - started
            )
            if appended.error is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
                self._lookup.is_stale(topic)
                appended = Appended(error=if_unknown)
            answers.put(index, appended)

        return done


class _Answers:
    """Collects the outcomes of one request's partitions; the last one finishes it."""

    __slots__ = ("_finish", "_missing", "_outcomes")

    def __init__(
        self, request: pb.AppendRequest, finish: Callable[[pb.AppendResponse], None]
    ) -> None:
        self._finish = finish
        self._missing = len(request.partitions)
        self._outcomes: list[Appended | None] = [None] * self._missing

    def put(self, index: int, appended: Appended) -> None:
        self._outcomes[index] = appended
        self._missing -= 1
        if not self._missing:
            response = pb.AppendResponse()
            for outcome in self._outcomes:
                assert outcome is not None
                fill(response.partitions.add(), outcome)
            self._finish(response)


def prepare(append: pb.PartitionAppend, topic: Topic) -> Prepared:
    if append.WhichOneof("payload") != "records":
        prepared = prepare_batch(append.batch, topic.config, now_ms())
        if append.epoch_per_transaction:
            prepared = prepared._replace(epoch_per_transaction=True)
        return prepared
    sequence = None
    if append.records.HasField("producer"):
        producer = append.records.producer
        sequence = ProducerSequence(
            producer.producer_id, producer.producer_epoch, producer.base_sequence
        )
    records = [_new_record(record) for record in append.records.records]
    return prepare_records(records, sequence, topic.config, now_ms())


def _new_record(record: pb.Record) -> NewRecord:
    return NewRecord(
        timestamp=record.timestamp_ms if record.HasField("timestamp_ms") else None,
        key=record.key if record.HasField("key") else None,
        value=record.value if record.HasField("value") else None,
        headers=[
            (header.name, header.value if header.HasField("value") else None)
            for header in record.headers
        ],
    )


def fill(answer: pb.PartitionAppended, appended: Appended) -> None:
    answer.error_code = appended.error
    answer.error_message = appended.message
    answer.base_offset = appended.base_offset
    answer.log_append_time_ms = appended.log_append_time_ms
    answer.log_start_offset = appended.log_start_offset
    for index, message in appended.record_errors:
        answer.record_errors.add(index=index, message=message)
