"""Consumer groups through Python's admin clients: what they show, change and refuse."""

import uuid
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

import pytest
from confluent_kafka import (
    Consumer,
    ConsumerGroupState,
    ConsumerGroupTopicPartitions,
    KafkaError,
    KafkaException,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient
from kafka import KafkaConsumer
from kafka import TopicPartition as PythonPartition
from kafka.admin import KafkaAdminClient, MemberToRemove
from kafka.structs import OffsetAndMetadata

from korvet.kafka.errors import ErrorCode
from tests.support.client_contract import PATIENCE
from tests.support.eventually import eventually_true
from tests.support.group_wire import GroupWire
from tests.support.korvet_process import KorvetCluster
from tests.support.topic_admin import create_topic

pytestmark = pytest.mark.e2e


@pytest.fixture
def group() -> str:
    """A name that no other test has."""
    return f"group-{uuid.uuid4().hex[:12]}"


@pytest.fixture
def wire(korvet: KorvetCluster) -> Iterator[GroupWire]:
    with GroupWire(korvet.gateways[0].address) as client:
        yield client


@pytest.fixture
def admin(korvet: KorvetCluster) -> AdminClient:
    return AdminClient({"bootstrap.servers": korvet.bootstrap})


@pytest.fixture
def python_admin(korvet: KorvetCluster) -> Iterator[Any]:
    with closing(KafkaAdminClient(bootstrap_servers=korvet.bootstrap)) as client:
        yield client


@contextmanager
def running_member(korvet: KorvetCluster, group: str, topic: str) -> Iterator[Consumer]:
    consumer = Consumer(
        {
            "bootstrap.servers": korvet.bootstrap,
            "group.id": group,
            "client.id": "a-reader",
            "group.instance.id": "reader-1",
        }
    )
    with closing(consumer):
        consumer.subscribe([topic])

        def is_assigned() -> bool:
            consumer.poll(0.05)
            return bool(consumer.assignment())

        eventually_true(is_assigned, within=PATIENCE)
        yield consumer


def refusal(error: KafkaException) -> int:
    code: int = error.args[0].code()
    return code


# ------------------------------------------------------------ confluent-kafka


def test_confluent_lists_groups_by_state(
    admin: AdminClient, korvet: KorvetCluster, wire: GroupWire, topic: str, group: str
) -> None:
    create_topic(korvet.bootstrap, topic)
    empty = f"{group}-empty"
    assert wire.commit(empty, (topic, 0), 1) is ErrorCode.NONE

    with running_member(korvet, group, topic):
        found = {each.group_id: each for each in list_groups(admin)}
        stable = {each.group_id for each in list_groups(admin, ConsumerGroupState.STABLE)}

    assert found[group].state is ConsumerGroupState.STABLE
    assert not found[group].is_simple_consumer_group
    assert found[empty].state is ConsumerGroupState.EMPTY
    assert found[empty].is_simple_consumer_group
    assert group in stable
    assert empty not in stable


def list_groups(admin: AdminClient, *states: ConsumerGroupState) -> list[Any]:
    chosen = {"states": set(states)} if states else {}
    result = admin.list_consumer_groups(**chosen).result(PATIENCE)
    assert result.errors == []
    return list(result.valid)


def test_confluent_describes_members_and_what_they_own(
    admin: AdminClient, korvet: KorvetCluster, topic: str, group: str
) -> None:
    create_topic(korvet.bootstrap, topic, partitions=3)

    with running_member(korvet, group, topic):
        found = admin.describe_consumer_groups([group])[group].result(PATIENCE)

    assert found.state is ConsumerGroupState.STABLE
    assert found.partition_assignor == "range"
    (member,) = found.members
    assert member.client_id == "a-reader"
    assert member.group_instance_id == "reader-1"
    assert "127.0.0.1" in member.host
    assigned = {(each.topic, each.partition) for each in member.assignment.topic_partitions}
    assert assigned == {(topic, number) for number in range(3)}


def test_confluent_describes_an_unknown_group_as_dead(
    admin: AdminClient, group: str
) -> None:
    found = admin.describe_consumer_groups([group])[group].result(PATIENCE)

    assert found.state is ConsumerGroupState.DEAD
    assert found.members == []


def test_confluent_alters_and_lists_offsets_of_an_empty_group(
    admin: AdminClient, korvet: KorvetCluster, topic: str, group: str
) -> None:
    create_topic(korvet.bootstrap, topic, partitions=2)
    wanted = [TopicPartition(topic, 0, 11), TopicPartition(topic, 1, 12)]

    alter = admin.alter_consumer_group_offsets
    altered = alter([ConsumerGroupTopicPartitions(group, wanted)])[group].result(PATIENCE)
    offsets = admin.list_consumer_group_offsets
    listed = offsets([ConsumerGroupTopicPartitions(group)])[group].result(PATIENCE)

    assert all(each.error is None for each in altered.topic_partitions)
    found = {(each.partition, each.offset) for each in listed.topic_partitions}
    assert found == {(0, 11), (1, 12)}


def test_confluent_cannot_alter_or_delete_a_group_that_is_in_use(
    admin: AdminClient, korvet: KorvetCluster, topic: str, group: str
) -> None:
    create_topic(korvet.bootstrap, topic)
    wanted = [ConsumerGroupTopicPartitions(group, [TopicPartition(topic, 0, 11)])]

    with running_member(korvet, group, topic):
        answer = admin.alter_consumer_group_offsets(wanted)[group].result(PATIENCE)
        with pytest.raises(KafkaException) as undeletable:
            admin.delete_consumer_groups([group])[group].result(PATIENCE)

    (altered,) = answer.topic_partitions
    assert altered.error.code() == KafkaError.UNKNOWN_MEMBER_ID
    assert refusal(undeletable.value) == KafkaError.NON_EMPTY_GROUP


def test_confluent_deletes_an_empty_group_and_no_other(
    admin: AdminClient, wire: GroupWire, korvet: KorvetCluster, topic: str, group: str
) -> None:
    create_topic(korvet.bootstrap, topic)
    assert wire.commit(group, (topic, 0), 3) is ErrorCode.NONE

    answers = admin.delete_consumer_groups([group, f"{group}-not"])

    assert answers[group].result(PATIENCE) is None
    with pytest.raises(KafkaException) as unknown:
        answers[f"{group}-not"].result(PATIENCE)
    assert refusal(unknown.value) == KafkaError.GROUP_ID_NOT_FOUND
    assert group not in {each.group_id for each in list_groups(admin)}


# ------------------------------------------------------------ kafka-python


def test_kafka_python_lists_and_describes_groups(
    python_admin: Any, korvet: KorvetCluster, topic: str, group: str
) -> None:
    create_topic(korvet.bootstrap, topic, partitions=2)

    with running_member(korvet, group, topic):
        listed = {each["group_id"]: each for each in python_admin.list_groups()}
        described = python_admin.describe_groups([group])[group]

    assert listed[group]["group_state"] == "Stable"
    assert listed[group]["protocol_type"] == "consumer"
    assert described["group_state"] == "Stable"
    (member,) = described["members"]
    assert member["client_id"] == "a-reader"
    assert member["group_instance_id"] == "reader-1"


def test_kafka_python_alters_lists_and_deletes_offsets(
    python_admin: Any, korvet: KorvetCluster, topic: str, group: str
) -> None:
    create_topic(korvet.bootstrap, topic, partitions=2)
    one, two = PythonPartition(topic, 0), PythonPartition(topic, 1)

    python_admin.alter_group_offsets(
        group,
        {one: OffsetAndMetadata(5, "five", -1), two: OffsetAndMetadata(6, "six", -1)},
    )
    listed = python_admin.list_group_offsets(group)[group]
    python_admin.delete_group_offsets(group, [one])
    left = python_admin.list_group_offsets(group)[group]

    assert {key: (each.offset, each.metadata) for key, each in listed.items()} == {
        one: (5, "five"),
        two: (6, "six"),
    }
    assert {key: each.offset for key, each in left.items()} == {two: 6}


def test_kafka_python_deletes_groups_and_is_told_why_not(
    python_admin: Any, wire: GroupWire, korvet: KorvetCluster, topic: str, group: str
) -> None:
    create_topic(korvet.bootstrap, topic)
    empty = f"{group}-empty"
    assert wire.commit(empty, (topic, 0), 3) is ErrorCode.NONE

    with running_member(korvet, group, topic):
        answers = dict(python_admin.delete_groups([empty, group, f"{group}-not"]))

    assert answers == {
        empty: "OK",
        group: "NonEmptyGroupError",
        f"{group}-not": "GroupIdNotFoundError",
    }


def test_kafka_python_removes_members_by_id_and_by_instance(
    python_admin: Any, wire: GroupWire, korvet: KorvetCluster, topic: str, group: str
) -> None:
    create_topic(korvet.bootstrap, topic)

    def remove(**member: str) -> str:
        answer = python_admin.remove_group_members(group, [MemberToRemove(**member)])
        (error,) = answer.values()
        name: str = error.__name__
        return name

    def members() -> list[str]:
        found = python_admin.describe_groups([group])[group]["members"]
        return [each["member_id"] for each in found]

    joined = wire.join(group, [topic])
    assert remove(member_id="a stranger") == "UnknownMemberIdError"
    assert remove(member_id=joined.member_id) == "NoError"
    assert members() == []

    with running_member(korvet, group, topic) as consumer:
        before = members()
        assert remove(group_instance_id="reader-1") == "NoError"

        def is_back_as_another() -> bool:
            consumer.poll(0.05)
            return len(found := members()) == 1 and found != before

        eventually_true(is_back_as_another, within=PATIENCE)


def test_kafka_python_finds_what_another_library_committed(
    admin: AdminClient, korvet: KorvetCluster, topic: str, group: str
) -> None:
    create_topic(korvet.bootstrap, topic)
    wanted = TopicPartition(topic, 0, 42)
    alter = admin.alter_consumer_group_offsets
    alter([ConsumerGroupTopicPartitions(group, [wanted])])[group].result(PATIENCE)

    consumer = KafkaConsumer(bootstrap_servers=korvet.bootstrap, group_id=group)
    with closing(consumer):
        assert consumer.committed(PythonPartition(topic, 0)) == 42


# ------------------------------------------------------------ bare requests


def test_a_new_member_is_given_its_id_first(
    wire: GroupWire, topic: str, korvet: KorvetCluster, group: str
) -> None:
    create_topic(korvet.bootstrap, topic)

    first = wire.join_once(group, [topic], version=4)
    assert first.error_code == ErrorCode.MEMBER_ID_REQUIRED
    assert first.member_id
    second = wire.join_once(group, [topic], first.member_id, version=4)

    assert second.error_code == ErrorCode.NONE
    assert second.member_id == first.member_id == second.leader
    assert wire.leave(group, second.member_id) is ErrorCode.NONE


def test_an_old_client_joins_without_being_given_an_id_first(
    wire: GroupWire, topic: str, korvet: KorvetCluster, group: str
) -> None:
    create_topic(korvet.bootstrap, topic)

    joined = wire.join_once(group, [topic], version=3)

    assert joined.error_code == ErrorCode.NONE
    assert joined.member_id == joined.leader
    assert wire.leave(group, joined.member_id) is ErrorCode.NONE
