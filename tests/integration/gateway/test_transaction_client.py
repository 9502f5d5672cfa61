"""The gateway's client for transactions over real gRPC: owners that move and die."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from grpc import StatusCode as Status

from korvet.gateway.coordinator_client import CoordinatorClient
from korvet.gateway.coordinator_link import CoordinatorLink
from korvet.gateway.service_links import ServiceLinks
from korvet.gateway.transaction_client import TransactionClient
from korvet.kafka.errors import ErrorCode, KafkaError
from korvet.proto.coordinator.v1 import coordinator_service_pb2 as pb
from tests.support.coordinator_server import CoordinatorServer
from tests.support.eventually import eventually

pytestmark = pytest.mark.integration

Calls: TypeAlias = list[tuple[str, Callable[[TransactionClient], Awaitable[Any]]]]

CALLS_OF_OWNERS: Calls = [
    (
        "InitProducer",
        lambda client: client.init_producer(pb.InitProducerRequest(transactional_id="id")),
    ),
    (
        "AddPartitions",
        lambda client: client.add_partitions(
            pb.AddPartitionsRequest(transactional_id="id")
        ),
    ),
    (
        "AddGroup",
        lambda client: client.add_group(pb.AddGroupRequest(transactional_id="id")),
    ),
    (
        "EndTransaction",
        lambda client: client.end_transaction(
            pb.EndTransactionRequest(transactional_id="id")
        ),
    ),
]
CALLS_OF_ANYONE: Calls = [
    (
        "ListTransactions",
        lambda client: client.list_transactions(pb.ListTransactionsRequest()),
    ),
    (
        "DescribeTransactions",
        lambda client: client.describe_transactions(pb.DescribeTransactionsRequest()),
    ),
]
CALLS = [*CALLS_OF_OWNERS, *CALLS_OF_ANYONE]


@asynccontextmanager
async def linked(
    *servers: CoordinatorServer,
) -> AsyncIterator[ServiceLinks[CoordinatorLink]]:
    links = ServiceLinks(",".join(server.address for server in servers), CoordinatorLink)
    running = asyncio.create_task(links.run())
    try:
        await eventually(
            lambda: (
                len(links.all) == len(servers) and all(link.is_live for link in links.all)
            )
        )
        yield links
    finally:
        running.cancel()
        await asyncio.wait([running])


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[CoordinatorServer]:
    server = CoordinatorServer(tmp_path, "a")
    await server.start()
    yield server
    await server.kill()


@pytest.fixture
async def other(tmp_path: Path) -> AsyncIterator[CoordinatorServer]:
    server = CoordinatorServer(tmp_path, "b")
    await server.start()
    yield server
    await server.kill()


@pytest.mark.parametrize(
    ("name", "call"), CALLS_OF_OWNERS, ids=[name for name, _ in CALLS_OF_OWNERS]
)
async def test_a_call_goes_on_to_the_owner_that_a_coordinator_names(
    server: CoordinatorServer,
    other: CoordinatorServer,
    name: str,
    call: Callable[[TransactionClient], Awaitable[Any]],
) -> None:
    server.names(other)
    async with linked(server) as links:
        client = TransactionClient(links, deadline=5)
        first = await call(client)
        second = await call(client)

    assert first.error_code == second.error_code == ErrorCode.NONE
    assert server.unary == [name]
    assert other.unary == [name, name]


async def test_a_group_of_the_same_name_may_have_another_owner(
    server: CoordinatorServer, other: CoordinatorServer
) -> None:
    async with linked(server, other) as links:
        transactions = TransactionClient(links, deadline=5)
        groups = CoordinatorClient(links, deadline=5)
        await groups.delete_group(pb.DeleteGroupRequest(group_id="id"))
        owner, next_owner = (server, other) if server.unary else (other, server)
        owner.names(next_owner)
        await transactions.add_group(pb.AddGroupRequest(transactional_id="id"))
        owner.owner = None
        await groups.delete_group(pb.DeleteGroupRequest(group_id="id"))

    # The group's owner is still known, though the transactional id's is another.
    assert owner.unary == ["DeleteGroup", "AddGroup", "DeleteGroup"]
    assert next_owner.unary == ["AddGroup"]


async def test_an_id_without_an_owner_is_waited_for(server: CoordinatorServer) -> None:
    server.names(None)
    async with linked(server) as links:
        client = TransactionClient(links, deadline=30)
        ending = asyncio.create_task(
            client.end_transaction(pb.EndTransactionRequest(transactional_id="id"))
        )
        await eventually(lambda: len(server.unary) > 1)
        server.owner = None
        ended = await ending

    assert ended.error_code == ErrorCode.NONE


@pytest.mark.parametrize(("name", "call"), CALLS, ids=[name for name, _ in CALLS])
async def test_a_call_that_failed_is_not_repeated_and_has_a_code_that_is_retried(
    server: CoordinatorServer,
    name: str,
    call: Callable[[TransactionClient], Awaitable[Any]],
) -> None:
    server.fails_with = Status.INTERNAL
    async with linked(server) as links:
        with pytest.raises(KafkaError) as refused:
            await call(TransactionClient(links, deadline=5))

    assert server.unary == [name]
    assert refused.value.code is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS


@pytest.mark.parametrize(("name", "call"), CALLS, ids=[name for name, _ in CALLS])
async def test_without_an_address_there_are_no_transactions(
    name: str, call: Callable[[TransactionClient], Awaitable[Any]]
) -> None:
    client = TransactionClient(ServiceLinks("", CoordinatorLink), deadline=5)

    with pytest.raises(KafkaError) as refused:
        await call(client)

    assert refused.value.code is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS


async def test_after_a_coordinator_that_did_not_answer_another_one_is_asked(
    server: CoordinatorServer, other: CoordinatorServer
) -> None:
    """One that hangs keeps its connections; who has taken over is found all the same."""
    request = pb.AddGroupRequest(transactional_id="id")
    async with linked(server, other) as links:
        client = TransactionClient(links, deadline=5)
        await client.add_group(request)
        hanging, awake = (server, other) if server.unary else (other, server)
        hanging.fails_with = Status.DEADLINE_EXCEEDED
        with pytest.raises(KafkaError):
            await client.add_group(request)
        await client.add_group(request)
        # And from then on.
        await client.add_group(request)

    assert len(hanging.unary) == 2
    assert len(awake.unary) == 2


async def test_where_there_is_no_other_who_did_not_answer_is_asked_again(
    server: CoordinatorServer,
) -> None:
    request = pb.AddGroupRequest(transactional_id="id")
    async with linked(server) as links:
        client = TransactionClient(links, deadline=5)
        server.fails_with = Status.DEADLINE_EXCEEDED
        with pytest.raises(KafkaError):
            await client.add_group(request)
        server.fails_with = None
        await client.add_group(request)

    assert len(server.unary) == 2
