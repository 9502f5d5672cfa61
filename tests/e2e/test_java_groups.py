"""Consumer groups as the Java client and Kafka's own `kafka-consumer-groups` see them.

The tool ends with 0 also when the server refuses; what it prints tells the two apart.
"""

import uuid
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from typing import Final, Protocol

import pytest

from tests.support.eventually import eventually_true
from tests.support.java_client import JavaMissingError, JavaPrograms
from tests.support.java_group import ConsumerGroupsTool, JavaMember
from tests.support.korvet_process import KorvetCluster
from tests.support.topic_admin import create_topic
from tests.support.wire_client import WireClient, batch_of

pytestmark = pytest.mark.e2e

_PARTITIONS: Final = 4
_ALL: Final = set(range(_PARTITIONS))
# Offsets that count records: the tool takes a lag from the difference of two.
_DENSE: Final = {"offset.encoding": "dense"}
_COOPERATIVE: Final = {
    "partition.assignment.strategy": (
        "org.apache.kafka.clients.consumer.CooperativeStickyAssignor"
    )
}


class Join(Protocol):
    def __call__(self, configs: Mapping[str, str] | None = None) -> JavaMember: ...


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> JavaPrograms:
    try:
        return JavaPrograms(tmp_path_factory.mktemp("java"))
    except JavaMissingError as missing:
        pytest.skip(str(missing))


@pytest.fixture
def tool(programs: JavaPrograms, korvet: KorvetCluster) -> ConsumerGroupsTool:
    return ConsumerGroupsTool(programs, korvet.bootstrap)


@pytest.fixture
def group() -> str:
    return f"group-{uuid.uuid4().hex[:12]}"


@pytest.fixture
def log(korvet: KorvetCluster, topic: str) -> str:
    """A topic of several partitions with ten records in each."""
    create_topic(korvet.bootstrap, topic, partitions=_PARTITIONS, configs=_DENSE)
    _write(korvet, topic, range(10))
    return topic


@pytest.fixture
def join(
    programs: JavaPrograms, korvet: KorvetCluster, group: str, log: str
) -> Iterator[Join]:
    """Starts members of the group, subscribed to the topic; ends what is left of them."""
    with ExitStack() as stack:

        def start(configs: Mapping[str, str] | None = None) -> JavaMember:
            member = JavaMember(programs, korvet.bootstrap, group, log, configs)
            return stack.enter_context(member)

        yield start


@pytest.mark.parametrize("how", ["commit", "commit-async"])
def test_java_resumes_where_it_committed(
    korvet: KorvetCluster, join: Join, log: str, how: str
) -> None:
    first = join()
    first.wait_for(lambda member: len(member.values) == 10 * _PARTITIONS)
    committed = first.commit(how)
    first.close()
    written = _write(korvet, log, range(10, 13))

    second = join()
    second.wait_for(lambda member: len(member.values) >= len(written))

    assert committed == dict.fromkeys(_ALL, 10)
    assert sorted(second.values) == sorted(written)


def test_java_members_share_the_partitions_and_the_last_one_has_all(
    korvet: KorvetCluster, join: Join, log: str
) -> None:
    first = join()
    first.wait_for(lambda member: member.assignment == _ALL)
    second = join()
    _wait_until_shared(first, second)
    shared = {*first.assignment}, {*second.assignment}
    written = _write(korvet, log, range(10, 20))
    eventually_true(lambda: {*first.values, *second.values} >= set(written), 30)
    first.close()
    second.wait_for(lambda member: member.assignment == _ALL)

    assert [len(one) for one in shared] == [2, 2]
    # Eagerly: all is given up before anything is given out.
    assert set(map(int, first.told("revoked")[0].words[1:])) == _ALL


def test_cooperative_java_members_keep_what_does_not_move(
    korvet: KorvetCluster, join: Join, log: str
) -> None:
    first = join(_COOPERATIVE)
    first.wait_for(lambda member: member.assignment == _ALL)
    second = join(_COOPERATIVE)
    _wait_until_shared(first, second)
    written = _write(korvet, log, range(10, 20))
    eventually_true(lambda: {*first.values, *second.values} >= set(written), 30)

    revoked = [set(map(int, event.words[1:])) for event in first.told("revoked")]

    assert [len(one) for one in revoked if one] == [2]
    assert not first.told("lost")
    # What it kept, it read on: nothing came twice.
    assert len(first.values) == len(set(first.values))


def test_a_killed_java_member_loses_its_partitions_to_the_others(
    korvet: KorvetCluster, join: Join, log: str
) -> None:
    brief = {"session.timeout.ms": "6000", "heartbeat.interval.ms": "1000"}
    first, second = join(brief), join(brief)
    _wait_until_shared(first, second)

    first.kill()
    second.wait_for(lambda member: member.assignment == _ALL)

    written = _write(korvet, log, range(10, 20))
    second.wait_for(lambda member: set(member.values) >= set(written))


def test_a_static_java_member_comes_back_without_a_rebalance(
    join: Join, tool: ConsumerGroupsTool, group: str
) -> None:
    first, other = join({"group.instance.id": "one"}), join({"group.instance.id": "two"})
    _wait_until_shared(first, other)
    had, generation, events = first.assignment, other.generation, len(_rebalances(other))
    first.close()

    back = join({"group.instance.id": "one"})
    back.wait_for(lambda member: len(member.assignment) == len(had))

    rows = tool.run("--describe", "--group", group, "--members", "--verbose").rows()
    assert back.assignment == had
    assert back.generation == other.generation == generation
    assert len(_rebalances(other)) == events
    assert {row["GROUP-INSTANCE-ID"] for row in rows} == {"one", "two"}


