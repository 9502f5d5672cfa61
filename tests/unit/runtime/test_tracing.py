"""Spans are begun where somebody records, and cost a look where nobody does."""

import asyncio
from collections.abc import Iterator

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF, ParentBased
from opentelemetry.trace import StatusCode

from korvet.proto.coordinator.v1 import coordinator_service_pb2 as pb
from korvet.runtime import tracing
from korvet.runtime.rpc_spans import (
    begin_call,
    begin_in_frame,
    carry_out,
    end_call,
    methods_by_field,
    place_of,
)
from korvet.runtime.tracing import Work
from korvet.runtime.waiting import begin_wait
from tests.support.recorded_spans import RecordedSpans

SAMPLED = f"00-{'ab' * 16}-{'cd' * 8}-01"
UNSAMPLED = f"00-{'ab' * 16}-{'cd' * 8}-00"


@pytest.fixture
def exported() -> Iterator[RecordedSpans]:
    spans = RecordedSpans()
    with spans.recording():
        yield spans


def begun(name: str = "request") -> Work:
    work = tracing.begin(name)
    assert work is not None
    return work


def test_nothing_is_begun_where_nothing_is_installed() -> None:
    assert not tracing.is_on()
    assert tracing.begin("request") is None
    assert tracing.begin_from("request", {"traceparent": SAMPLED}) is None
    assert begin_wait("records") is None


def test_what_the_sampler_does_not_want_is_not_begun() -> None:
    provider = TracerProvider(sampler=ParentBased(ALWAYS_OFF), shutdown_on_exit=False)
    tracing.install(provider.get_tracer("test"))
    try:
        assert tracing.begin("request") is None
        # A caller that records it decides for us, too.
        assert tracing.begin_from("request", {"traceparent": SAMPLED}) is not None
    finally:
        tracing.uninstall()


@pytest.mark.parametrize("ratio", [0.0, 0.01, 0.3, 0.5, 1.0])
def test_a_share_of_requests_begins_traces(ratio: float) -> None:
    tracing.install(TracerProvider(shutdown_on_exit=False).get_tracer("test"), ratio)
    try:
        begun = sum(tracing.wants_trace() for _ in range(20_000))
        # A caller's trace is gone on with, whatever the share is.
        assert tracing.begin_from("request", {"traceparent": SAMPLED}) is not None
    finally:
        tracing.uninstall()

    # Six standard deviations.
    assert abs(begun - 20_000 * ratio) <= 6 * (20_000 * ratio * (1 - ratio)) ** 0.5


def test_a_caller_that_records_nothing_is_not_recorded_here(
    exported: RecordedSpans,
) -> None:
    assert tracing.begin_from("request", {"traceparent": UNSAMPLED}) is None
    sent = tracing.unsampled_traceparent()
    assert tracing.begin_from("request", {"traceparent": sent}) is None


def test_a_span_goes_on_where_its_caller_is(exported: RecordedSpans) -> None:
    work = begin_in_frame("a.Service/Method", SAMPLED)
    assert work is not None
    with work:
        child = work.child("GET")
    assert child is not None
    child.end()
    work.end()

    served = exported.named("a.Service/Method")
    assert served.parent is not None
    assert f"{served.parent.span_id:016x}" == "cd" * 8
    command = exported.named("GET")
    assert command.parent is not None
    assert command.parent.span_id == served.context.span_id
    assert command.context.trace_id == served.context.trace_id == int("ab" * 16, 16)


def test_its_traceparent_names_it(exported: RecordedSpans) -> None:
    work = begun()
    again = tracing.remote_context({"traceparent": work.traceparent})

    assert again is not None
    assert again.span_id == work.span.get_span_context().span_id
    assert again.trace_flags.sampled


def test_what_is_left_behind_by_a_request_that_has_ended_is_not_recorded(
    exported: RecordedSpans,
) -> None:
    work = begun()
    work.end()

    assert work.child("GET") is None


