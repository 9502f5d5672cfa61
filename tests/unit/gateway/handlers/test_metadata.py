import pytest

from korvet.gateway.authorized_operations import ON_CLUSTER, ON_TOPIC
from korvet.gateway.cluster import Cluster
from korvet.gateway.handlers import metadata as api
from korvet.kafka.errors import ErrorCode, KafkaError
from korvet.kafka.messages.metadata import MetadataRequest, MetadataResponse
from korvet.proto.storage.v1 import storage_service_pb2 as pb
from tests.support.fake_storage import FakeStorage
from tests.support.gateway_context import THIS_BROKER, request_context
from tests.support.kafka_client import KafkaClient, kafka_server, until

NOT_ASKED = -(2**31)


@pytest.fixture
def storage() -> FakeStorage:
    storage = FakeStorage()
    storage.add_topic("orders", 2)
    return storage


def named(
    *names: str | None, may_create: bool = False, topic_id: bytes = bytes(16)
) -> MetadataRequest:
    return MetadataRequest(
        topics=[
            MetadataRequest.MetadataRequestTopic(name=name, topic_id=topic_id)
            for name in names
        ],
        allow_auto_topic_creation=may_create,
    )


async def ask(
    storage: FakeStorage, request: MetadataRequest, version: int = 12
) -> MetadataResponse:
    return await KafkaClient(kafka_server(storage)).ask(request, version, MetadataResponse)


@pytest.mark.parametrize("version", range(14))
async def test_a_topic_is_described_in_every_version(
    storage: FakeStorage, version: int
) -> None:
    storage.topics["orders"].leader_epochs[1] = 5
    # Before v4 there is no flag, and it counts as set.
    answer = await ask(storage, named("orders", may_create=version < 4), version)

    (topic,) = answer.topics
    assert (topic.name, topic.error_code) == ("orders", 0)
    assert [
        (p.partition_index, p.leader_id, p.replica_nodes, p.isr_nodes, p.offline_replicas)
        for p in topic.partitions
    ] == [(index, 1, [1], [1], []) for index in (0, 1)]
    assert [p.leader_epoch for p in topic.partitions] == (
        [0, 5] if version >= 7 else [-1, -1]
    )
    if version >= 10:
        assert topic.topic_id == storage.topics["orders"].id
    (broker,) = answer.brokers
    assert (broker.node_id, broker.host, broker.port) == THIS_BROKER[:3]
    assert answer.controller_id == (1 if version >= 1 else -1)


@pytest.mark.parametrize(("version", "topics"), [(0, []), (1, None), (12, None)])
async def test_all_topics_can_be_asked_for(
    storage: FakeStorage,
    version: int,
    topics: list[MetadataRequest.MetadataRequestTopic] | None,
) -> None:
    storage.add_topic("a")

    answer = await ask(storage, MetadataRequest(topics=topics), version)

    assert [topic.name for topic in answer.topics] == ["a", "orders"]


async def test_from_v1_an_empty_list_asks_for_no_topics(storage: FakeStorage) -> None:
    answer = await ask(storage, MetadataRequest(topics=[]), 1)

    assert answer.topics == []
    assert len(answer.brokers) == 1
    assert storage.requests == []


async def test_topics_are_found_by_id_from_v12(storage: FakeStorage) -> None:
    topic_id = storage.topics["orders"].id

    found = await ask(storage, named(None, topic_id=topic_id))
    unknown = await ask(storage, named(None, topic_id=b"x" * 16))

    assert (found.topics[0].name, found.topics[0].error_code) == ("orders", 0)
    assert unknown.topics[0].error_code == ErrorCode.UNKNOWN_TOPIC_ID
    assert (unknown.topics[0].name, unknown.topics[0].topic_id) == (None, b"x" * 16)


@pytest.mark.parametrize("version", [10, 11])
async def test_before_v12_a_topic_without_a_name_is_an_invalid_request(
    storage: FakeStorage, version: int
) -> None:
    answer = await ask(storage, named(None, topic_id=b"x" * 16), version)

    assert answer.topics[0].error_code == ErrorCode.INVALID_REQUEST


