import asyncio
import logging
from typing import Any

import pytest

from korvet.gateway.handler import Handler, RequestContext
from korvet.gateway.handlers import fetch as fetch_api
from korvet.gateway.handlers import metadata
from korvet.kafka.errors import ErrorCode, KafkaError
from korvet.kafka.frames import encode_request
from korvet.kafka.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from korvet.kafka.messages.describe_cluster import (
    DescribeClusterRequest,
    DescribeClusterResponse,
)
from korvet.kafka.messages.find_coordinator import FindCoordinatorRequest
from korvet.kafka.messages.metadata import MetadataRequest, MetadataResponse
from tests.support.eventually import eventually
from tests.support.fake_storage import FakeStorage
from tests.support.gateway_requests import BATCH, batch_of, fetch, produce
from tests.support.kafka_client import LIMITS, KafkaClient, kafka_server, settle, until


@pytest.fixture
def storage() -> FakeStorage:
    storage = FakeStorage()
    storage.add_topic("orders")
    return storage


async def test_answers_leave_in_request_order_with_many_in_flight(
    storage: FakeStorage,
) -> None:
    client = KafkaClient(kafka_server(storage))
    storage.may_answer.clear()

    sent = [client.send(produce(), 9), client.send(ApiVersionsRequest(), 0)]
    sent += [client.send(produce(), 9), client.send(MetadataRequest(topics=[]), 9)]
    await settle()
    assert client.answered() == []
    storage.may_answer.set()
    await until(lambda: len(client.answered()) == 4)

    assert client.answered() == sent


async def test_answers_that_are_ready_together_are_written_together(
    storage: FakeStorage,
) -> None:
    client = KafkaClient(kafka_server(storage))
    storage.may_answer.clear()
    for _ in range(5):
        client.send(produce(), 9)
    await settle()

    storage.may_answer.set()
    await until(lambda: len(client.answered()) == 5)

    assert client.transport.writes == 1


async def test_a_long_answer_is_handed_over_in_few_pieces(storage: FakeStorage) -> None:
    client = KafkaClient(kafka_server(storage))
    many = FindCoordinatorRequest(coordinator_keys=[f"group-{n}" for n in range(7000)])

    sent = client.send(many, 4)
    await eventually(lambda: client.answered() == [sent])

    assert client.transport.most_pieces == 1


async def test_requests_that_arrive_byte_by_byte_are_answered(storage: FakeStorage) -> None:
    client = KafkaClient(kafka_server(storage))

    for byte in encode_request(1, produce(), 9) + encode_request(
        2, ApiVersionsRequest(), 0
    ):
        client.send_bytes(bytes([byte]))
    await until(lambda: client.answered() == [1, 2])


async def test_requests_that_arrive_all_at_once_are_answered(storage: FakeStorage) -> None:
    client = KafkaClient(kafka_server(storage))

    client.send_bytes(b"".join(encode_request(n, produce(), 9) for n in range(1, 31)))
    await until(lambda: client.answered() == list(range(1, 31)))

    assert storage.logs["orders", 0].high_watermark == 30


async def test_no_more_requests_are_started_than_allowed(storage: FakeStorage) -> None:
    client = KafkaClient(kafka_server(storage))
    storage.may_answer.clear()

    for _ in range(30):
        client.send(produce(), 9)
    await settle()
    assert len(storage.appends) == LIMITS.max_requests_in_flight
    assert client.transport.is_reading_paused
    storage.may_answer.set()
    await until(lambda: len(client.answered()) == 30)

    assert not client.transport.is_reading_paused


async def test_no_more_bytes_are_under_way_than_allowed(storage: FakeStorage) -> None:
    limits = LIMITS._replace(max_request_bytes_in_flight=3 * len(BATCH))
    client = KafkaClient(kafka_server(storage, limits=limits))
    storage.may_answer.clear()

    for _ in range(8):
        client.send(produce(), 9)
    await settle()
    assert 1 < len(storage.appends) < 4
    assert client.transport.is_reading_paused
    storage.may_answer.set()
    await until(lambda: len(client.answered()) == 8)


