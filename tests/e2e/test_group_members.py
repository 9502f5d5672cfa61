"""Groups of real clients: members come, go, crash and stall, and every record is read.

Sessions are short here, so that a dead member is soon missed.
"""

import uuid
from collections.abc import Iterator
from typing import Final, NamedTuple

import pytest

from tests.support.group_members import GroupMembers
from tests.support.korvet_process import KorvetCluster
from tests.support.layouts import LAYOUTS
from tests.support.redis_server import RedisServer
from tests.support.topic_admin import create_topic

pytestmark = pytest.mark.e2e

_SESSION: Final = 2.0
_MAX_POLL: Final = 2.5


class MemberKind(NamedTuple):
    library: str
    assignor: str


KINDS: Final = [
    MemberKind("aiokafka", "range"),
    MemberKind("aiokafka", "roundrobin"),
    MemberKind("confluent", "range"),
    MemberKind("confluent", "roundrobin"),
    MemberKind("confluent", "cooperative-sticky"),
    MemberKind("kafka-python", "cooperative-sticky"),
]
LIBRARIES: Final = ["aiokafka", "confluent", "kafka-python"]


@pytest.fixture(scope="module")
def korvet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KorvetCluster]:
    folder = tmp_path_factory.mktemp("group-members")
    # Nothing is written to disk: these tests never restart it.
    with (
        RedisServer(folder / "redis") as redis,
        KorvetCluster(
            folder, redis=redis, settings={"group.min.session.timeout.ms": "100"}
        ) as cluster,
    ):
        yield cluster
        assert cluster.errors() == []


@pytest.fixture
def group() -> str:
    """A name that no other test has."""
    return f"group-{uuid.uuid4().hex[:12]}"


@pytest.mark.parametrize("kind", KINDS, ids="-".join)
def test_members_come_go_crash_and_stall_and_every_record_is_read(
    korvet: KorvetCluster, topic: str, group: str, kind: MemberKind
) -> None:
    create_topic(korvet.bootstrap, topic, partitions=6)

    with GroupMembers(
        korvet,
        group,
        {topic: 6},
        assignor=kind.assignor,
        session_timeout=_SESSION,
        max_poll_interval=_MAX_POLL,
    ) as members:
        members.write()
        first = members.start(kind.library)
        members.wait_until_shared()
        others = [members.start(kind.library) for _ in range(3)]
        members.wait_until_shared()
        members.write()

        others.pop().leave()
        members.wait_until_shared()
        members.write()

        others.pop().kill()
        first.stall()
        members.wait_until_shared(among=others)
        members.write()

        first.proceed()
        members.wait_until_shared()
        members.write()
        members.wait_until_committed()
        members.check()


def test_eight_members_of_three_libraries_share_thirty_two_partitions_under_load(
    korvet: KorvetCluster, topic: str, group: str
) -> None:
    create_topic(korvet.bootstrap, topic, partitions=32)

    with GroupMembers(
        korvet,
        group,
        {topic: 32},
        session_timeout=2 * _SESSION,
        max_poll_interval=2 * _MAX_POLL,
    ) as members:
        with members.writing():
            first, second = members.start("confluent"), members.start("aiokafka")
            members.wait_until_shared()
            third, *_ = [members.start(LIBRARIES[each % 3]) for each in range(6)]
            assert len(members.wait_until_shared().group.members) == 8

            first.leave()
            second.kill()
            third.stall()
            rest = [*members.running[1:], members.start("kafka-python")]
            members.wait_until_shared(among=rest)
            third.proceed()
            members.start("confluent")
            assert len(members.wait_until_shared().group.members) == 8
        members.wait_until_committed()
        members.check()


def test_eight_cooperative_members_share_thirty_two_partitions_under_load(
    korvet: KorvetCluster, topic: str, group: str
) -> None:
    create_topic(korvet.bootstrap, topic, partitions=32)

    with GroupMembers(
        korvet,
        group,
        {topic: 32},
        assignor="cooperative-sticky",
        session_timeout=2 * _SESSION,
        max_poll_interval=2 * _MAX_POLL,
    ) as members:
        with members.writing():
            first, second, third, *rest = [members.start("confluent") for _ in range(8)]
            assert len(members.wait_until_shared().group.members) == 8

            first.leave()
            second.kill()
            third.stall()
            members.wait_until_shared(among=rest)
            third.proceed()
            members.start("confluent")
            members.start("confluent")
            assert len(members.wait_until_shared().group.members) == 8
        # Who keeps a partition in a rebalance does not commit again what was refused then.
        members.write()
        members.wait_until_committed()
        members.check()


def test_a_member_that_hung_past_its_session_finds_that_others_have_gone_on(
    korvet: KorvetCluster, topic: str, group: str
) -> None:
    create_topic(korvet.bootstrap, topic, partitions=4)

    with GroupMembers(korvet, group, {topic: 4}, session_timeout=_SESSION) as members:
        with members.writing():
            hanging, other = members.start("confluent"), members.start("aiokafka")
            members.wait_until_shared()
            with hanging.frozen():
                members.wait_until_shared(among=[other])
                members.wait_for_commits()
            members.wait_until_shared()
        members.wait_until_committed()
        members.check()


def test_the_next_member_goes_on_behind_the_last_commit_whatever_its_library(
    korvet: KorvetCluster, group: str
) -> None:
    topics = {f"{layout}-{uuid.uuid4().hex[:8]}": 2 for layout in LAYOUTS}
    for name, layout in zip(topics, LAYOUTS.values(), strict=True):
        create_topic(korvet.bootstrap, name, partitions=2, configs=layout)

    with GroupMembers(korvet, group, topics) as members:
        for number, library in enumerate([*LIBRARIES, "confluent"], start=1):
            members.write(30)
            member = members.start(library)
            members.wait_until_committed()
            member.leave()
            read = [
                entry.value
                for tenure in members.history.tenures(member.name)
                for entry in tenure.entries
            ]
            # Its own part and nothing else, so nothing twice.
            expected = [str(each) for each in range(30 * (number - 1), 30 * number)]
            assert sorted(read) == sorted(expected * len(members.places))
        members.check()


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_static_member_that_restarts_causes_no_rebalance(
    korvet: KorvetCluster, topic: str, group: str, library: str
) -> None:
    create_topic(korvet.bootstrap, topic, partitions=4)

    with GroupMembers(korvet, group, {topic: 4}, session_timeout=20.0) as members:
        members.write()
        members.start(library, instance="one")
        second = members.start(library, instance="two")
        before = members.wait_until_shared()
        owned = second.owned

        second.kill()
        again = members.start(library, instance="two")
        members.write()
        after = members.wait_until_shared()

        assert after.group.generation == before.group.generation
        assert again.owned == owned
        members.wait_until_committed()
        members.check()