async def test_a_missing_topic_is_unknown_unless_both_sides_want_it_created(
    storage: FakeStorage,
) -> None:
    unwanted = await ask(storage, named("new", may_create=False))
    forbidden = await api.handle(
        named("new", may_create=True),
        request_context(storage, 12, auto_create_topics_enable=False),
    )

    assert unwanted.topics[0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert forbidden.topics[0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert "new" not in storage.topics


@pytest.mark.parametrize("version", [0, 3, 4, 13])
async def test_a_missing_topic_is_created_and_described_at_once(
    storage: FakeStorage, version: int
) -> None:
    storage.default_partitions = 3

    answer = await ask(storage, named("new", "orders", may_create=True), version)

    assert [
        (topic.name, topic.error_code, len(topic.partitions)) for topic in answer.topics
    ] == [
        ("new", 0, 3),
        ("orders", 0, 2),
    ]


@pytest.mark.parametrize("name", ["", ".", "..", "a b", "ü", "a" * 250, "a/b"])
async def test_a_name_that_can_never_be_is_invalid(storage: FakeStorage, name: str) -> None:
    for may_create in (True, False):
        answer = await ask(storage, named(name, may_create=may_create))
        assert answer.topics[0].error_code == ErrorCode.INVALID_TOPIC_EXCEPTION
        assert answer.topics[0].name == name


async def test_what_storage_does_not_want_to_create_is_told(storage: FakeStorage) -> None:
    answer = await ask(storage, named("__internal", may_create=True))

    assert answer.topics[0].error_code == ErrorCode.INVALID_TOPIC_EXCEPTION


async def test_a_topic_that_somebody_else_creates_meanwhile_will_be_there_in_a_moment() -> (
    None
):
    class Racing(FakeStorage):
        async def describe_topics(
            self, request: pb.DescribeTopicsRequest
        ) -> pb.DescribeTopicsResponse:
            answer = await super().describe_topics(request)
            self.add_topic("new")
            return answer

    answer = await ask(Racing(), named("new", may_create=True))

    assert answer.topics[0].error_code == ErrorCode.LEADER_NOT_AVAILABLE


async def test_without_storage_what_is_not_known_is_not_available(
    storage: FakeStorage,
) -> None:
    storage.is_away_with = ErrorCode.LEADER_NOT_AVAILABLE

    answer = await ask(storage, named("orders", "new", may_create=True))

    assert [topic.error_code for topic in answer.topics] == [5, 5]
    assert len(answer.brokers) == 1


async def test_what_the_cache_has_is_served_without_storage(storage: FakeStorage) -> None:
    cluster = Cluster(THIS_BROKER, storage)
    update = pb.ClusterUpdate(snapshot=True, cluster_id="c")
    update.topics.append(storage.topics["orders"])
    update.gateways.add(node_id=0, host="other", port=1, rack="r")
    cluster.apply_update(update)
    cluster.lost_touch()
    storage.is_away_with = ErrorCode.LEADER_NOT_AVAILABLE
    context = request_context(storage, 12, cluster=cluster)

    answer = await api.handle(MetadataRequest(topics=None), context)

    assert [topic.name for topic in answer.topics] == ["orders"]
    assert [(broker.node_id, broker.rack) for broker in answer.brokers] == [
        (0, "r"),
        (1, None),
    ]
    assert (answer.cluster_id, answer.controller_id) == ("c", 0)
    assert {p.leader_id for p in answer.topics[0].partitions} == {0, 1}


async def test_all_topics_are_not_said_to_be_none_when_nobody_knows(
    storage: FakeStorage,
) -> None:
    storage.is_away_with = ErrorCode.LEADER_NOT_AVAILABLE
    client = KafkaClient(kafka_server(storage))

    newest = await ask(storage, MetadataRequest(topics=None), 13)
    client.send(MetadataRequest(topics=None), 12)
    await until(client.transport.is_closing)

    assert newest.error_code == ErrorCode.LEADER_NOT_AVAILABLE


async def test_a_failure_is_told_for_each_topic_in_older_versions() -> None:
    error = KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR)

    answer = api.refuse(named("a", None), error, 9)

    assert answer is not None
    answer.encode(9)
    assert [topic.error_code for topic in answer.topics] == [-1, -1]


async def test_operations_are_told_only_to_those_who_ask(storage: FakeStorage) -> None:
    plain = await ask(storage, named("orders"), 8)
    request = named("orders")
    request.include_topic_authorized_operations = True
    request.include_cluster_authorized_operations = True
    asked = await ask(storage, request, 8)

    assert plain.topics[0].topic_authorized_operations == NOT_ASKED
    assert plain.cluster_authorized_operations == NOT_ASKED
    assert asked.topics[0].topic_authorized_operations == ON_TOPIC == 3576
    assert asked.cluster_authorized_operations == ON_CLUSTER == 8096
