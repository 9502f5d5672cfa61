import pytest

from korvet.gateway.handlers.describe_quorum import HANDLER
from korvet.kafka.errors import ErrorCode
from korvet.kafka.messages.describe_quorum import (
    DescribeQuorumRequest,
    DescribeQuorumResponse,
)
from tests.support.fake_storage import FakeStorage
from tests.support.handler_calls import call, gateways

METADATA = "__cluster_metadata"


async def described(
    storage: FakeStorage, version: int, *asked: tuple[str, int]
) -> DescribeQuorumResponse:
    request = DescribeQuorumRequest(
        topics=[
            DescribeQuorumRequest.TopicData(
                topic_name=name,
                partitions=[DescribeQuorumRequest.PartitionData(partition_index=index)],
            )
            for name, index in asked
        ]
    )
    return await call(HANDLER, request, version, storage, cluster=gateways(storage, 1, 3))


@pytest.mark.parametrize("version", [0, 1, 2])
async def test_the_controller_leads_and_other_gateways_observe(version: int) -> None:
    storage = FakeStorage()
    catalogue_version = storage.add_topic("orders").version

    response = await described(storage, version, (METADATA, 0))

    (topic,) = response.topics
    (partition,) = topic.partitions
    assert (response.error_code, partition.error_code) == (0, 0)
    assert partition.leader_id == 1
    assert partition.high_watermark == catalogue_version
    assert [each.replica_id for each in partition.current_voters] == [1]
    assert [each.replica_id for each in partition.observers] == [3]
    replicas = [*partition.current_voters, *partition.observers]
    assert {each.log_end_offset for each in replicas} == {catalogue_version}


@pytest.mark.parametrize(("version", "named"), [(1, []), (2, [1])])
async def test_newer_versions_have_the_voters_addresses(
    version: int, named: list[int]
) -> None:
    response = await described(FakeStorage(), version, (METADATA, 0))

    assert [node.node_id for node in response.nodes] == named


@pytest.mark.parametrize(
    "asked",
    [[("orders", 0)], [(METADATA, 1)], [(METADATA, 0), ("orders", 0)]],
)
async def test_there_is_no_other_quorum(asked: list[tuple[str, int]]) -> None:
    response = await described(FakeStorage(), 2, *asked)

    assert response.error_code == ErrorCode.NONE
    assert [
        (topic.topic_name, each.partition_index, each.error_code)
        for topic in response.topics
        for each in topic.partitions
    ] == [(name, index, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION) for name, index in asked]


@pytest.mark.parametrize("version", [0, 2])
async def test_the_whole_answer_has_the_code_when_storage_is_away(version: int) -> None:
    storage = FakeStorage()
    storage.is_away_with = ErrorCode.LEADER_NOT_AVAILABLE

    response = await described(storage, version, (METADATA, 0))

    assert response.error_code == ErrorCode.LEADER_NOT_AVAILABLE
