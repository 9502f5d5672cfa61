"""ElectLeaders and the two APIs of reassignments: each partition has one replica."""

import pytest

from korvet.gateway.cluster import Cluster
from korvet.gateway.dispatch import UnanswerableError
from korvet.gateway.handlers import (
    alter_partition_reassignments,
    elect_leaders,
    list_partition_reassignments,
)
from korvet.kafka.errors import ErrorCode
from korvet.kafka.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
)
from korvet.kafka.messages.elect_leaders import ElectLeadersRequest, ElectLeadersResponse
from korvet.kafka.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
)
from tests.support.fake_storage import FakeStorage
from tests.support.handler_calls import call, gateways

PREFERRED, UNCLEAN = 0, 1


@pytest.fixture
def storage() -> FakeStorage:
    storage = FakeStorage()
    storage.add_topic("orders", partitions=4)
    return storage


def election(
    topics: dict[str, list[int]] | None, kind: int = PREFERRED
) -> ElectLeadersRequest:
    return ElectLeadersRequest(
        election_type=kind,
        topic_partitions=None
        if topics is None
        else [
            ElectLeadersRequest.TopicPartitions(topic=name, partitions=partitions)
            for name, partitions in topics.items()
        ],
    )


def codes(response: ElectLeadersResponse) -> dict[tuple[str, int], int]:
    return {
        (topic.topic, each.partition_id): each.error_code
        for topic in response.replica_election_results
        for each in topic.partition_result
    }


@pytest.mark.parametrize(
    ("version", "kind"), [(0, PREFERRED), (2, PREFERRED), (2, UNCLEAN)]
)
async def test_no_election_is_ever_needed(
    storage: FakeStorage, version: int, kind: int
) -> None:
    request = election({"orders": [0, 9, -1], "missing": [0]}, kind)

    response = await call(elect_leaders.HANDLER, request, version, storage)

    assert response.error_code == ErrorCode.NONE
    assert codes(response) == {
        ("orders", 0): ErrorCode.ELECTION_NOT_NEEDED,
        ("orders", 9): ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ("orders", -1): ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ("missing", 0): ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    }


@pytest.mark.parametrize("version", [0, 2])
async def test_an_election_of_all_partitions_elects_none(
    storage: FakeStorage, version: int
) -> None:
    response = await call(elect_leaders.HANDLER, election(None), version, storage)

    (topic,) = response.replica_election_results
    assert (topic.topic, topic.partition_result) == ("orders", [])


async def test_an_unknown_kind_of_election_is_refused(storage: FakeStorage) -> None:
    request = election({"orders": [0]}, kind=7)

    response = await call(elect_leaders.HANDLER, request, 2, storage)

    assert response.error_code == ErrorCode.INVALID_REQUEST
    assert codes(response) == {("orders", 0): ErrorCode.INVALID_REQUEST}


@pytest.mark.parametrize("version", [0, 2])
async def test_every_partition_gets_the_code_when_storage_is_away(
    storage: FakeStorage, version: int
) -> None:
    storage.is_away_with = ErrorCode.LEADER_NOT_AVAILABLE

    response = await call(
        elect_leaders.HANDLER, election({"orders": [0]}), version, storage
    )

    assert codes(response) == {("orders", 0): ErrorCode.LEADER_NOT_AVAILABLE}


async def test_an_election_of_all_says_that_storage_is_away(storage: FakeStorage) -> None:
    storage.is_away_with = ErrorCode.LEADER_NOT_AVAILABLE

    response = await call(elect_leaders.HANDLER, election(None), 2, storage)

    assert response.error_code == ErrorCode.LEADER_NOT_AVAILABLE


async def test_the_oldest_version_cannot_say_it_and_is_hung_up_on(
    storage: FakeStorage,
) -> None:
    storage.is_away_with = ErrorCode.LEADER_NOT_AVAILABLE

    with pytest.raises(UnanswerableError):
        await call(elect_leaders.HANDLER, election(None), 0, storage)


async def reassigned(
    storage: FakeStorage,
    replicas: dict[tuple[str, int], list[int] | None],
    cluster: Cluster | None = None,
) -> list[tuple[int, str | None]]:
    request = AlterPartitionReassignmentsRequest(
        topics=[
            AlterPartitionReassignmentsRequest.ReassignableTopic(
                name=name,
                partitions=[
                    AlterPartitionReassignmentsRequest.ReassignablePartition(
                        partition_index=index, replicas=brokers
                    )
                ],
            )
            for (name, index), brokers in replicas.items()
        ]
    )
    handler = alter_partition_reassignments.HANDLER
    response = await call(handler, request, 0, storage, cluster=cluster)
    assert (response.error_code, response.error_message) == (ErrorCode.NONE, None)
    return [
        (each.error_code, each.error_message)
        for topic in response.responses
        for each in topic.partitions
    ]


async def test_a_partition_may_be_assigned_to_where_it_is(storage: FakeStorage) -> None:
    assert await reassigned(storage, {("orders", 0): [1]}) == [(ErrorCode.NONE, None)]


@pytest.mark.parametrize(
    ("partition", "replicas", "code"),
    [
        (("orders", 0), None, ErrorCode.NO_REASSIGNMENT_IN_PROGRESS),
        (("orders", 0), [], ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (("orders", 0), [7], ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (("orders", 0), [1, 1], ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (("orders", 9), [1], ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (("orders", -1), None, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (("missing", 0), [1], ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
    ],
)
async def test_a_reassignment_that_cannot_be_is_refused(
    storage: FakeStorage,
    partition: tuple[str, int],
    replicas: list[int] | None,
    code: ErrorCode,
) -> None:
    ((answered, _),) = await reassigned(storage, {partition: replicas})

    assert answered == code


async def test_a_move_to_another_gateway_is_refused_with_the_reason(
    storage: FakeStorage,
) -> None:
    cluster = gateways(storage, 1, 2)
    cluster.apply_topics(storage.topics.values())

    results = await reassigned(
        storage, {("orders", index): [2] for index in range(4)}, cluster
    )

    refused = [message for code, message in results if code]
    assert len(refused) == 2
    assert all("one replica, on broker 1" in (message or "") for message in refused)


async def test_a_reassignment_is_refused_with_the_code_when_storage_is_away(
    storage: FakeStorage,
) -> None:
    storage.is_away_with = ErrorCode.LEADER_NOT_AVAILABLE

    ((code, _),) = await reassigned(storage, {("orders", 0): [1]})

    assert code == ErrorCode.LEADER_NOT_AVAILABLE


@pytest.mark.parametrize(
    "topics",
    [
        None,
        [
            ListPartitionReassignmentsRequest.ListPartitionReassignmentsTopics(
                name="orders", partition_indexes=[0, 9]
            )
        ],
    ],
)
async def test_no_reassignment_is_ever_under_way(
    storage: FakeStorage,
    topics: list[ListPartitionReassignmentsRequest.ListPartitionReassignmentsTopics] | None,
) -> None:
    request = ListPartitionReassignmentsRequest(topics=topics)

    response = await call(list_partition_reassignments.HANDLER, request, 0, storage)

    assert (response.error_code, response.error_message) == (ErrorCode.NONE, None)
    assert response.topics == []
