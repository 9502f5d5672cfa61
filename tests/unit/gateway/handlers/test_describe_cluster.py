import pytest

from korvet.gateway.authorized_operations import ON_CLUSTER
from korvet.gateway.handlers import describe_cluster as api
from korvet.kafka.errors import ErrorCode
from korvet.kafka.messages.describe_cluster import (
    DescribeClusterRequest,
    DescribeClusterResponse,
)
from korvet.proto.storage.v1 import storage_service_pb2 as pb
from tests.support.fake_storage import FakeStorage
from tests.support.gateway_context import request_context
from tests.support.kafka_client import KafkaClient, kafka_server


@pytest.mark.parametrize("version", range(3))
async def test_this_gateway_is_described_in_every_version(version: int) -> None:
    client = KafkaClient(kafka_server())

    answer = await client.ask(DescribeClusterRequest(), version, DescribeClusterResponse)

    assert (answer.error_code, answer.controller_id, answer.cluster_id) == (0, 1, "")
    assert [(broker.broker_id, broker.port) for broker in answer.brokers] == [(1, 9092)]
    assert answer.cluster_authorized_operations == -(2**31)


async def test_all_live_gateways_are_listed() -> None:
    context = request_context(FakeStorage(), 2)
    update = pb.ClusterUpdate(snapshot=True, cluster_id="cluster")
    update.gateways.add(node_id=0, host="other", port=9093, rack="r")
    context.cluster.apply_update(update)

    answer = await api.handle(
        DescribeClusterRequest(include_cluster_authorized_operations=True), context
    )

    assert [(broker.broker_id, broker.rack) for broker in answer.brokers] == [
        (0, "r"),
        (1, None),
    ]
    assert (answer.cluster_id, answer.controller_id) == ("cluster", 0)
    assert answer.cluster_authorized_operations == ON_CLUSTER


async def test_there_are_no_controllers_to_connect_to() -> None:
    client = KafkaClient(kafka_server())

    answer = await client.ask(
        DescribeClusterRequest(endpoint_type=2), 1, DescribeClusterResponse
    )

    assert answer.error_code == ErrorCode.MISMATCHED_ENDPOINT_TYPE
    assert answer.error_message