async def test_all_connections_together_have_a_bound_on_bytes_under_way(
    storage: FakeStorage,
) -> None:
    server = kafka_server(storage, max_request_bytes=3 * len(BATCH))
    clients = [KafkaClient(server) for _ in range(4)]
    storage.may_answer.clear()

    for client in clients:
        client.send(produce(), 9)
        client.send(produce(), 9)
    await settle()
    assert len(storage.appends) < 4
    storage.may_answer.set()
    await until(lambda: all(len(client.answered()) == 2 for client in clients))


async def test_produce_without_acks_is_not_answered_and_holds_nothing_up(
    storage: FakeStorage,
) -> None:
    client = KafkaClient(kafka_server(storage))
    storage.may_answer.clear()

    client.send(produce(acks=0), 9)
    second = client.send(ApiVersionsRequest(), 0)
    await until(lambda: client.answered() == [second])
    storage.may_answer.set()
    await settle()

    assert client.answered() == [second]
    assert not client.transport.is_closing()


async def test_a_failed_produce_without_acks_closes_the_connection(
    storage: FakeStorage,
) -> None:
    client = KafkaClient(kafka_server(storage))

    client.send(produce("nowhere", acks=0), 9)

    await until(client.transport.is_closing)


async def test_a_client_that_does_not_read_gets_no_more_work_done(
    storage: FakeStorage,
) -> None:
    storage.logs["orders", 0].append(batch_of(bytes(1 << 20)))
    client = KafkaClient(kafka_server(storage))
    client.transport.client_reads = False

    for _ in range(6):
        client.send(fetch(), 12)
    await settle()
    held = len(client.transport.written)
    assert client.transport.is_reading_paused
    assert held < 3 << 20
    client.transport.take()
    await until(lambda: len(client.answered()) == 6)


async def test_memory_for_fetches_is_given_back_when_the_client_goes(
    storage: FakeStorage,
) -> None:
    storage.logs["orders", 0].append(batch_of(bytes(1 << 20)))
    server = kafka_server(storage)
    client = KafkaClient(server)
    client.transport.client_reads = False
    for _ in range(6):
        client.send(fetch(), 12)
    await settle()
    assert server.fetch_bytes > 1 << 20

    client.transport.disconnect()
    await settle()

    assert server.fetch_bytes == 0
    assert server.request_bytes == 0


async def test_a_parked_fetch_is_cancelled_when_its_client_goes(
    storage: FakeStorage,
) -> None:
    server = kafka_server(storage)
    client = KafkaClient(server)
    client.send(fetch(), 12)
    await settle()
    assert server.requests_under_way == 1

    client.transport.disconnect()
    await settle()

    assert server.requests_under_way == 0


async def test_a_fetch_whose_client_goes_before_it_begins_leaves_nothing_behind(
    storage: FakeStorage,
) -> None:
    server = kafka_server(storage)
    client = KafkaClient(server)

    client.send(fetch(), 12)
    client.transport.disconnect()
    await settle()

    assert server.requests_under_way == 0
    assert server.request_bytes == 0
    assert server.fetch_bytes == 0


async def test_an_append_goes_on_when_its_client_goes(storage: FakeStorage) -> None:
    server = kafka_server(storage)
    client = KafkaClient(server)
    storage.may_answer.clear()
    client.send(produce(), 9)
    await settle()

    client.transport.disconnect()
    await settle()
    assert server.requests_under_way == 1
    storage.may_answer.set()
    await settle()

    assert server.requests_under_way == 0
    assert storage.logs["orders", 0].high_watermark == 1
    assert client.answered() == []


