"""`python -m korvet.storage` as a process: its calls, its health, its start and its end."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import grpc
import pytest

from korvet.cli.plan import free_port
from korvet.kafka.errors import ErrorCode
from korvet.proto.storage.v1 import storage_service_pb2 as pb
from korvet.proto.storage.v1.storage_service_pb2_grpc import StorageServiceStub
from korvet.runtime.grpc_channel import open_channel
from korvet.runtime.health import is_serving as asks_health
from tests.support.eventually import eventually
from tests.support.korvet_process import is_serving
from tests.support.redis_server import RedisServer
from tests.support.service_process import ServiceProcess

if TYPE_CHECKING:
    # The generated code's types tell blocking stubs from others; the code itself does not.
    from korvet.proto.storage.v1.storage_service_pb2_grpc import StorageServiceAsyncStub

pytestmark = pytest.mark.integration


def storage(folder: Path, redis: RedisServer, **settings: str) -> ServiceProcess:
    folder.mkdir(exist_ok=True)
    address = f"127.0.0.1:{free_port()}"
    environ = {
        "KORVET_STORAGE_REDIS_URL": redis.url,
        "KORVET_STORAGE_LISTEN_ADDRESS": address,
        **{f"KORVET_STORAGE_{name.upper()}": value for name, value in settings.items()},
    }
    return ServiceProcess(
        "storage",
        "korvet.storage",
        address=address,
        environ=environ,
        folder=folder,
        is_ready=is_serving,
    )


@contextmanager
def ended(process: ServiceProcess) -> Iterator[ServiceProcess]:
    try:
        yield process
    finally:
        process.kill()


@asynccontextmanager
async def calling(process: ServiceProcess) -> AsyncIterator["StorageServiceAsyncStub"]:
    async with open_channel(process.address) as channel:
        yield StorageServiceStub(channel)


async def serving(process: ServiceProcess) -> bool:
    async with open_channel(process.address) as channel:
        return await asks_health(channel)


async def test_topics_are_managed_over_grpc(
    redis_server: RedisServer, tmp_path: Path
) -> None:
    defaults = {"num_partitions": "3", "topic_defaults": '{"log.retention.hours": "1"}'}
    with ended(storage(tmp_path, redis_server, **defaults)) as process:
        process.start()
        async with calling(process) as stub:
            created = await stub.CreateTopics(
                pb.CreateTopicsRequest(
                    topics=[
                        pb.NewTopic(name="orders", configs={"segment.ms": "5"}),
                        pb.NewTopic(name="payments", partitions=1),
                        pb.NewTopic(name="__x"),
                        pb.NewTopic(name="twice"),
                        pb.NewTopic(name="twice"),
                    ]
                ),
                timeout=10,
            )
            described = await stub.DescribeTopics(
                pb.DescribeTopicsRequest(
                    topics=[
                        pb.TopicRef(id=created.topics[1].topic.id),
                        pb.TopicRef(name="none"),
                        pb.TopicRef(name="a b"),
                        pb.TopicRef(id=b"x" * 16),
                        pb.TopicRef(name="orders"),
                    ]
                ),
                timeout=10,
            )
            all_of_them = await stub.DescribeTopics(
                pb.DescribeTopicsRequest(all=True), timeout=10
            )
            grown = await stub.CreatePartitions(
                pb.CreatePartitionsRequest(
                    topics=[
                        pb.CreatePartitionsRequest.Growth(topic="payments", count=2),
                        pb.CreatePartitionsRequest.Growth(topic="orders", count=2),
                    ]
                ),
                timeout=10,
            )
            altered = await stub.AlterTopicConfigs(
                pb.AlterTopicConfigsRequest(
                    topics=[
                        pb.TopicConfigChange(
                            topic="orders",
                            changes=[
                                pb.ConfigChange(
                                    name="retention.ms",
                                    operation=pb.CONFIG_OPERATION_SET,
                                    value="7",
                                )
                            ],
                        ),
                        pb.TopicConfigChange(topic="none"),
                    ]
                ),
                timeout=10,
            )
            deleted = await stub.DeleteTopics(
                pb.DeleteTopicsRequest(
                    topics=[
                        pb.TopicRef(name="orders"),
                        pb.TopicRef(id=created.topics[1].topic.id),
                        pb.TopicRef(name="none"),
                        pb.TopicRef(id=b"x" * 16),
                    ]
                ),
                timeout=10,
            )
            left = await stub.DescribeTopics(pb.DescribeTopicsRequest(all=True), timeout=10)

    assert codes(created.topics) == [
        ErrorCode.NONE,
        ErrorCode.NONE,
        ErrorCode.INVALID_TOPIC_EXCEPTION,
        ErrorCode.INVALID_REQUEST,
        ErrorCode.INVALID_REQUEST,
    ]
    orders = created.topics[0].topic
    configs = {config.name: config for config in orders.configs}
    assert list(orders.leader_epochs) == [0, 0, 0]
    assert configs["segment.ms"].value == "5"
    assert configs["segment.ms"].source == pb.CONFIG_SOURCE_TOPIC
    assert configs["retention.ms"].value == "3600000"
    assert configs["retention.ms"].source == pb.CONFIG_SOURCE_SERVER
    assert configs["retention.ms"].default_value == "604800000"
    assert configs["retention.ms"].type == pb.CONFIG_TYPE_LONG
    assert configs["storage.format"].read_only
    assert configs["flush.ms"].source == pb.CONFIG_SOURCE_DEFAULT
    assert codes(described.topics) == [
        ErrorCode.NONE,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.INVALID_TOPIC_EXCEPTION,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.NONE,
    ]
    assert described.topics[0].topic.name == "payments"
    assert [result.name for result in all_of_them.topics] == ["orders", "payments"]
    assert codes(grown.topics) == [ErrorCode.NONE, ErrorCode.INVALID_PARTITIONS]
    assert codes(altered.topics) == [
        ErrorCode.NONE,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ]
    assert [result.error_code for result in deleted.topics] == [0, 0, 3, 100]
    assert deleted.topics[1].name == "payments"
    assert deleted.topics[0].id == orders.id
    assert not left.topics


def codes(results: object) -> list[ErrorCode]:
    return [ErrorCode(result.error_code) for result in results]  # type: ignore[attr-defined]


async def test_too_much_in_one_request_is_refused(
    redis_server: RedisServer, tmp_path: Path
) -> None:
    with ended(storage(tmp_path, redis_server)) as process:
        process.start()
        async with calling(process) as stub:
            many = await stub.CreateTopics(
                pb.CreateTopicsRequest(
                    topics=[pb.NewTopic(name=f"t{n}", partitions=6000) for n in range(2)]
                ),
                timeout=10,
            )
            with pytest.raises(grpc.aio.AioRpcError) as refused:
                await stub.DescribeTopics(
                    pb.DescribeTopicsRequest(topics=[pb.TopicRef(name="x")] * 10_001),
                    timeout=10,
                )

    assert codes(many.topics) == [ErrorCode.POLICY_VIOLATION] * 2
    assert refused.value.code() is grpc.StatusCode.INVALID_ARGUMENT


async def test_the_cluster_is_watched_and_gateways_register_over_grpc(
    redis_server: RedisServer, tmp_path: Path
) -> None:
    with ended(storage(tmp_path, redis_server)) as process:
        process.start()
        async with calling(process) as stub:
            watch = stub.WatchCluster(pb.WatchClusterRequest())
            first = await watch.read()
            gateway = pb.Gateway(node_id=4, host="four", port=9092)
            registered = await stub.RegisterGateway(
                pb.RegisterGatewayRequest(gateway=gateway, incarnation="x", ttl_ms=5000),
                timeout=10,
            )
            elsewhere = pb.Gateway(node_id=4, host="elsewhere", port=9092)
            duplicate = await stub.RegisterGateway(
                pb.RegisterGatewayRequest(gateway=elsewhere, incarnation="y", ttl_ms=5000),
                timeout=10,
            )
            second = await watch.read()
            await stub.UnregisterGateway(
                pb.UnregisterGatewayRequest(node_id=4, incarnation="x"), timeout=10
            )
            third = await watch.read()
            server = await stub.DescribeServer(pb.DescribeServerRequest(), timeout=10)
            ids = [
                (
                    await stub.AllocateProducerId(
                        pb.AllocateProducerIdRequest(), timeout=10
                    )
                ).producer_id
                for _ in range(3)
            ]
            # A stop does not wait for those who watch.
            watch_ended = asyncio.create_task(watch.read())
            started = asyncio.get_running_loop().time()
            status = await asyncio.to_thread(process.stop)
            took = asyncio.get_running_loop().time() - started
            assert await watch_ended is grpc.aio.EOF

    assert isinstance(first, pb.ClusterUpdate)
    assert isinstance(second, pb.ClusterUpdate)
    assert isinstance(third, pb.ClusterUpdate)
    assert first.snapshot
    assert not first.gateways
    assert list(registered.gateways) == list(second.gateways) == [gateway]
    assert duplicate.error_code == ErrorCode.DUPLICATE_BROKER_REGISTRATION
    assert list(duplicate.gateways) == [gateway]
    assert not third.gateways
    assert server.cluster_id == first.cluster_id != ""
    assert {"num.partitions", "log.retention.ms"} <= {c.name for c in server.settings}
    assert ids == sorted(set(ids))
    assert status == 0
    assert took < 3


async def test_a_stop_does_not_wait_for_those_who_tail(
    redis_server: RedisServer, tmp_path: Path
) -> None:
    with ended(storage(tmp_path, redis_server)) as process:
        process.start()
        async with calling(process) as stub:
            await stub.CreateTopics(
                pb.CreateTopicsRequest(topics=[pb.NewTopic(name="orders")]), timeout=10
            )
            tail = stub.Tail(
                pb.TailRequest(topic=pb.TopicRef(name="orders"), timestamp_ms=-2)
            )
            append = pb.PartitionAppend(topic=pb.TopicRef(name="orders"))
            append.records.records.add(value=b"one")
            await stub.Append(pb.AppendRequest(partitions=[append]), timeout=10)
            first = await tail.read()
            tail_ended = asyncio.create_task(tail.read())
            started = asyncio.get_running_loop().time()
            status = await asyncio.to_thread(process.stop)
            took = asyncio.get_running_loop().time() - started

            # In good order: the caller knows where to go on.
            assert await tail_ended is grpc.aio.EOF

    assert isinstance(first, pb.TailResponse)
    assert [record.value for record in first.records] == [b"one"]
    assert status == 0
    assert took < 3


async def test_it_waits_for_redis_and_goes_on_after_it_was_away(tmp_path: Path) -> None:
    redis = RedisServer(tmp_path / "redis", options={"appendonly": "yes"})
    with ended(storage(tmp_path / "storage", redis)) as process:
        process.start(wait=False)
        try:
            await eventually(lambda: "waiting for Redis at 127.0.0.1" in process.log())
            assert not await serving(process)
            # It does not speak of work that it cannot know of yet.
            assert "deleted topics" not in process.log()
            async with calling(process) as stub:
                with pytest.raises(grpc.aio.AioRpcError) as refused:
                    await create(stub, "early")
                assert refused.value.code() is grpc.StatusCode.UNAVAILABLE

                redis.start()
                await eventually(lambda: serving(process))
                assert await create(stub, "orders") is ErrorCode.NONE

                redis.stop()
                await eventually(lambda: not_serving(process))
                with pytest.raises(grpc.aio.AioRpcError) as refused:
                    await create(stub, "payments")
                assert refused.value.code() is grpc.StatusCode.UNAVAILABLE

                redis.start()
                await eventually(lambda: serving(process))
                assert await create(stub, "orders") is ErrorCode.TOPIC_ALREADY_EXISTS
                assert await create(stub, "payments") is ErrorCode.NONE
            assert process.stop() == 0
        finally:
            redis.kill()


async def create(stub: "StorageServiceAsyncStub", name: str) -> ErrorCode:
    response = await stub.CreateTopics(
        pb.CreateTopicsRequest(topics=[pb.NewTopic(name=name)]), timeout=10
    )
    return ErrorCode(response.topics[0].error_code)


async def not_serving(process: ServiceProcess) -> bool:
    return not await serving(process)


async def test_it_ends_with_the_reason_where_redis_is_unsuitable(
    redis_server: RedisServer, tmp_path: Path
) -> None:
    with redis_server.client() as client:
        client.set("korvet:layout", "99")
    with ended(storage(tmp_path, redis_server)) as process:
        with pytest.raises(RuntimeError, match="exited with 1"):
            process.start()

        assert "korvet:layout in Redis is '99'" in process.log()
        assert "Traceback" not in process.log()


async def test_a_port_that_is_taken_is_named(
    redis_server: RedisServer, tmp_path: Path
) -> None:
    with ended(storage(tmp_path, redis_server)) as process:
        process.environ["KORVET_STORAGE_LISTEN_ADDRESS"] = f"127.0.0.1:{redis_server.port}"
        with pytest.raises(RuntimeError, match="exited with 1"):
            process.start()

        assert f"cannot listen on 127.0.0.1:{redis_server.port}" in process.log()
        assert "Traceback" not in process.log()
