"""Fetches of topics with group.delivery=redis say for whom they are."""

import pytest

from korvet.gateway.cluster import Cluster
from korvet.gateway.handlers.fetch import HANDLER
from korvet.kafka.errors import ErrorCode
from korvet.kafka.messages.fetch import FetchRequest
from korvet.proto.coordinator.v1 import coordinator_service_pb2 as group_pb
from korvet.proto.storage.v1 import storage_service_pb2 as pb
from tests.support.fake_coordinator import FakeCoordinator
from tests.support.fake_storage import FakeStorage
from tests.support.gateway_context import THIS_BROKER
from tests.support.gateway_requests import fetch
from tests.support.handler_calls import call_groups


@pytest.fixture
def storage() -> FakeStorage:
    storage = FakeStorage()
    storage.add_topic("queue", 2, delivers_through_redis=True)
    storage.add_topic("plain", 2)
    return storage


@pytest.fixture
def coordinator() -> FakeCoordinator:
    coordinator = FakeCoordinator()
    assigned = [
        group_pb.FindReadersResponse.Partitions(topic=topic, partitions=[0])
        for topic in ("queue", "plain")
    ]
    coordinator.readers = [
        group_pb.FindReadersResponse.Reader(
            group_id="group", member_id="member", assigned=assigned
        )
    ]
    return coordinator


async def read_for(
    storage: FakeStorage,
    coordinator: FakeCoordinator,
    request: FetchRequest,
    version: int = 12,
) -> pb.RedisConsumer | None:
    """The Redis consumer that storage was asked to deliver to."""
    cluster = Cluster(THIS_BROKER, storage)
    cluster.apply_topics(storage.topics.values())
    request.max_wait_ms = 0
    await call_groups(
        HANDLER, request, version, coordinator, storage=storage, cluster=cluster
    )
    (read,) = storage.requests
    assert isinstance(read, pb.ReadRequest)
    (partition,) = read.partitions
    return partition.deliver_to if partition.HasField("deliver_to") else None


async def test_what_a_member_is_assigned_is_delivered_to_it(
    storage: FakeStorage, coordinator: FakeCoordinator
) -> None:
    found = await read_for(storage, coordinator, fetch("queue"))

    assert found == pb.RedisConsumer(group="group", consumer="member")


async def test_topics_may_be_named_by_their_ids(
    storage: FakeStorage, coordinator: FakeCoordinator
) -> None:
    request = fetch("", topic_id=storage.topics["queue"].id)

    found = await read_for(storage, coordinator, request, 13)

    assert found == pb.RedisConsumer(group="group", consumer="member")


async def test_what_nobody_is_assigned_is_a_plain_read(
    storage: FakeStorage, coordinator: FakeCoordinator
) -> None:
    assert await read_for(storage, coordinator, fetch("queue", partition=1)) is None


async def test_other_topics_are_read_without_asking_for_readers(
    storage: FakeStorage, coordinator: FakeCoordinator
) -> None:
    assert await read_for(storage, coordinator, fetch("plain")) is None
    assert coordinator.requests == []


async def test_without_a_coordinator_it_is_a_plain_read(
    storage: FakeStorage, coordinator: FakeCoordinator
) -> None:
    coordinator.is_away_with = ErrorCode.COORDINATOR_NOT_AVAILABLE

    assert await read_for(storage, coordinator, fetch("queue")) is None