async def test_half_a_frame_and_then_nothing_leaves_nothing_behind(
    storage: FakeStorage,
) -> None:
    server = kafka_server(storage)
    client = KafkaClient(server)
    client.send_bytes(encode_request(1, produce(), 9)[:-5])
    assert server.buffered_bytes > 0

    client.transport.disconnect()

    assert server.buffered_bytes == 0
    assert storage.appends == []


GARBAGE = [
    pytest.param(b"\x7f\xff\xff\xff", id="too large"),
    pytest.param(b"\xff\xff\xff\xff", id="negative length"),
    pytest.param(b"\0\0\0\x03abc", id="no head"),
    pytest.param(b"\0\0\0\x0a\0\x03\0\x01\0\0\0\x01\xff\xff", id="cut body"),
    pytest.param(b"GET / HTTP/1.1\r\n\r\n", id="another protocol"),
    pytest.param(b"\0\0\0\x0a\0\x1b\0\x01\0\0\0\x01\xff\xff", id="an API not served"),
    pytest.param(b"\0\0\0\x0a\0\x03\0\x63\0\0\0\x01\xff\xff", id="a version not served"),
]


@pytest.mark.parametrize("garbage", GARBAGE)
async def test_garbage_closes_its_own_connection_only_with_one_line(
    garbage: bytes, storage: FakeStorage, caplog: pytest.LogCaptureFixture
) -> None:
    server = kafka_server(storage)
    client, other = KafkaClient(server), KafkaClient(server)

    with caplog.at_level(logging.WARNING):
        client.send_bytes(garbage)
        await settle()
    answer = await other.ask(ApiVersionsRequest(), 0, ApiVersionsResponse)

    assert client.transport.is_closing()
    assert len(caplog.records) == 1
    assert "192.0.2.1" in caplog.messages[0]
    assert answer.error_code == 0


@pytest.mark.parametrize(
    ("lost", "why"),
    [
        (None, "the client closed it"),
        (ConnectionResetError("reset by peer"), "reset by peer"),
    ],
)
async def test_a_clients_end_is_one_line_for_those_who_debug(
    lost: Exception | None, why: str, storage: FakeStorage, caplog: pytest.LogCaptureFixture
) -> None:
    client = KafkaClient(kafka_server(storage))

    with caplog.at_level(logging.DEBUG, "korvet.gateway"):
        client.connection.connection_lost(lost)

    (line,) = caplog.records
    assert line.levelno == logging.DEBUG
    assert line.getMessage() == f"192.0.2.1: connection ended after 0.0 s: {why}"


async def test_a_connection_that_we_end_is_one_line_that_says_why(
    storage: FakeStorage, caplog: pytest.LogCaptureFixture
) -> None:
    client = KafkaClient(kafka_server(storage))

    with caplog.at_level(logging.INFO, "korvet.gateway"):
        client.connection.abort("nothing has happened on it for too long")
        await settle()

    assert caplog.messages == [
        "192.0.2.1: connection ended after 0.0 s: nothing has happened on it for too long"
    ]


async def test_the_ends_of_connections_do_not_flood_the_log(
    storage: FakeStorage, caplog: pytest.LogCaptureFixture
) -> None:
    server = kafka_server(storage, max_connections=1000)
    with caplog.at_level(logging.INFO, "korvet.gateway"):
        for _ in range(100):
            KafkaClient(server).connection.abort("it is too much")
        await settle()

    assert len(caplog.records) == 10


async def test_complaints_do_not_flood_the_log(
    storage: FakeStorage, caplog: pytest.LogCaptureFixture
) -> None:
    server = kafka_server(storage, max_connections=1000)

    for _ in range(100):
        KafkaClient(server).send_bytes(b"\xff\xff\xff\xff")

    assert len(caplog.records) == 10