def test_the_tool_shows_a_group_its_members_and_its_lag(
    korvet: KorvetCluster, join: Join, tool: ConsumerGroupsTool, group: str, log: str
) -> None:
    member = join({"client.id": "watched"})
    member.wait_for(lambda member: len(member.values) == 10 * _PARTITIONS)
    member.commit()
    _write(korvet, log, range(10, 13))

    listed = tool.run("--list")
    states = tool.run("--list", "--state", "stable")
    offsets = tool.run("--describe", "--group", group)
    members = tool.run("--describe", "--group", group, "--members", "--verbose")
    state = tool.run("--describe", "--group", group, "--state")

    assert {run.code for run in (listed, states, offsets, members, state)} == {0}
    assert group in listed.text.split()
    assert {"GROUP": group, "STATE": "Stable"} in states.rows()
    assert {
        (row["PARTITION"], row["CURRENT-OFFSET"], row["LOG-END-OFFSET"], row["LAG"])
        for row in offsets.rows()
    } == {(str(partition), "10", "13", "3") for partition in _ALL}
    assert {(row["HOST"], row["CLIENT-ID"]) for row in offsets.rows()} == {
        ("/127.0.0.1", "watched")
    }
    (shown,) = members.rows()
    assert shown["#PARTITIONS"] == str(_PARTITIONS)
    assert shown["CURRENT-ASSIGNMENT"] == f"{log}:0,1,2,3"
    (described,) = state.rows()
    assert (described["STATE"], described["#MEMBERS"]) == ("Stable", "1")
    assert described["ASSIGNMENT-STRATEGY"] == "range"


def test_the_tool_changes_nothing_of_a_group_in_use(
    join: Join, tool: ConsumerGroupsTool, group: str, log: str
) -> None:
    member = join()
    member.wait_for(lambda member: len(member.values) == 10 * _PARTITIONS)
    member.commit()

    reset = tool.run(*_reset(group, log, "--to-earliest"))
    deleted = tool.run("--delete", "--group", group)
    offsets = tool.run("--delete-offsets", "--group", group, "--topic", log)

    assert "the current state is Stable" in reset.text
    assert "GroupNotEmptyException" in deleted.text
    assert offsets.text.count("GroupSubscribedToTopicException") == _PARTITIONS
    assert _offsets(tool, group) == dict.fromkeys(_ALL, 10)


def test_the_tool_resets_the_offsets_of_an_empty_group(
    join: Join, tool: ConsumerGroupsTool, group: str, log: str
) -> None:
    _leave_committed(join())

    planned = tool.run("--reset-offsets", "--group", group, "--topic", log, "--to-earliest")
    after_the_plan = _offsets(tool, group)
    earliest = tool.run(*_reset(group, log, "--to-earliest"))
    after_earliest = _offsets(tool, group)
    shifted = tool.run(*_reset(group, f"{log}:1", "--shift-by", "4"))
    after_the_shift = _offsets(tool, group)
    again = join()
    again.wait_for(lambda member: len(member.values) >= 10 * _PARTITIONS - 4)

    assert {run.code for run in (planned, earliest, shifted)} == {0}
    assert len(planned.rows()) == len(earliest.rows()) == _PARTITIONS
    assert after_the_plan == dict.fromkeys(_ALL, 10)
    assert after_earliest == dict.fromkeys(_ALL, 0)
    assert after_the_shift == {**after_earliest, 1: 4}
    assert len(again.values) == 10 * _PARTITIONS - 4


def test_the_tool_deletes_offsets_and_then_the_group(
    join: Join, tool: ConsumerGroupsTool, group: str, log: str
) -> None:
    _leave_committed(join())

    offsets = tool.run("--delete-offsets", "--group", group, "--topic", f"{log}:0")
    left = _offsets(tool, group)
    deleted = tool.run("--delete", "--group", group)
    again = tool.run("--delete", "--group", group)
    described = tool.run("--describe", "--group", group)

    assert offsets.code == deleted.code == 0
    assert "Successful" in offsets.text
    assert left == dict.fromkeys(_ALL - {0}, 10)
    assert f"('{group}') was successful" in deleted.text
    assert "GroupIdNotFoundException" in again.text
    assert f"Group {group} not found" in described.text
    assert group not in tool.run("--list").text.split()


def _write(korvet: KorvetCluster, topic: str, numbers: range) -> list[str]:
    """To each partition a record for each number; return the values."""
    written = []
    with WireClient(korvet.gateways[0].address) as wire:
        for partition in _ALL:
            values = [f"{partition}-{number}" for number in numbers]
            wire.produce(
                topic, batch_of([value.encode() for value in values]), partition=partition
            )
            written += values
    return written


def _wait_until_shared(first: JavaMember, second: JavaMember) -> None:
    def is_shared() -> bool:
        one, other = first.assignment, second.assignment
        return bool(one and other) and one | other == _ALL and not one & other

    eventually_true(is_shared, 60)


def _rebalances(member: JavaMember) -> list[str]:
    kinds = ("assigned", "revoked", "lost")
    return [kind for kind, _ in member.events if kind in kinds]


def _leave_committed(member: JavaMember) -> None:
    member.wait_for(lambda one: len(one.values) == 10 * _PARTITIONS)
    member.commit()
    member.close()


def _reset(group: str, topic: str, *where: str) -> list[str]:
    return ["--reset-offsets", "--group", group, "--topic", topic, *where, "--execute"]


def _offsets(tool: ConsumerGroupsTool, group: str) -> dict[int, int]:
    rows = tool.run("--describe", "--group", group).rows()
    return {int(row["PARTITION"]): int(row["CURRENT-OFFSET"]) for row in rows}
