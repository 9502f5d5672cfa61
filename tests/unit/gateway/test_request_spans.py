"""What the span of a Kafka request tells, of any API, and whatever a client asks."""

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

import pytest
from opentelemetry.trace import StatusCode

from korvet.gateway.dispatch import UnanswerableError, dispatch
from korvet.gateway.handler import Handler, RequestContext
from korvet.gateway.handlers import HANDLERS, metadata
from korvet.kafka.errors import ErrorCode, KafkaError
from korvet.kafka.message import Message
from korvet.kafka.messages.metadata import MetadataRequest
from korvet.kafka.messages.offset_fetch import OffsetFetchRequest
from korvet.kafka.messages.produce import ProduceRequest
from tests.support.fake_storage import FakeStorage
from tests.support.gateway_context import request_context
from tests.support.recorded_spans import RecordedSpans
from tests.support.sample_requests import SAMPLE_REQUESTS, Asked

_IDS = [handler.name for handler in HANDLERS]


@pytest.fixture
def recorded() -> Iterator[RecordedSpans]:
    spans = RecordedSpans()
    with spans.recording():
        yield spans


def handler_that(
    handler: Handler[Any, Any], answer: Message | Exception | None
) -> Handler[Any, Any]:
    """This API, answered like that."""

    async def handle(request: Message, context: RequestContext) -> Message | None:
        if isinstance(answer, Exception):
            raise answer
        return answer

    return Handler(
        handler.request_type,
        min_version=handler.min_version,
        max_version=handler.max_version,
        handle=handle,
        refuse=handler.refuse,
    )


async def told(
    recorded: RecordedSpans,
    handler: Handler[Any, Any],
    request: Message,
    answer: Message | Exception | None = None,
    version: int | None = None,
) -> Mapping[str, Any]:
    """The attributes of a request's span, with its name and status."""
    recorded.clear()
    chosen = handler.max_version if version is None else version
    context = request_context(FakeStorage(), chosen)
    with suppress(UnanswerableError):
        await dispatch(handler_that(handler, answer), request, context)
    (span,) = recorded.all
    # What an exporter must be able to encode.
    span.name.encode()
    json.loads(span.to_json())
    return {
        **(span.attributes or {}),
        "name": span.name,
        "is_error": span.status.status_code is StatusCode.ERROR,
    }


@pytest.mark.parametrize("handler", HANDLERS, ids=_IDS)
async def test_every_api_has_a_span_in_all_its_versions(
    recorded: RecordedSpans, handler: Handler[Any, Any]
) -> None:
    for version in range(handler.min_version, handler.max_version + 1):
        asked = Asked("orders", bytes(range(16)), version)
        request = SAMPLE_REQUESTS[handler.api_key](asked)

        found = await told(recorded, handler, request, version=version)

        assert found["name"].split()[0] == found["messaging.operation.name"]
        assert found["messaging.operation.name"] == handler.name
        assert found["korvet.kafka.api_version"] == version
        assert not found["is_error"]


@pytest.mark.parametrize("handler", HANDLERS, ids=_IDS)
async def test_every_api_tells_its_refusal(
    recorded: RecordedSpans, handler: Handler[Any, Any]
) -> None:
    asked = Asked("orders", bytes(range(16)), handler.max_version)
    request = SAMPLE_REQUESTS[handler.api_key](asked)
    refusal = KafkaError(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, "with a secret")

    found = await told(recorded, handler, request, refusal)

    assert found["error.type"] == "COORDINATOR_LOAD_IN_PROGRESS"
    assert found["is_error"]
    assert "secret" not in str(found)


@pytest.mark.parametrize("handler", HANDLERS, ids=_IDS)
async def test_an_empty_request_has_a_span_too(
    recorded: RecordedSpans, handler: Handler[Any, Any]
) -> None:
    found = await told(recorded, handler, handler.request_type())

    assert found["name"] == handler.name


async def test_a_bug_is_told_as_kafka_tells_it(recorded: RecordedSpans) -> None:
    bug = RuntimeError("secret")

    found = await told(recorded, metadata.HANDLER, MetadataRequest(), bug)

    assert found["error.type"] == "UNKNOWN_SERVER_ERROR"
    assert "secret" not in str(found)


async def test_names_that_no_topic_can_have_are_cut(recorded: RecordedSpans) -> None:
    names = ["x" * 32_000, "y" * 32_000]
    topics = [MetadataRequest.MetadataRequestTopic(name=name) for name in names]

    one = await told(recorded, metadata.HANDLER, MetadataRequest(topics=topics[:1]))
    both = await told(recorded, metadata.HANDLER, MetadataRequest(topics=topics))

    assert one["messaging.destination.name"] == "x" * 249
    assert both["korvet.kafka.topics"] == ("x" * 249, "y" * 249)


async def test_of_a_request_about_thousands_of_topics_some_are_told(
    recorded: RecordedSpans,
) -> None:
    topics = [MetadataRequest.MetadataRequestTopic(name=f"{n}") for n in range(5000)]

    found = await told(recorded, metadata.HANDLER, MetadataRequest(topics=topics))

    assert len(found["korvet.kafka.topics"]) == 16


async def test_a_group_is_told_where_a_request_is_about_one(
    recorded: RecordedSpans,
) -> None:
    (handler,) = [each for each in HANDLERS if each.request_type is OffsetFetchRequest]
    groups = [OffsetFetchRequest.OffsetFetchRequestGroup(group_id=g) for g in ("a", "b")]

    old = await told(recorded, handler, OffsetFetchRequest(group_id="a"), version=1)
    one = await told(recorded, handler, OffsetFetchRequest(groups=groups[:1]))
    both = await told(recorded, handler, OffsetFetchRequest(groups=groups))

    assert old["messaging.consumer.group.name"] == "a"
    assert one["messaging.consumer.group.name"] == "a"
    assert "messaging.consumer.group.name" not in both


@pytest.mark.parametrize("records", [None, b"", b"no batch", bytes(61), b"\xff" * 200])
async def test_a_batch_that_cannot_be_read_stops_nobody(
    recorded: RecordedSpans, records: bytes | None
) -> None:
    (handler,) = [each for each in HANDLERS if each.request_type is ProduceRequest]
    partition = ProduceRequest.PartitionProduceData(index=3, records=records)
    topic = ProduceRequest.TopicProduceData(name="orders", partition_data=[partition])

    found = await told(recorded, handler, ProduceRequest(acks=1, topic_data=[topic]))

    assert found["messaging.destination.partition.id"] == "3"
