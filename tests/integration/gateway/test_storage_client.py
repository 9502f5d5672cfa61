"""The gateway's client of StorageService over real gRPC, with replicas that come and go."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from grpc import StatusCode as Status

from korvet.gateway.handler import PartitionBatch, TopicPartition
from korvet.gateway.service_links import ServiceLinks
from korvet.gateway.storage_client import StorageClient
from korvet.gateway.storage_link import StorageLink
from korvet.kafka.errors import ErrorCode, KafkaError
from korvet.proto.storage.v1 import storage_service_pb2 as pb
from tests.support.eventually import eventually
from tests.support.storage_server import StorageServer

pytestmark = pytest.mark.integration


@asynccontextmanager
async def linked(*servers: StorageServer) -> AsyncIterator[ServiceLinks[StorageLink]]:
    links = ServiceLinks(",".join(server.address for server in servers), StorageLink)
    running = asyncio.create_task(links.run())
    try:
        await eventually(
            lambda: (
                len(links.all) == len(servers)
                and all(link.is_live and link.reads.is_live for link in links.all)
            )
        )
        yield links
    finally:
        running.cancel()
        await asyncio.wait([running])


@asynccontextmanager
async def connected(*servers: StorageServer) -> AsyncIterator[StorageClient]:
    async with linked(*servers) as links:
        yield StorageClient(links, deadline=5)


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[StorageServer]:
    server = StorageServer(tmp_path, "a")
    await server.start()
    yield server
    await server.kill()


@pytest.fixture
async def other(tmp_path: Path) -> AsyncIterator[StorageServer]:
    server = StorageServer(tmp_path, "b")
    await server.start()
    yield server
    await server.kill()


async def append(client: StorageClient, partition: int = 0) -> int:
    batch = PartitionBatch(TopicPartition("orders", b"", partition), b"batch")
    pending = await client.append([batch], acks=pb.ACKS_LEADER, time_limit=1)
    return (await pending)[0].error_code


async def succeeds(client: StorageClient) -> bool:
    return await append(client) == 0


async def fails(client: StorageClient) -> bool:
    return not await succeeds(client)


def read_request(*, max_wait_ms: int = 0) -> pb.ReadRequest:
    partition = pb.PartitionRead(topic=pb.TopicRef(name="orders"))
    return pb.ReadRequest(partitions=[partition], max_wait_ms=max_wait_ms)


async def test_appends_of_one_partition_arrive_in_order(server: StorageServer) -> None:
    async with connected(server) as client:
        pending = [
            await client.append(
                [PartitionBatch(TopicPartition("orders", b"", 0), b"%d" % number)],
                acks=pb.ACKS_LEADER,
                time_limit=1,
            )
            for number in range(500)
        ]
        for each in pending:
            assert (await each)[0].error_code == 0

    batches = [request.partitions[0].batch for request in server.appended]
    assert batches == [b"%d" % number for number in range(500)]


async def test_an_append_under_way_is_unknown_when_storage_dies_and_later_ones_not_written(
    server: StorageServer,
) -> None:
    async with connected(server) as client:
        server.holds = True
        under_way = asyncio.create_task(append(client))
        await eventually(lambda: len(server.appended) == 1)

        await server.kill()

        assert await under_way == ErrorCode.REQUEST_TIMED_OUT
        assert await append(client) == ErrorCode.KAFKA_STORAGE_ERROR
        assert len(server.appended) == 1

        server.holds = False
        await server.start()
        await eventually(lambda: succeeds(client))


@pytest.mark.parametrize(
    "status", [Status.OK, Status.CANCELLED, Status.UNAVAILABLE, Status.INTERNAL]
)
async def test_streams_come_back_however_they_end(
    server: StorageServer, status: Status
) -> None:
    async with connected(server) as client:
        server.ends_streams_with = status
        await eventually(lambda: fails(client))

        server.ends_streams_with = None
        await eventually(lambda: succeeds(client))
        assert (await client.read(read_request()))[0].batches == b"a"


async def test_an_append_that_storage_does_not_answer_is_unknown_after_its_deadline(
    server: StorageServer,
) -> None:
    async with connected(server) as client:
        server.holds = True
        batch = PartitionBatch(TopicPartition("orders", b"", 0), b"batch")

        pending = await client.append([batch], acks=pb.ACKS_LEADER, time_limit=-1.9)

        assert (await pending)[0].error_code == ErrorCode.REQUEST_TIMED_OUT


async def test_a_read_is_repeated_on_another_replica_when_its_own_dies(
    server: StorageServer, other: StorageServer
) -> None:
    async with connected(server, other) as client:
        server.holds = other.holds = True
        reading = asyncio.create_task(client.read(read_request(max_wait_ms=5000)))
        await eventually(lambda: len(server.read) + len(other.read) == 1)
        dies, lives = (server, other) if server.read else (other, server)

        lives.holds = False
        await dies.kill()

        assert (await reading)[0].batches == lives.name.encode()


async def test_a_read_without_any_replica_is_an_error_that_consumers_retry(
    server: StorageServer,
) -> None:
    async with connected(server) as client:
        await server.kill()
        await asyncio.sleep(0.1)

        with pytest.raises(KafkaError) as refused:
            await client.read(read_request())

    assert refused.value.code is ErrorCode.KAFKA_STORAGE_ERROR


async def test_a_cancelled_read_is_cancelled_in_storage(server: StorageServer) -> None:
    async with connected(server) as client:
        server.holds = True
        reading = asyncio.create_task(client.read(read_request(max_wait_ms=5000)))
        await eventually(lambda: len(server.read) == 1)

        reading.cancel()

        await eventually(lambda: server.cancelled == [1])


CALLS: list[tuple[str, Callable[[StorageClient], Awaitable[Any]], ErrorCode]] = [
    (
        "FindOffsets",
        lambda client: client.find_offsets(pb.FindOffsetsRequest()),
        ErrorCode.KAFKA_STORAGE_ERROR,
    ),
    (
        "FindEpochEnds",
        lambda client: client.find_epoch_ends(pb.FindEpochEndsRequest()),
        ErrorCode.KAFKA_STORAGE_ERROR,
    ),
    (
        "DescribeLogs",
        lambda client: client.describe_logs(pb.DescribeLogsRequest()),
        ErrorCode.KAFKA_STORAGE_ERROR,
    ),
    (
        "DescribeProducers",
        lambda client: client.describe_producers(pb.DescribeProducersRequest()),
        ErrorCode.KAFKA_STORAGE_ERROR,
    ),
    (
        "DescribeTopics",
        lambda client: client.describe_topics(pb.DescribeTopicsRequest()),
        ErrorCode.LEADER_NOT_AVAILABLE,
    ),
    (
        "DescribeServer",
        lambda client: client.describe_server(),
        ErrorCode.REQUEST_TIMED_OUT,
    ),
    (
        "AllocateProducerId",
        lambda client: client.allocate_producer_id(),
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ),
    (
        "CreateTopics",
        lambda client: client.create_topics(pb.CreateTopicsRequest()),
        ErrorCode.REQUEST_TIMED_OUT,
    ),
    (
        "DeleteTopics",
        lambda client: client.delete_topics(pb.DeleteTopicsRequest()),
        ErrorCode.REQUEST_TIMED_OUT,
    ),
    (
        "CreatePartitions",
        lambda client: client.create_partitions(pb.CreatePartitionsRequest()),
        ErrorCode.REQUEST_TIMED_OUT,
    ),
    (
        "AlterTopicConfigs",
        lambda client: client.alter_topic_configs(pb.AlterTopicConfigsRequest()),
        ErrorCode.REQUEST_TIMED_OUT,
    ),
    (
        "DeleteRecords",
        lambda client: client.delete_records(pb.DeleteRecordsRequest()),
        ErrorCode.REQUEST_TIMED_OUT,
    ),
    (
        "RegisterGateway",
        lambda client: client.register_gateway(pb.RegisterGatewayRequest()),
        ErrorCode.REQUEST_TIMED_OUT,
    ),
    (
        "UnregisterGateway",
        lambda client: client.unregister_gateway(pb.UnregisterGatewayRequest()),
        ErrorCode.REQUEST_TIMED_OUT,
    ),
]


@pytest.mark.parametrize("status", [Status.UNAVAILABLE, Status.CANCELLED])
@pytest.mark.parametrize(
    ("name", "call", "code"), CALLS, ids=[name for name, _, _ in CALLS]
)
async def test_a_call_that_storage_cannot_answer_is_a_code_that_clients_retry(
    server: StorageServer,
    name: str,
    call: Callable[[StorageClient], Awaitable[Any]],
    code: ErrorCode,
    status: Status,
) -> None:
    async with connected(server) as client:
        await call(client)
        server.fails_with = status
        with pytest.raises(KafkaError) as refused:
            await call(client)

    assert server.unary[0] == name
    assert refused.value.code is code


async def test_what_only_reads_is_asked_of_another_replica(
    server: StorageServer, other: StorageServer
) -> None:
    async with connected(server, other) as client:
        server.fails_with = Status.UNAVAILABLE
        for _ in range(4):
            await client.describe_topics(pb.DescribeTopicsRequest())

    assert len(other.unary) == 4


async def test_what_changes_something_is_never_asked_twice(
    server: StorageServer, other: StorageServer
) -> None:
    server.fails_with = other.fails_with = Status.UNAVAILABLE
    async with connected(server, other) as client:
        with pytest.raises(KafkaError):
            await client.create_topics(pb.CreateTopicsRequest())

    assert len(server.unary) + len(other.unary) == 1


async def test_what_changes_something_waits_for_a_storage_that_is_being_restarted(
    server: StorageServer,
) -> None:
    async with linked(server) as links:
        client = StorageClient(links, deadline=5)
        await client.describe_server()
        await server.kill()
        await eventually(lambda: not links.all[0].is_live and not links.all[0].takes_calls)
        created = asyncio.create_task(client.create_topics(pb.CreateTopicsRequest()))
        await asyncio.sleep(0)

        await server.start()

        await created
    assert server.unary == ["DescribeServer", "CreateTopics"]


async def test_the_cluster_is_followed_until_storage_dies(server: StorageServer) -> None:
    async with connected(server) as client:
        await server.updates.put(pb.ClusterUpdate(snapshot=True, cluster_id="one"))
        updates = client.watch_cluster()
        first = await anext(updates)

        await server.kill()
        with pytest.raises(KafkaError):
            await anext(updates)

    assert first.cluster_id == "one"


async def test_a_replica_that_appears_later_gets_work_and_one_that_leaves_gets_none(
    server: StorageServer, other: StorageServer
) -> None:
    found = {server.address}

    async def resolve(setting: str) -> frozenset[str]:
        return frozenset(found)

    links = ServiceLinks("storage:1", StorageLink, resolve=resolve, look_up_every=0.02)
    running = asyncio.create_task(links.run())
    client = StorageClient(links, deadline=5)
    await eventually(lambda: any(link.is_live for link in links.all))
    for partition in range(20):
        assert await append(client, partition) == 0
    assert other.appended == []

    found.add(other.address)
    await eventually(
        lambda: len(links.all) == 2 and all(link.is_live for link in links.all)
    )
    for partition in range(20):
        assert await append(client, partition) == 0
    assert other.appended != []

    found.remove(server.address)
    await eventually(lambda: len(links.all) == 1)
    before = len(server.appended)
    for partition in range(20):
        assert await append(client, partition) == 0
    assert len(server.appended) == before

    running.cancel()
    await asyncio.wait([running])
