"""The gateway's client of CoordinatorService over real gRPC: owners that move and die."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from grpc import StatusCode as Status

from korvet.gateway.coordinator_client import CoordinatorClient
from korvet.gateway.coordinator_link import CoordinatorLink
from korvet.gateway.service_links import ServiceLinks
from korvet.kafka.errors import ErrorCode, KafkaError
from korvet.proto.coordinator.v1 import coordinator_service_pb2 as pb
from tests.support.coordinator_server import CoordinatorServer
from tests.support.eventually import eventually

pytestmark = pytest.mark.integration


@asynccontextmanager
async def connected(
    *servers: CoordinatorServer, deadline: float = 5
) -> AsyncIterator[CoordinatorClient]:
    links = ServiceLinks(",".join(server.address for server in servers), CoordinatorLink)
    running = asyncio.create_task(links.run())
    try:
        await eventually(
            lambda: (
                len(links.all) == len(servers) and all(link.is_live for link in links.all)
            )
        )
        yield CoordinatorClient(links, deadline=deadline)
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


async def beat(client: CoordinatorClient, group_id: str = "group") -> int:
    """The code that a member's heartbeat gets, from a coordinator or without one."""
    try:
        return (await client.heartbeat(pb.HeartbeatRequest(group_id=group_id))).error_code
    except KafkaError as error:
        return error.code


async def beats(client: CoordinatorClient) -> bool:
    return await beat(client) == ErrorCode.NONE


OVER_THE_STREAM: list[tuple[str, Callable[[CoordinatorClient], Awaitable[Any]]]] = [
    ("join", lambda client: client.join_group(pb.JoinGroupRequest(group_id="group"))),
    ("sync", lambda client: client.sync_group(pb.SyncGroupRequest(group_id="group"))),
    ("heartbeat", lambda client: client.heartbeat(pb.HeartbeatRequest(group_id="group"))),
    ("leave", lambda client: client.leave_group(pb.LeaveGroupRequest(group_id="group"))),
    (
        "commit",
        lambda client: client.commit_offsets(pb.CommitOffsetsRequest(group_id="group")),
    ),
]
CALLS_OF_OWNERS: list[tuple[str, Callable[[CoordinatorClient], Awaitable[Any]]]] = [
    (
        "CommitTransactionOffsets",
        lambda client: client.commit_transaction_offsets(
            pb.CommitTransactionOffsetsRequest(
                transactional_id="id", commit=pb.CommitOffsetsRequest(group_id="group")
            )
        ),
    ),
    (
        "DeleteOffsets",
        lambda client: client.delete_offsets(pb.DeleteOffsetsRequest(group_id="group")),
    ),
    (
        "DeleteGroup",
        lambda client: client.delete_group(pb.DeleteGroupRequest(group_id="group")),
    ),
]
CALLS_OF_ANYONE: list[tuple[str, Callable[[CoordinatorClient], Awaitable[Any]]]] = [
    ("ListGroups", lambda client: client.list_groups(pb.ListGroupsRequest())),
    ("DescribeGroups", lambda client: client.describe_groups(pb.DescribeGroupsRequest())),
    ("DescribeServer", lambda client: client.describe_server()),
]


# ---------------------------------------------------------------- finding the owner


@pytest.mark.parametrize(
    ("kind", "call"), OVER_THE_STREAM, ids=[kind for kind, _ in OVER_THE_STREAM]
)
async def test_a_call_goes_on_to_the_owner_that_a_coordinator_names(
    server: CoordinatorServer,
    other: CoordinatorServer,
    kind: str,
    call: Callable[[CoordinatorClient], Awaitable[Any]],
) -> None:
    server.names(other)
    async with connected(server) as client:
        first = await call(client)
        second = await call(client)

    assert first.error_code == second.error_code == ErrorCode.NONE
    assert server.calls == [kind]
    assert other.calls == [kind, kind]


@pytest.mark.parametrize(
    ("name", "call"), CALLS_OF_OWNERS, ids=[name for name, _ in CALLS_OF_OWNERS]
)
async def test_calls_beside_the_stream_find_the_owner_too(
    server: CoordinatorServer,
    other: CoordinatorServer,
    name: str,
    call: Callable[[CoordinatorClient], Awaitable[Any]],
) -> None:
    server.names(other)
    async with connected(server) as client:
        await call(client)
        await call(client)

    assert server.unary == [name]
    assert other.unary == [name, name]


