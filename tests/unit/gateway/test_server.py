import asyncio
import socket

import pytest

from korvet.gateway.server import bind
from korvet.kafka.frames import encode_request
from korvet.kafka.messages.api_versions import ApiVersionsRequest
from tests.support.fake_storage import FakeStorage
from tests.support.gateway_requests import batch_of, fetch, produce
from tests.support.kafka_client import LIMITS, KafkaClient, kafka_server, settle, until


@pytest.fixture
def storage() -> FakeStorage:
    storage = FakeStorage()
    storage.add_topic("orders")
    return storage


async def test_connections_above_the_limit_are_refused_and_a_free_place_is_taken() -> None:
    server = kafka_server(max_connections=2)
    first, second = KafkaClient(server), KafkaClient(server)

    third = KafkaClient(server)
    await settle()
    assert third.transport.is_aborted
    first.transport.disconnect()
    fourth = KafkaClient(server)

    assert not second.transport.is_closing()
    assert not fourth.transport.is_closing()
    assert server.connections == 2


async def test_drain_closes_idle_connections_at_once() -> None:
    server = kafka_server()
    client = KafkaClient(server)

    await server.drain(10)

    assert client.transport.is_closing()
    assert not client.transport.is_aborted


async def test_drain_lets_requests_under_way_finish_and_starts_no_others(
    storage: FakeStorage,
) -> None:
    server = kafka_server(storage)
    client = KafkaClient(server)
    storage.may_answer.clear()
    first = client.send(produce(), 9)
    await settle()

    draining = asyncio.create_task(server.drain(10))
    await settle()
    client.send(produce(), 9)
    await settle()
    assert not draining.done()
    storage.may_answer.set()
    await draining

    assert client.answered() == [first]
    assert client.transport.is_closing()
    assert len(storage.appends) == 1


async def test_drain_ends_at_its_deadline_whatever_is_under_way(
    storage: FakeStorage, caplog: pytest.LogCaptureFixture
) -> None:
    server = kafka_server(storage)
    client = KafkaClient(server)
    client.send(fetch(), 12)
    await settle()

    await server.drain(0)

    assert server.requests_under_way == 0
    assert client.transport.is_aborted
    assert "1 requests were not finished in time" in caplog.text


async def test_drain_waits_until_the_last_answer_has_been_taken(
    storage: FakeStorage,
) -> None:
    storage.logs["orders", 0].append(batch_of(bytes(1 << 20)))
    server = kafka_server(storage)
    client = KafkaClient(server)
    client.transport.client_reads = False
    client.send(fetch(), 12)
    await until(lambda: client.answered() == [1])

    draining = asyncio.create_task(server.drain(10))
    await settle()
    assert not draining.done()
    client.transport.disconnect()
    await draining


async def test_the_largest_unfinished_request_gives_way_when_they_take_too_much() -> None:
    server = kafka_server(
        limits=LIMITS._replace(max_request_bytes=1_000_000), max_request_bytes=1_000_000
    )
    head = (900_000).to_bytes(4, "big")
    small = KafkaClient(server)
    small.send_bytes(head + bytes(100_000))
    large = KafkaClient(server)

    large.send_bytes(head + bytes(899_000))
    another = KafkaClient(server)
    another.send_bytes(head + bytes(889_000))
    last = KafkaClient(server)
    last.send_bytes(head + bytes(200_000))
    await settle()

    assert large.transport.is_aborted
    assert not small.transport.is_closing()
    assert not another.transport.is_closing()
    assert not last.transport.is_closing()


async def test_idle_connections_are_closed_and_busy_ones_are_not(
    storage: FakeStorage,
) -> None:
    server = kafka_server(storage, max_idle=0.02)
    idle, busy = KafkaClient(server), KafkaClient(server)
    busy.send(fetch(), 12)

    sweeping = asyncio.create_task(server.close_idle())
    async with asyncio.timeout(5):
        await idle.transport.lost.wait()
    sweeping.cancel()

    assert not busy.transport.is_closing()


async def test_a_client_that_never_takes_its_answer_is_closed_as_idle(
    storage: FakeStorage,
) -> None:
    storage.logs["orders", 0].append(batch_of(bytes(1 << 20)))
    client = KafkaClient(kafka_server(storage))
    client.transport.client_reads = False
    client.send(fetch(), 12)
    await until(lambda: client.answered() == [1])

    now = asyncio.get_running_loop().time()

    assert client.connection.is_idle_since(now + 1)


async def test_a_free_port_is_taken_and_told() -> None:
    sockets = bind("127.0.0.1", 0)
    server = kafka_server()
    await server.start(sockets)
    port = sockets[0].getsockname()[1]

    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(encode_request(5, ApiVersionsRequest(), 0))
    answer = await reader.readexactly(8)
    await server.drain(1)

    assert answer[4:] == (5).to_bytes(4, "big")
    assert await reader.read() != b""
    writer.close()


def test_all_addresses_of_a_host_get_the_same_port() -> None:
    sockets = bind("localhost", 0)

    ports = {bound.getsockname()[1] for bound in sockets}

    for bound in sockets:
        bound.close()
    assert len(ports) == 1


def test_a_port_that_is_taken_is_an_error() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(OSError, match="in use"):
            bind("127.0.0.1", taken.getsockname()[1])
