import pytest

from korvet.gateway.group_readers import ConnectionReaders, only_readers
from korvet.kafka.errors import ErrorCode
from korvet.proto.coordinator.v1 import coordinator_service_pb2 as group_pb
from korvet.proto.storage.v1 import storage_service_pb2 as pb
from tests.support.fake_coordinator import FakeCoordinator


def reader(
    group: str, member: str, topic: str, *partitions: int
) -> group_pb.FindReadersResponse.Reader:
    assigned = group_pb.FindReadersResponse.Partitions(topic=topic, partitions=partitions)
    return group_pb.FindReadersResponse.Reader(
        group_id=group, member_id=member, assigned=[assigned]
    )


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def coordinator() -> FakeCoordinator:
    coordinator = FakeCoordinator()
    coordinator.readers = [reader("group", "member", "orders", 0, 1)]
    return coordinator


@pytest.fixture
def readers(coordinator: FakeCoordinator, clock: Clock) -> ConnectionReaders:
    return ConnectionReaders(
        coordinator, client_host="192.0.2.1", principal="User:me", clock=clock
    )


ORDERS = ("orders", 0)
MEMBER = pb.RedisConsumer(group="group", consumer="member")


def test_a_partition_that_one_member_has_is_read_for_it() -> None:
    found = only_readers(
        [reader("group", "member", "orders", 0, 1), reader("other", "else", "bills", 0)]
    )

    assert found == {
        ("orders", 0): MEMBER,
        ("orders", 1): MEMBER,
        ("bills", 0): pb.RedisConsumer(group="other", consumer="else"),
    }


def test_a_partition_that_several_have_is_read_for_none() -> None:
    found = only_readers(
        [
            reader("group", "member", "orders", 0, 1),
            reader("other", "member", "orders", 1),
            reader("third", "member", "orders", 1),
        ]
    )

    assert found == {("orders", 0): MEMBER}


async def test_the_client_is_looked_for_as_it_is(
    coordinator: FakeCoordinator, readers: ConnectionReaders
) -> None:
    found = await readers.find("client", [ORDERS])

    assert found == {("orders", 0): MEMBER, ("orders", 1): MEMBER}
    assert coordinator.requests == [
        group_pb.FindReadersRequest(
            client_id="client", client_host="192.0.2.1", principal="User:me"
        )
    ]


async def test_an_answer_is_believed_for_a_moment(
    coordinator: FakeCoordinator, readers: ConnectionReaders, clock: Clock
) -> None:
    await readers.find("client", [ORDERS])
    clock.now += 0.9
    await readers.find("client", [ORDERS])
    assert len(coordinator.requests) == 1

    coordinator.readers = []
    clock.now += 0.2
    assert await readers.find("client", [ORDERS]) == {}


async def test_a_partition_that_a_member_has_just_got_is_looked_for_at_once(
    coordinator: FakeCoordinator, readers: ConnectionReaders
) -> None:
    await readers.find("client", [ORDERS])
    coordinator.readers = [reader("group", "member", "orders", 0, 1, 2)]

    assert ("orders", 2) in await readers.find("client", [ORDERS, ("orders", 2)])
    # What is assigned is known, fetched or not.
    await readers.find("client", [("orders", 1)])
    assert len(coordinator.requests) == 2


async def test_what_nobody_is_assigned_is_not_looked_for_by_every_fetch(
    coordinator: FakeCoordinator, readers: ConnectionReaders, clock: Clock
) -> None:
    for _ in range(10):
        await readers.find("client", [("bills", 0)])
        await readers.find("client", [("bills", 1)])
    assert len(coordinator.requests) == 2

    clock.now += 1.1
    await readers.find("client", [("bills", 0)])
    await readers.find("client", [("bills", 0)])
    assert len(coordinator.requests) == 3


async def test_another_client_on_the_connection_is_looked_for_by_itself(
    coordinator: FakeCoordinator, readers: ConnectionReaders
) -> None:
    await readers.find("client", [ORDERS])
    await readers.find("other", [ORDERS])

    assert len(coordinator.requests) == 2


async def test_without_a_coordinator_nobody_is_found_and_asking_is_not_repeated_at_once(
    coordinator: FakeCoordinator, readers: ConnectionReaders
) -> None:
    coordinator.is_away_with = ErrorCode.COORDINATOR_NOT_AVAILABLE

    assert await readers.find("client", [ORDERS]) == {}
    assert await readers.find("client", [ORDERS]) == {}
    assert len(coordinator.requests) == 1
