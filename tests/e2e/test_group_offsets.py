"""Committed offsets as clients commit and find them, and as they are in Redis."""

import uuid
from collections.abc import Iterator, Mapping

import pytest

from korvet.kafka.errors import ErrorCode
from tests.support.eventually import eventually_true
from tests.support.group_wire import Committed, GroupWire
from tests.support.korvet_process import KorvetCluster
from tests.support.topic_admin import create_topic, delete_topic
from tests.support.wire_client import EARLIEST, batch_of

pytestmark = pytest.mark.e2e

_NONE = Committed(-1, -1, "")


@pytest.fixture
def group() -> str:
    """A name that no other test has."""
    return f"group-{uuid.uuid4().hex[:12]}"


@pytest.fixture
def wire(korvet: KorvetCluster) -> Iterator[GroupWire]:
    with GroupWire(korvet.gateways[0].address) as client:
        yield client


def write(wire: GroupWire, topic: str, count: int) -> int:
    """Append records to partition 0; return the first one's offset."""
    answer = wire.produce(topic, batch_of([b"%d" % each for each in range(count)]))
    assert answer.error is ErrorCode.NONE
    return answer.base_offset


def redis_groups(korvet: KorvetCluster, topic: str) -> dict[str, dict[str, object]]:
    """What XINFO GROUPS shows for partition 0."""
    with korvet.redis.client() as client:
        found = client.xinfo_groups(f"korvet:stream:{topic}:0")
    return {each["name"].decode(): each for each in found}


def test_a_commit_is_found_with_its_metadata_and_leader_epoch(
    wire: GroupWire, log: str, group: str
) -> None:
    first = write(wire, log, 5)

    answer = wire.commit(group, (log, 0), first + 3, leader_epoch=0, metadata="half way")

    assert answer is ErrorCode.NONE
    assert wire.committed(group, (log, 0)) == Committed(first + 3, 0, "half way")
    assert wire.all_committed(group) == {(log, 0): Committed(first + 3, 0, "half way")}


def test_a_group_without_a_commit_has_no_offset(
    wire: GroupWire, log: str, group: str
) -> None:
    assert wire.committed(group, (log, 0)) == _NONE
    assert wire.all_committed(group) == {}


def test_a_commit_for_a_topic_or_partition_that_is_not_there_is_refused(
    wire: GroupWire, korvet: KorvetCluster, topic: str, group: str
) -> None:
    create_topic(korvet.bootstrap, topic)

    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert wire.commit(group, (f"{topic}-not", 0), 1) is unknown
    assert wire.commit(group, (topic, 1), 1) is unknown
    assert wire.all_committed(group) == {}


def test_strangers_and_former_generations_cannot_commit(
    wire: GroupWire, korvet: KorvetCluster, topic: str, group: str
) -> None:
    create_topic(korvet.bootstrap, topic)
    joined = wire.join(group, [topic])
    wire.sync(group, joined, {joined.member_id: [(topic, 0)]})
    again = wire.join(group, [topic], joined.member_id)
    wire.sync(group, again, {again.member_id: [(topic, 0)]})
    stranger = wire.join_once(group, [topic])

    assert wire.commit(group, (topic, 0), 7, joined=again) is ErrorCode.NONE
    stale = wire.commit(group, (topic, 0), 8, joined=joined)
    assert stale is ErrorCode.ILLEGAL_GENERATION
    stranger.generation_id = again.generation_id
    unknown = wire.commit(group, (topic, 0), 9, joined=stranger)
    assert unknown is ErrorCode.UNKNOWN_MEMBER_ID
    from_outside = wire.commit(group, (topic, 0), 10)
    assert from_outside is ErrorCode.UNKNOWN_MEMBER_ID
    assert wire.committed(group, (topic, 0)).offset == 7


def test_a_topic_that_is_made_again_has_no_commits(
    wire: GroupWire, korvet: KorvetCluster, topic: str, group: str
) -> None:
    create_topic(korvet.bootstrap, topic)
    assert wire.commit(group, (topic, 0), 5) is ErrorCode.NONE

    delete_topic(korvet.bootstrap, topic)
    eventually_true(lambda: wire.create_topic(topic) is ErrorCode.NONE)

    assert wire.committed(group, (topic, 0)) == _NONE
    assert wire.commit(group, (topic, 0), 2) is ErrorCode.NONE
    assert wire.committed(group, (topic, 0)).offset == 2


def test_commits_are_deleted_with_their_topic(
    wire: GroupWire, korvet: KorvetCluster, topic: str, group: str
) -> None:
    create_topic(korvet.bootstrap, topic)
    assert wire.commit(group, (topic, 0), 5) is ErrorCode.NONE
    key = f"korvet:commit:korvet:stream:{topic}:0:{group}"

    with korvet.redis.client() as client:
        assert client.get(key) == b"5"
        delete_topic(korvet.bootstrap, topic)
        eventually_true(lambda: not client.exists(key))
    assert wire.all_committed(group) == {}


def test_deleting_a_group_takes_its_offsets_and_its_redis_groups_with_it(
    wire: GroupWire, korvet: KorvetCluster, topic: str, group: str
) -> None:
    create_topic(korvet.bootstrap, topic)
    first = write(wire, topic, 5)
    assert wire.commit(group, (topic, 0), first + 1) is ErrorCode.NONE
    eventually_true(lambda: group in redis_groups(korvet, topic))

    assert wire.delete_group(group) is ErrorCode.NONE

    assert group not in redis_groups(korvet, topic)
    assert wire.all_committed(group) == {}
    with korvet.redis.client() as client:
        assert client.keys(f"*{group}*") == []
    assert wire.delete_group(group) is ErrorCode.GROUP_ID_NOT_FOUND


@pytest.mark.parametrize("encoding", ["time", "dense"])
def test_xinfo_groups_shows_what_was_committed_and_what_is_left(
    wire: GroupWire, korvet: KorvetCluster, topic: str, group: str, encoding: str
) -> None:
    configs: Mapping[str, str] = {"offset.encoding": encoding}
    create_topic(korvet.bootstrap, topic, configs=configs)
    first = write(wire, topic, 10)
    assert wire.offset_at(topic, EARLIEST) == first

    for read in (4, 10, 2):
        assert wire.commit(group, (topic, 0), first + read) is ErrorCode.NONE
        with korvet.redis.client() as client:
            entries = client.xrange(f"korvet:stream:{topic}:0")
        last_read = entries[read - 1][0]

        def is_shown(last_read: object = last_read, left: int = 10 - read) -> bool:
            shown = redis_groups(korvet, topic).get(group, {})
            # Redis tells the lag from 7.0 on.
            lag = shown.get("lag", left)
            return shown.get("last-delivered-id") == last_read and lag == left

        eventually_true(is_shown)
