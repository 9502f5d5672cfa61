"""The span of one Kafka request, by OpenTelemetry's conventions for messaging.

It tells who asks, for what, and what came of it: names and numbers. The trace contexts that
records carry become its links, so that a producer's and a consumer's traces lead here.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Final

from opentelemetry.trace import Span

from korvet.gateway.handler import Handler, RequestContext
from korvet.kafka.errors import DecodeError, ErrorCode
from korvet.kafka.first_error import first_error
from korvet.kafka.message import Message
from korvet.kafka.messages.fetch import FetchRequest, FetchResponse
from korvet.kafka.messages.offset_commit import OffsetCommitRequest
from korvet.kafka.messages.produce import ProduceRequest, ProduceResponse
from korvet.kafka.messages.txn_offset_commit import TxnOffsetCommitRequest
from korvet.kafka.records import split_batches
from korvet.kafka.trace_headers import find_traceparents
from korvet.runtime.rpc_spans import TRACEPARENT
from korvet.runtime.tracing import Work, begin, remote_context

_OPERATION_TYPES: Final[dict[type[Message], str]] = {
    ProduceRequest: "send",
    FetchRequest: "receive",
    OffsetCommitRequest: "settle",
    TxnOffsetCommitRequest: "settle",
}
# Answers that are a part of how clients and brokers talk, and no failures.
_EXPECTED: Final = {
    ErrorCode.MEMBER_ID_REQUIRED,
    ErrorCode.REBALANCE_IN_PROGRESS,
    ErrorCode.FETCH_SESSION_ID_NOT_FOUND,
}
# A request may name thousands.
_MAX_TOPICS: Final = 16
# The longest name that a topic can have; of a request it may be any.
_MAX_NAME: Final = 249
_MAX_LINKS: Final = 32
_MAX_BATCHES: Final = 1000


def begin_request(
    handler: Handler[Any, Any], request: Message, context: RequestContext
) -> Work | None:
    """None where it is not recorded."""
    work = begin(handler.name)
    if work is not None:
        _describe(work.span, handler.name, request, context)
    return work


def end_request(work: Work, answer: Message | None) -> None:
    """End it with what it is answered; None: it has no answer."""
    if answer is None:
        work.end()
        return
    if isinstance(answer, FetchResponse):
        _describe_fetched(work.span, answer)
    elif isinstance(answer, ProduceResponse):
        _describe_offset(work.span, answer)
    end_refused(work, first_error(answer))


def end_refused(work: Work, code: int) -> None:
    """End it with an error, if it is one."""
    if not code:
        work.end()
        return
    error = ErrorCode(code)
    work.end(error.name, is_failure=error not in _EXPECTED)


def _describe(span: Span, name: str, request: Message, context: RequestContext) -> None:
    span.set_attributes(
        {
            "messaging.system": "kafka",
            "messaging.operation.name": name,
            "client.address": context.client_host,
            "network.protocol.name": "kafka",
            "korvet.kafka.api_version": context.api_version,
        }
    )
    if context.client_id:
        span.set_attribute("messaging.client.id", context.client_id)
    kind = _OPERATION_TYPES.get(type(request))
    if kind is not None:
        span.set_attribute("messaging.operation.type", kind)
    if group := _group(request):
        span.set_attribute("messaging.consumer.group.name", group)
    _describe_topics(span, name, _topics(request), context)
    if isinstance(request, ProduceRequest):
        _describe_batches(span, list(_sent(request)))


def _describe_topics(
    span: Span, name: str, topics: Sequence[Any], context: RequestContext
) -> None:
    named = [_name(topic, context)[:_MAX_NAME] for topic in topics[:_MAX_TOPICS]]
    if len(topics) != 1:
        if named:
            span.set_attribute("korvet.kafka.topics", named)
        return
    span.update_name(f"{name} {named[0]}")
    span.set_attribute("messaging.destination.name", named[0])
    partitions = _partitions(topics[0])
    if len(partitions) == 1:
        span.set_attribute("messaging.destination.partition.id", str(partitions[0]))


def _describe_batches(span: Span, batches: Sequence[bytes]) -> None:
    """Count the records of some partitions, and link to the traces that they are of."""
    count = 0
    try:
        for data in batches[:_MAX_BATCHES]:
            count += sum(max(0, header.record_count) for header, _ in split_batches(data))
    except DecodeError:
        # It is refused for that.
        return
    span.set_attribute("messaging.batch.message_count", count)
    for traceparent in find_traceparents(batches, _MAX_LINKS):
        if context := remote_context({TRACEPARENT: traceparent}):
            span.add_link(context)


def _describe_fetched(span: Span, answer: FetchResponse) -> None:
    found = [
        partition.records
        for topic in answer.responses
        for partition in topic.partitions
        if partition.records
    ]
    _describe_batches(span, found)


def _describe_offset(span: Span, answer: ProduceResponse) -> None:
    partitions = [each for topic in answer.responses for each in topic.partition_responses]
    if len(partitions) == 1 and partitions[0].base_offset >= 0:
        span.set_attribute("messaging.kafka.offset", partitions[0].base_offset)


def _sent(request: ProduceRequest) -> Iterator[bytes]:
    for topic in request.topic_data:
        for partition in topic.partition_data:
            if partition.records:
                yield partition.records


# Kafka's messages name the same things in several ways.


def _group(request: Message) -> str | None:
    if group := getattr(request, "group_id", None):
        return str(group)
    groups = getattr(request, "groups", None)
    if not isinstance(groups, list) or len(groups) != 1:
        return None
    return str(getattr(groups[0], "group_id", groups[0]))


def _topics(request: Message) -> Sequence[Any]:
    found = getattr(request, "topic_data", None) or getattr(request, "topics", None)
    return found if isinstance(found, list) else ()


def _name(topic: Any, context: RequestContext) -> str:
    if isinstance(topic, str):
        return topic
    for field in ("name", "topic"):
        if name := getattr(topic, field, None):
            return str(name)
    topic_id: bytes = getattr(topic, "topic_id", b"")
    known = context.cluster.cached_id(topic_id)
    return topic_id.hex() if known is None else known.name


def _partitions(topic: Any) -> Sequence[Any]:
    for field in ("partition_data", "partitions", "partition_indexes"):
        if found := getattr(topic, field, None):
            return [_index(each) for each in found[:2]]
    return ()


def _index(partition: Any) -> Any:
    for field in ("index", "partition", "partition_index"):
        number = getattr(partition, field, None)
        if number is not None:
            return number
    return partition