async def test_a_group_that_moves_is_followed(
    server: CoordinatorServer, other: CoordinatorServer
) -> None:
    async with connected(server, other) as client:
        await beat(client)
        owner, next_owner = (server, other) if server.calls else (other, server)

        owner.names(next_owner)
        codes = [await beat(client) for _ in range(3)]

    assert codes == [ErrorCode.NONE] * 3
    assert len(owner.calls) == 2
    assert len(next_owner.calls) == 3


async def test_groups_are_spread_over_coordinators(
    server: CoordinatorServer, other: CoordinatorServer
) -> None:
    async with connected(server, other) as client:
        for number in range(40):
            await beat(client, f"group-{number}")

    assert server.calls
    assert other.calls


async def test_coordinators_that_name_each_other_are_not_asked_for_ever(
    server: CoordinatorServer, other: CoordinatorServer
) -> None:
    server.names(other)
    other.names(server)
    async with connected(server, other, deadline=0.3) as client:
        code = await beat(client)

    assert code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert len(server.calls) + len(other.calls) < 20


async def test_a_group_without_an_owner_is_a_code_that_clients_retry(
    server: CoordinatorServer,
) -> None:
    server.names(None)
    async with connected(server, deadline=0.3) as client:
        assert await beat(client) == ErrorCode.COORDINATOR_NOT_AVAILABLE


async def test_an_owner_that_cannot_be_reached_is_a_code_that_clients_retry(
    server: CoordinatorServer, tmp_path: Path
) -> None:
    server.names(CoordinatorServer(tmp_path, "dead"))
    async with connected(server, deadline=0.3) as client:
        assert await beat(client) == ErrorCode.COORDINATOR_NOT_AVAILABLE

        server.owner = None
        assert await beat(client) == ErrorCode.NONE


async def test_a_call_waits_while_the_lease_of_a_dead_owner_lasts(
    server: CoordinatorServer, tmp_path: Path
) -> None:
    server.names(CoordinatorServer(tmp_path, "dead"))
    async with connected(server) as client:
        beating = asyncio.create_task(beat(client))
        await eventually(lambda: len(server.calls) >= 2)
        assert not beating.done()

        server.owner = None

        assert await beating == ErrorCode.NONE


async def test_a_call_waits_for_a_coordinator_that_is_being_restarted(
    server: CoordinatorServer,
) -> None:
    async with connected(server) as client:
        await server.kill()
        await eventually(lambda: not any(link.is_live for link in client._links.all))
        beating = asyncio.create_task(beat(client))

        await server.start()

        assert await beating == ErrorCode.NONE


# ---------------------------------------------------------------- faults


@pytest.mark.parametrize(
    ("kind", "call"), OVER_THE_STREAM, ids=[kind for kind, _ in OVER_THE_STREAM]
)
async def test_a_call_under_way_when_its_coordinator_dies_is_for_the_client_to_repeat(
    server: CoordinatorServer,
    other: CoordinatorServer,
    kind: str,
    call: Callable[[CoordinatorClient], Awaitable[Any]],
) -> None:
    server.holds = other.holds = True
    async with connected(server, other) as client:
        under_way = asyncio.ensure_future(call(client))
        await eventually(lambda: len(server.calls) + len(other.calls) == 1)
        dies, lives = (server, other) if server.calls else (other, server)

        await dies.kill()
        with pytest.raises(KafkaError) as refused:
            await under_way

        assert lives.calls == []
        lives.holds = False
        await eventually(lambda: beats(client))

    assert refused.value.code is (
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
        if kind == "commit"
        else ErrorCode.COORDINATOR_NOT_AVAILABLE
    )


async def test_a_call_that_was_surely_not_carried_out_goes_to_another_coordinator(
    server: CoordinatorServer, other: CoordinatorServer
) -> None:
    async with connected(server, other) as client:
        await beat(client)
        owner, next_owner = (server, other) if server.calls else (other, server)

        owner.ends_streams_with = Status.OK
        code = await beat(client)

    assert code == ErrorCode.NONE
    assert len(next_owner.calls) == 1


async def test_a_coordinator_that_comes_back_is_used_again(
    server: CoordinatorServer,
) -> None:
    async with connected(server, deadline=0.3) as client:
        await server.kill()
        await eventually(lambda: _is_unavailable(client))

        await server.start()
        await eventually(lambda: beats(client))


async def test_a_coordinator_that_cannot_answer_is_a_code_that_clients_retry(
    server: CoordinatorServer,
) -> None:
    server.cannot_answer = True
    async with connected(server) as client:
        assert await beat(client) == ErrorCode.COORDINATOR_NOT_AVAILABLE
        with pytest.raises(KafkaError) as refused:
            await client.fetch_offsets(pb.FetchOffsetsRequest(group_id="group"))

    # Java's consumers of before Kafka 4 would give up with the other code.
    assert refused.value.code is ErrorCode.NOT_COORDINATOR