def test_a_request_with_thousands_of_parts_has_some_of_them_and_their_count(
    exported: RecordedSpans,
) -> None:
    work = begun()
    for _ in range(1000):
        if part := work.child("XRANGE"):
            part.end()
    work.end()

    assert len(exported.all) == 64 + 1
    assert exported.told("request")["korvet.spans.left_out"] == 1000 - 64


def test_an_error_has_a_name_and_no_message(exported: RecordedSpans) -> None:
    begun().end("UNKNOWN_TOPIC_OR_PARTITION")
    begun("expected").end("MEMBER_ID_REQUIRED", is_failure=False)

    failed, expected = exported.named("request"), exported.named("expected")
    assert exported.told("request")["error.type"] == "UNKNOWN_TOPIC_OR_PARTITION"
    assert failed.status.status_code is StatusCode.ERROR
    assert failed.status.description is None
    assert exported.told("expected")["error.type"] == "MEMBER_ID_REQUIRED"
    assert expected.status.status_code is StatusCode.UNSET


def test_a_context_that_is_none_is_none() -> None:
    for sent in ("", "00", f"00-{'0' * 32}-{'1' * 16}-01", "x" * 1000, "\x00"):
        assert tracing.remote_context({"traceparent": sent}) is None


async def test_what_fails_while_it_is_served_ends_as_an_error(
    exported: RecordedSpans,
) -> None:
    async def fail() -> None:
        raise RuntimeError("with a secret")

    with pytest.raises(RuntimeError):
        await carry_out(begun(), fail)

    failed = exported.named("request")
    assert exported.told("request")["rpc.response.status_code"] == "UNKNOWN"
    assert "secret" not in failed.to_json()
    assert tracing.current.get() is None


async def test_a_call_that_is_cancelled_is_no_failure_of_the_server(
    exported: RecordedSpans,
) -> None:
    work = begun()
    task = asyncio.create_task(carry_out(work, asyncio.Event().wait))
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.wait([task])

    cancelled = exported.named("request")
    assert exported.told("request")["error.type"] == "CANCELLED"
    assert cancelled.status.status_code is StatusCode.UNSET


def test_a_call_tells_where_it_went_and_how_it_ended(exported: RecordedSpans) -> None:
    call = begin_call(begun(), "a.Service/Method", "10.0.0.1:50051")
    assert call is not None
    end_call(call, "UNAVAILABLE", "NOT_SENT")

    assert exported.told("a.Service/Method") == {
        "rpc.system.name": "grpc",
        "rpc.method": "a.Service/Method",
        "server.address": "10.0.0.1",
        "server.port": 50051,
        "rpc.response.status_code": "UNAVAILABLE",
        "error.type": "NOT_SENT",
    }


@pytest.mark.parametrize(
    ("address", "place"),
    [
        ("storage:50051", {"server.address": "storage", "server.port": 50051}),
        ("[::1]:1", {"server.address": "::1", "server.port": 1}),
        ("unix:/run/storage.sock", {"server.address": "/run/storage.sock"}),
    ],
)
def test_a_servers_address_is_split(address: str, place: dict[str, object]) -> None:
    assert place_of(address) == place


def test_each_request_in_a_frame_is_called_what_it_would_be_on_its_own() -> None:
    service = pb.DESCRIPTOR.services_by_name["CoordinatorService"]

    names = methods_by_field(service, pb.GroupCall.DESCRIPTOR)

    short = {field: name.rpartition("/")[2] for field, name in names.items()}
    assert short == {
        "join": "JoinGroup",
        "sync": "SyncGroup",
        "heartbeat": "Heartbeat",
        "leave": "LeaveGroup",
        "commit": "CommitOffsets",
        "fetch": "FetchOffsets",
    }


def test_waiting_tells_how_long_it_was_and_what_ended_it(exported: RecordedSpans) -> None:
    with begun():
        waiting = begin_wait("records")
    assert waiting is not None
    waiting.end("append")

    attributes = exported.told("wait for records")
    assert attributes["korvet.wait.woken_by"] == "append"
    assert attributes["korvet.wait.seconds"] == pytest.approx(0, abs=0.5)
