"""The gRPC call that appends to several partitions all or nothing. One script does it."""

import asyncio
from collections.abc import Sequence
from time import perf_counter
from typing import Final

from korvet.kafka.errors import ErrorCode, KafkaError
from korvet.proto.storage.v1 import storage_service_pb2 as pb
from korvet.redis.failures import InvalidRequestError
from korvet.storage import log_metrics
from korvet.storage.append_calls import fill, prepare
from korvet.storage.append_rules import Prepared
from korvet.storage.appender import Appended, Appender, Target, refusal
from korvet.storage.record_arguments import MAX_RECORDS
from korvet.storage.request_limits import (
    MAX_BYTES,
    MAX_WORDS,
    AtomicSize,
    check_partitions,
)
from korvet.storage.topic_lookup import TopicLookup, unknown_topic

_TOO_LARGE: Final = Appended(
    error=ErrorCode.MESSAGE_TOO_LARGE,
    message=f"together more than {MAX_BYTES} bytes, {MAX_RECORDS} records or {MAX_WORDS} "
    "fields of records",
)


class AtomicAppendCalls:
    def __init__(self, appender: Appender, lookup: TopicLookup) -> None:
        self._appender = appender
        self._lookup = lookup

    async def append(self, request: pb.AppendRequest) -> pb.AppendResponse:
        check_partitions(request.partitions)
        response = pb.AppendResponse()
        for outcome in await self._append(request):
            fill(response.partitions.add(), outcome)
        return response

    async def _append(self, request: pb.AppendRequest) -> Sequence[Appended]:
        prepared: list[tuple[Target, Prepared]] = []
        size = AtomicSize()
        others = Appended(error=ErrorCode.OPERATION_NOT_ATTEMPTED)
        outcomes = [others] * len(request.partitions)
        for index, append in enumerate(request.partitions):
            try:
                topic = await self._lookup.find(append.topic, append.partition)
                target = Target(topic, append.partition)
                prepared.append((target, prepare(append, topic)))
            except KafkaError as error:
                outcomes[index] = refusal(error)
                continue
            size.add(prepared[-1][1])
            if size.is_too_large:
                return [_TOO_LARGE] * len(outcomes)
        if len({(target.topic.id, target.partition) for target, _ in prepared}) < len(
            prepared
        ):
            raise InvalidRequestError("each partition may be named once")
        if not prepared or len(prepared) < len(outcomes):
            return outcomes
        confirm_by = None
        if request.acks == pb.ACKS_ALL:
            confirm_by = asyncio.get_running_loop().time() + request.timeout_ms / 1000
        started = perf_counter()
        appended = await self._appender.append_together(prepared, confirm_by)
        duration = perf_counter() - started
        for (target, each), outcome in zip(prepared, appended, strict=True):
            log_metrics.appended(
                target.topic.name, each.record_count, each.size, outcome.error, duration
            )
        return [
            self._told(append, target, outcome)
            for append, (target, _), outcome in zip(
                request.partitions, prepared, appended, strict=True
            )
        ]

    def _told(
        self, append: pb.PartitionAppend, target: Target, outcome: Appended
    ) -> Appended:
        if outcome.error is not ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            return outcome
        self._lookup.is_stale(target.topic)
        return Appended(error=unknown_topic(append.topic))