async def test_a_heartbeat_that_is_not_answered_ends_with_its_deadline(
    server: CoordinatorServer,
) -> None:
    server.holds = True
    async with connected(server, deadline=0.1) as client:
        assert await beat(client) == ErrorCode.COORDINATOR_NOT_AVAILABLE


async def test_joins_and_syncs_outlive_the_deadline_of_other_calls(
    server: CoordinatorServer,
) -> None:
    server.holds = True
    async with connected(server, deadline=0.1) as client:
        parked = [
            asyncio.ensure_future(client.join_group(pb.JoinGroupRequest(group_id="g"))),
            asyncio.ensure_future(client.sync_group(pb.SyncGroupRequest(group_id="g"))),
        ]
        await beat(client)

        assert not any(call.done() for call in parked)
        for call in parked:
            call.cancel()
        await eventually(lambda: len(server.cancelled) == len(parked))


async def test_a_gateway_that_stops_lets_nobody_wait_for_a_rebalance(
    server: CoordinatorServer,
) -> None:
    server.holds = True
    async with connected(server) as client:
        parked = [
            asyncio.create_task(client.join_group(pb.JoinGroupRequest(group_id="group"))),
            asyncio.create_task(client.sync_group(pb.SyncGroupRequest(group_id="group"))),
        ]
        await eventually(lambda: len(server.calls) == len(parked))

        client.stop_waiting()

        for call in parked:
            with pytest.raises(KafkaError) as refused:
                await call
            assert refused.value.code is ErrorCode.COORDINATOR_NOT_AVAILABLE
        await eventually(lambda: len(server.cancelled) == len(parked))


async def test_offsets_are_fetched_from_another_coordinator_when_one_dies(
    server: CoordinatorServer, other: CoordinatorServer
) -> None:
    server.holds = other.holds = True
    async with connected(server, other) as client:
        fetching = asyncio.create_task(
            client.fetch_offsets(pb.FetchOffsetsRequest(group_id="group"))
        )
        await eventually(lambda: len(server.calls) + len(other.calls) == 1)
        dies, lives = (server, other) if server.calls else (other, server)

        lives.holds = False
        await dies.kill()

        assert (await fetching).error_code == ErrorCode.NONE


@pytest.mark.parametrize(
    ("name", "call"), CALLS_OF_ANYONE, ids=[name for name, _ in CALLS_OF_ANYONE]
)
async def test_what_anyone_can_answer_is_asked_of_another_coordinator(
    server: CoordinatorServer,
    other: CoordinatorServer,
    name: str,
    call: Callable[[CoordinatorClient], Awaitable[Any]],
) -> None:
    server.fails_with = Status.UNAVAILABLE
    async with connected(server, other) as client:
        for _ in range(4):
            await call(client)

    assert other.unary == [name] * 4


@pytest.mark.parametrize(
    ("name", "call"),
    [*CALLS_OF_OWNERS, *CALLS_OF_ANYONE],
    ids=[name for name, _ in [*CALLS_OF_OWNERS, *CALLS_OF_ANYONE]],
)
async def test_a_call_beside_the_stream_that_fails_is_a_code_that_clients_retry(
    server: CoordinatorServer,
    name: str,
    call: Callable[[CoordinatorClient], Awaitable[Any]],
) -> None:
    server.fails_with = Status.INTERNAL
    async with connected(server) as client:
        with pytest.raises(KafkaError) as refused:
            await call(client)

    assert server.unary == [name]
    assert refused.value.code in (
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.REQUEST_TIMED_OUT,
    )


async def test_readers_are_looked_for_everywhere_and_found_once(
    server: CoordinatorServer, other: CoordinatorServer
) -> None:
    here = pb.FindReadersResponse.Reader(group_id="here", member_id="one")
    there = pb.FindReadersResponse.Reader(group_id="there", member_id="two")
    server.readers, other.readers = [here], [there, here]
    async with connected(server, other) as client:
        found = await client.find_readers(pb.FindReadersRequest(client_id="client"))

    assert sorted(reader.group_id for reader in found) == ["here", "there"]


async def test_without_an_address_there_are_no_groups_and_no_settings() -> None:
    links = ServiceLinks("", CoordinatorLink)
    client = CoordinatorClient(links, deadline=5)

    assert await client.describe_server() == ()
    assert await beat(client) == ErrorCode.COORDINATOR_NOT_AVAILABLE


async def _is_unavailable(client: CoordinatorClient) -> bool:
    return await beat(client) == ErrorCode.COORDINATOR_NOT_AVAILABLE
