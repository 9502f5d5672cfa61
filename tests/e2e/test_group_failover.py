"""Two coordinators and two gateways that see them in opposite order: a group has one owner,
moves when that one is gone, and no gateway matters to it."""

import time
import uuid
from collections.abc import Iterator

import pytest
from confluent_kafka import Consumer

from korvet.kafka.errors import ErrorCode
from tests.support.eventually import eventually_true
from tests.support.group_members import GroupMembers, stored_group
from tests.support.group_wire import GroupWire
from tests.support.korvet_process import KorvetCluster
from tests.support.member_process import PATIENCE
from tests.support.service_process import ServiceProcess
from tests.support.topic_admin import create_topic
from tests.support.wire_client import WireClient

pytestmark = pytest.mark.e2e

_PARTITIONS = 6


@pytest.fixture(scope="module")
def korvet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KorvetCluster]:
    """One that these tests share; each test leaves everything running."""
    cluster = KorvetCluster(
        tmp_path_factory.mktemp("group-failover"), coordinators=2, gateways=2
    )
    for coordinator in cluster.coordinators:
        coordinator.environ["KORVET_COORDINATOR_LEASE_MS"] = "1000"
    for gateway in cluster.gateways:
        # So long do clients go on asking for a gateway that was killed.
        gateway.environ["KORVET_GATEWAY_BROKER_SESSION_TIMEOUT_MS"] = "1500"
        # So long do they wait for a coordinator that hangs.
        gateway.environ["KORVET_GATEWAY_COORDINATOR_DEADLINE_SECONDS"] = "1"
    name = "KORVET_GATEWAY_COORDINATOR_ADDRESS"
    addresses = cluster.gateways[0].environ[name].split(",")
    cluster.gateways[1].environ[name] = ",".join(reversed(addresses))
    with cluster:
        eventually_true(lambda: all(knows_both(each) for each in cluster.gateways))
        yield cluster
        assert cluster.errors() == []


def knows_both(gateway: ServiceProcess) -> bool:
    with WireClient(gateway.address) as wire:
        return wire.brokers() == [1, 2]


@pytest.fixture
def members(korvet: KorvetCluster, topic: str) -> Iterator[GroupMembers]:
    create_topic(korvet.bootstrap, topic, partitions=_PARTITIONS)
    group = f"group-{uuid.uuid4().hex[:12]}"
    # Nobody is missed in these tests, however long the owner is away.
    with GroupMembers(korvet, group, {topic: _PARTITIONS}, session_timeout=30.0) as members:
        yield members


def owner_of(korvet: KorvetCluster, group: str) -> ServiceProcess:
    address = stored_group(korvet, group).owner.address
    return next(each for each in korvet.coordinators if each.address == address)


def test_a_group_moves_when_its_owner_is_killed(
    korvet: KorvetCluster, members: GroupMembers
) -> None:
    with members.writing():
        for library in ("aiokafka", "confluent", "kafka-python"):
            members.start(library)
        before = members.wait_until_shared()
        members.wait_for_commits()
        owner = owner_of(korvet, members.group)
        owner.kill()
        members.wait_for_commits()
        after = members.wait_until_shared()
        owner.start()
        members.wait_for_commits()

    assert owner_of(korvet, members.group) is not owner
    assert after.owner.epoch > before.owner.epoch
    assert after.group.generation == before.group.generation
    members.wait_until_committed()
    members.check()


def test_an_owner_that_hung_past_its_lease_changes_nothing_and_leaves_nobody_parked(
    korvet: KorvetCluster, members: GroupMembers, topic: str
) -> None:
    members.write()
    with (
        GroupWire(korvet.gateways[0].address, patience=PATIENCE) as leading,
        GroupWire(korvet.gateways[1].address, patience=PATIENCE) as parked,
    ):
        leader = leading.join(members.group, [topic])
        leading.sync(members.group, leader, {leader.member_id: members.places})
        given = parked.join_once(members.group, [topic])
        parked.send_join(members.group, [topic], given.member_id)
        eventually_true(lambda: len(members.stored().group.members) == 2)
        owner = owner_of(korvet, members.group)

        with owner.paused():
            members.start("confluent")
            eventually_true(lambda: owner_of(korvet, members.group) is not owner, PATIENCE)
            moved = members.stored()
        # Without the leader nobody is waited for: who was parked has an answer, be it by
        # the former owner, who sends it away, or by the new one.
        leading.leave_in_time(members.group, leader.member_id)
        parked.receive_join()
        parked.leave_in_time(members.group, given.member_id)

        after = members.wait_until_shared()
        assert after.owner == moved.owner
        members.wait_until_committed()
        members.check()


def test_gateways_that_see_the_coordinators_in_opposite_order_cause_no_rebalance(
    korvet: KorvetCluster, members: GroupMembers, topic: str
) -> None:
    first, second = (gateway.address for gateway in korvet.gateways)
    groups = [f"{members.group}-{number}" for number in range(32)]
    with GroupWire(first) as one, GroupWire(second) as two:
        for group in groups:
            joined = one.join(group, [topic])
            one.sync(group, joined, {joined.member_id: []})
            for wire in (two, one, two):
                assert wire.heartbeat(group, joined) is ErrorCode.NONE
    # Whoever is asked, groups are spread over both.
    owners = {owner_of(korvet, group).address for group in groups}
    assert owners == {each.address for each in korvet.coordinators}

    with members.writing():
        members.start("aiokafka", bootstrap=first)
        members.start("confluent", bootstrap=second)
        before = members.wait_until_shared()
        for _ in range(5):
            members.wait_for_commits()

    after = members.stored()
    assert after.owner == before.owner
    assert after.group.generation == before.group.generation
    members.wait_until_committed()
    members.check()


def test_no_consumer_that_starts_waits_for_a_member_that_never_comes(
    korvet: KorvetCluster, members: GroupMembers, topic: str
) -> None:
    """Clients ask both gateways when they start, and hear one coordinator."""
    members.write()
    starting = [
        Consumer(
            {
                "bootstrap.servers": korvet.bootstrap,
                "group.id": f"{members.group}-{number}",
                "auto.offset.reset": "earliest",
                "session.timeout.ms": 30_000,
            }
        )
        for number in range(30)
    ]
    started = time.monotonic()
    try:
        for consumer in starting:
            consumer.subscribe([topic])
        for consumer in starting:
            assert consumer.poll(PATIENCE) is not None
        took = time.monotonic() - started
    finally:
        for consumer in starting:
            consumer.close()

    assert took < 15


def test_members_go_on_through_the_other_gateway(
    korvet: KorvetCluster, members: GroupMembers
) -> None:
    with GroupWire(korvet.gateways[0].address) as wire:
        theirs = korvet.gateways[wire.coordinator_id(members.group) - 1]
    with members.writing():
        for library in ("aiokafka", "confluent", "kafka-python"):
            members.start(library)
        before = members.wait_until_shared()
        members.wait_for_commits()
        theirs.kill()
        members.wait_for_commits()
        theirs.start()
        members.wait_for_commits()
        after = members.wait_until_shared()

    assert after.group.generation == before.group.generation
    members.wait_until_committed()
    members.check()
