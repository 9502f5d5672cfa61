"""What traces tell of the calls that gRPC clients make about records.

Gateways say the same of Kafka's requests. The trace contexts that records carry become
links, so that a producer's and a consumer's traces lead here.
"""

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Final

from opentelemetry.trace import Span, StatusCode

from korvet.kafka.errors import ErrorCode
from korvet.kafka.trace_headers import HEADER, find_traceparents
from korvet.proto.storage.v1 import storage_service_pb2 as pb
from korvet.runtime.grpc_tracing import Describe
from korvet.runtime.tracing import remote_context

_MAX_LINKS: Final = 32
# What is looked through for contexts.
_MAX_RECORDS: Final = 1000


def describe_append(
    span: Span, request: pb.AppendRequest, answer: pb.AppendResponse
) -> None:
    records = [each.records.records for each in request.partitions]
    batches = [each.batch for each in request.partitions if each.batch]
    _describe(span, "Append", "send", [(p.topic, p.partition) for p in request.partitions])
    _describe_records(span, records, batches)
    if len(answer.partitions) == 1 and not answer.partitions[0].error_code:
        span.set_attribute("messaging.kafka.offset", answer.partitions[0].base_offset)
    _describe_error(span, (each.error_code for each in answer.partitions))


def describe_read(span: Span, request: pb.ReadRequest, answer: pb.ReadResponse) -> None:
    records = [each.records for each in answer.partitions]
    batches = [each.batches for each in answer.partitions if each.batches]
    _describe(span, "Read", "receive", [(p.topic, p.partition) for p in request.partitions])
    _describe_records(span, records, batches)
    _describe_error(span, (each.error_code for each in answer.partitions))


# By the path of the method.
DESCRIBE: Final[dict[str, Describe]] = {
    f"/{pb.DESCRIPTOR.services_by_name['StorageService'].full_name}/{method}": describe
    for method, describe in (
        ("Append", describe_append),
        ("AppendAtomically", describe_append),
        ("Read", describe_read),
    )
}


def _describe(
    span: Span, operation: str, kind: str, places: list[tuple[pb.TopicRef, int]]
) -> None:
    span.set_attributes(
        {
            "messaging.system": "kafka",
            "messaging.operation.name": operation,
            "messaging.operation.type": kind,
        }
    )
    if len(places) == 1:
        ((topic, partition),) = places
        span.set_attribute("messaging.destination.name", topic.name or topic.id.hex())
        span.set_attribute("messaging.destination.partition.id", str(partition))


def _describe_records(
    span: Span, records: Sequence[Sequence[pb.Record]], batches: Sequence[bytes]
) -> None:
    if not batches:
        count = sum(map(len, records))
        span.set_attribute("messaging.batch.message_count", count)
    found = dict.fromkeys(find_traceparents(batches, _MAX_LINKS))
    every = (record for each in records for record in each)
    for record in islice(every, _MAX_RECORDS):
        for header in record.headers:
            if header.name == HEADER and len(found) < _MAX_LINKS:
                found[header.value.decode(errors="replace")] = None
    for traceparent in found:
        if context := remote_context({HEADER: traceparent}):
            span.add_link(context)


def _describe_error(span: Span, codes: Iterable[int]) -> None:
    for code in codes:
        if code:
            span.set_attribute("error.type", ErrorCode(code).name)
            span.set_status(StatusCode.ERROR)
            return