async def test_an_unknown_version_of_api_versions_is_answered_in_v0_with_the_list(
    storage: FakeStorage,
) -> None:
    client = KafkaClient(kafka_server(storage))

    client.send_bytes(b"\0\0\0\x0a\0\x12\0\x63\0\0\0\x07\xff\xff")
    await settle()

    answer = client.answer(ApiVersionsResponse, 0)
    assert client.answered() == [7]
    assert answer.error_code == ErrorCode.UNSUPPORTED_VERSION
    assert 18 in [api.api_key for api in answer.api_keys]
    assert not client.transport.is_closing()


def failing(error: Exception, *, can_refuse: bool) -> Handler[Any, Any]:
    async def handle(request: DescribeClusterRequest, context: RequestContext) -> None:
        raise error

    def refuse(
        request: DescribeClusterRequest, error: KafkaError, version: int
    ) -> DescribeClusterResponse | None:
        return DescribeClusterResponse(error_code=error.code) if can_refuse else None

    return Handler(
        DescribeClusterRequest, min_version=0, max_version=1, handle=handle, refuse=refuse
    )


async def test_a_refusal_is_answered_as_the_api_says() -> None:
    error = KafkaError(ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    server = kafka_server(handlers=[failing(error, can_refuse=True)])

    answer = await KafkaClient(server).ask(
        DescribeClusterRequest(), 0, DescribeClusterResponse
    )

    assert answer.error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED


async def test_a_bug_is_an_unknown_server_error_with_a_traceback_in_the_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    server = kafka_server(handlers=[failing(ZeroDivisionError(), can_refuse=True)])

    answer = await KafkaClient(server).ask(
        DescribeClusterRequest(), 0, DescribeClusterResponse
    )

    assert answer.error_code == ErrorCode.UNKNOWN_SERVER_ERROR
    assert "ZeroDivisionError" in caplog.text


async def test_where_no_error_can_be_told_the_connection_is_closed() -> None:
    error = KafkaError(ErrorCode.LEADER_NOT_AVAILABLE)
    client = KafkaClient(kafka_server(handlers=[failing(error, can_refuse=False)]))

    client.send(DescribeClusterRequest(), 0)

    await until(client.transport.is_closing)
    assert client.answered() == []


async def test_an_answer_that_cannot_be_encoded_closes_the_connection(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def handle(request: MetadataRequest, context: RequestContext) -> MetadataResponse:
        return MetadataResponse(controller_id=1 << 40)

    broken = Handler(
        MetadataRequest,
        min_version=0,
        max_version=12,
        handle=handle,
        refuse=metadata.refuse,
    )
    client = KafkaClient(kafka_server(handlers=[broken]))

    client.send(MetadataRequest(topics=[]), 12)

    await until(client.transport.is_closing)
    assert "MetadataRequest v12 has no answer" in caplog.text


async def test_answers_to_a_client_that_has_gone_are_dropped(storage: FakeStorage) -> None:
    client = KafkaClient(kafka_server(storage))
    storage.may_answer.clear()
    client.send(produce(), 9)
    await settle()

    client.transport.close()
    storage.may_answer.set()
    await settle()

    assert client.answered() == []


async def test_produces_of_one_connection_reach_storage_in_their_order() -> None:
    class SlowStorage(FakeStorage):
        """Takes its time before it hands anything over, the less the later."""

        async def append(self, *args: Any, **options: Any) -> Any:
            for _ in range(20 - len(self.appends)):
                await asyncio.sleep(0)
            return await super().append(*args, **options)

    storage = SlowStorage()
    storage.add_topic("orders")
    client = KafkaClient(kafka_server(storage))
    batches = [batch_of(b"%d" % number) for number in range(9)]

    for batch in batches:
        client.send(produce(batch=batch), 9)
    await until(lambda: len(client.answered()) == 9)

    assert [batch for _, batch in storage.logs["orders", 0].batches] == batches


def test_only_what_may_wait_for_long_is_dropped_with_its_client() -> None:
    assert fetch_api.HANDLER.cancellable
    assert not metadata.HANDLER.cancellable
