"""The only coordinator is killed, or Redis is away: groups go on, and no commit is lost."""

import uuid
from collections.abc import Iterator

import pytest

from korvet.coordinator.group import State
from korvet.kafka.errors import ErrorCode
from tests.support.eventually import eventually_true
from tests.support.group_members import GroupMembers
from tests.support.group_wire import AWAY, GroupWire
from tests.support.korvet_process import KorvetCluster
from tests.support.member_process import PATIENCE
from tests.support.topic_admin import create_topic

pytestmark = pytest.mark.e2e

_PARTITIONS = 6


@pytest.fixture(scope="module")
def korvet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KorvetCluster]:
    """One that these tests share; each test leaves everything running."""
    cluster = KorvetCluster(tmp_path_factory.mktemp("group-faults"))
    for coordinator in cluster.coordinators:
        coordinator.environ["KORVET_COORDINATOR_LEASE_MS"] = "1000"
    with cluster:
        yield cluster
        assert cluster.errors() == []


@pytest.fixture
def members(korvet: KorvetCluster, topic: str) -> Iterator[GroupMembers]:
    create_topic(korvet.bootstrap, topic, partitions=_PARTITIONS)
    group = f"group-{uuid.uuid4().hex[:12]}"
    # Nobody is missed in these tests, however long the coordinator takes to come back.
    with GroupMembers(korvet, group, {topic: _PARTITIONS}, session_timeout=30.0) as members:
        yield members


@pytest.fixture
def wire(korvet: KorvetCluster) -> Iterator[GroupWire]:
    with GroupWire(korvet.gateways[0].address) as client:
        yield client


def test_members_go_on_in_their_generation_after_the_coordinator_was_killed(
    korvet: KorvetCluster, members: GroupMembers
) -> None:
    with members.writing():
        for library in ("aiokafka", "confluent", "kafka-python"):
            members.start(library)
        before = members.wait_until_shared()
        for _ in range(2):
            members.wait_for_commits()
            korvet.coordinators[0].restart()
            members.wait_for_commits()
        after = members.wait_until_shared()

    assert after.group.generation == before.group.generation
    assert set(after.group.members) == set(before.group.members)
    members.wait_until_committed()
    members.check()


def test_a_join_that_was_parked_when_the_coordinator_was_killed_comes_to_its_end(
    korvet: KorvetCluster, members: GroupMembers, wire: GroupWire, topic: str
) -> None:
    members.write()
    # A leader that does not come again holds the others in their joins.
    leader = wire.join(members.group, [topic])
    wire.sync(members.group, leader, {leader.member_id: members.places})
    members.start("confluent")
    preparing = State.PREPARING_REBALANCE
    eventually_true(lambda: wire.members_in(members.group, preparing) == 2, PATIENCE)
    members.start("aiokafka")

    korvet.coordinators[0].restart()
    assert wire.leave_in_time(members.group, leader.member_id) is ErrorCode.NONE

    after = members.wait_until_shared()
    assert len(after.group.members) == 2
    # One rebalance in which both come again, and one more where the second comes late.
    assert after.group.generation - leader.generation_id in (1, 2)
    members.wait_until_committed()
    members.check()


def test_a_sync_that_was_parked_when_the_coordinator_was_killed_comes_to_its_end(
    korvet: KorvetCluster, members: GroupMembers, wire: GroupWire, topic: str
) -> None:
    members.write()
    leader = wire.join(members.group, [topic])
    wire.sync(members.group, leader, {leader.member_id: members.places})
    members.start("confluent")
    preparing = State.PREPARING_REBALANCE
    eventually_true(lambda: wire.members_in(members.group, preparing) == 2, PATIENCE)
    # It has the others wait for what it assigns.
    leader = wire.join(members.group, [topic], leader.member_id)
    assert wire.members_in(members.group, State.COMPLETING_REBALANCE) == 2
    others = {each.member_id for each in leader.members} - {leader.member_id}

    korvet.coordinators[0].restart()

    def is_synced() -> bool:
        assigned = dict.fromkeys(others, members.places)
        answer = ErrorCode(wire.sync(members.group, leader, assigned).error_code)
        assert answer in (ErrorCode.NONE, *AWAY), answer
        return answer is ErrorCode.NONE

    eventually_true(is_synced, PATIENCE)
    eventually_true(lambda: members.running[0].owned == members.places, PATIENCE)
    assert members.stored().group.generation == leader.generation_id
    members.wait_until_committed()
    members.check()


def test_a_group_goes_on_when_redis_comes_back(
    korvet: KorvetCluster, members: GroupMembers
) -> None:
    with members.writing():
        for library in ("aiokafka", "confluent", "kafka-python"):
            members.start(library)
        before = members.wait_until_shared()
        members.wait_for_commits()
        korvet.redis.stop()
        korvet.redis.start()
        members.wait_for_commits()
        after = members.wait_until_shared()

    assert after.group.generation == before.group.generation
    members.wait_until_committed()
    members.check()
