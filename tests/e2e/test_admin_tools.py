"""What tools ask beyond topics and configs: sizes, elections, reassignments, the quorum."""

from collections.abc import Iterator
from contextlib import closing

import kafka.admin
import pytest
from confluent_kafka import ElectionType, KafkaException, TopicCollection, TopicPartition
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewTopic,
    ResourceType,
)
from kafka.structs import TopicPartitionReplica

from korvet.kafka.errors import ErrorCode
from tests.support.client_contract import PATIENCE, NewRecord
from tests.support.confluent_client import ConfluentClient
from tests.support.korvet_process import KorvetCluster

pytestmark = pytest.mark.e2e


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KorvetCluster]:
    """Two gateways before one storage."""
    folder = tmp_path_factory.mktemp("pair")
    with KorvetCluster(folder, gateways=2) as cluster:
        yield cluster


@pytest.fixture
def librdkafka(pair: KorvetCluster) -> AdminClient:
    return AdminClient({"bootstrap.servers": pair.bootstrap})


@pytest.fixture
def kafka_python(pair: KorvetCluster) -> Iterator[kafka.admin.KafkaAdminClient]:
    servers = pair.bootstrap.split(",")
    with closing(kafka.admin.KafkaAdminClient(bootstrap_servers=servers)) as client:
        yield client


def create(client: AdminClient, *topics: NewTopic) -> None:
    for future in client.create_topics(list(topics)).values():
        future.result(PATIENCE)


def alter(client: AdminClient, topic: str, *entries: ConfigEntry) -> None:
    resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=list(entries))
    (future,) = client.incremental_alter_configs([resource]).values()
    future.result(PATIENCE)


def config(client: AdminClient, topic: str, name: str) -> ConfigEntry:
    resource = ConfigResource(ResourceType.TOPIC, topic)
    (future,) = client.describe_configs([resource]).values()
    entry: ConfigEntry = future.result(PATIENCE)[name]
    return entry


def leaders(client: AdminClient, topic: str) -> dict[int, int]:
    (future,) = client.describe_topics(TopicCollection([topic])).values()
    partitions = future.result(PATIENCE).partitions
    return {partition.id: partition.leader.id for partition in partitions}


def test_single_configs_are_extended_shortened_and_taken_back(
    librdkafka: AdminClient, topic: str
) -> None:
    create(librdkafka, NewTopic(topic, 1, 1, config={"retention.ms": "1000"}))

    def change(name: str, value: str | None, operation: AlterConfigOpType) -> None:
        alter(librdkafka, topic, ConfigEntry(name, value, incremental_operation=operation))

    change("cleanup.policy", "compact", AlterConfigOpType.APPEND)
    assert config(librdkafka, topic, "cleanup.policy").value == "delete,compact"
    change("cleanup.policy", "delete", AlterConfigOpType.SUBTRACT)
    assert config(librdkafka, topic, "cleanup.policy").value == "compact"
    assert config(librdkafka, topic, "retention.ms").value == "1000"
    change("retention.ms", None, AlterConfigOpType.DELETE)
    assert config(librdkafka, topic, "retention.ms").is_default


def test_partitions_and_replication_may_be_left_to_the_server(
    librdkafka: AdminClient, topic: str
) -> None:
    create(librdkafka, NewTopic(topic, -1, -1))

    assert sorted(leaders(librdkafka, topic)) == [0]


def test_an_assignment_to_gateways_is_accepted(librdkafka: AdminClient, topic: str) -> None:
    create(librdkafka, NewTopic(topic, 3, replica_assignment=[[1], [2, 1], [2]]))

    assert sorted(leaders(librdkafka, topic)) == [0, 1, 2]


def test_an_assignment_to_an_unknown_broker_is_refused(
    librdkafka: AdminClient, topic: str
) -> None:
    with pytest.raises(KafkaException) as refused:
        create(librdkafka, NewTopic(topic, 2, replica_assignment=[[1], [9]]))

    assert refused.value.args[0].code() == ErrorCode.INVALID_REPLICA_ASSIGNMENT


def test_no_election_is_needed(librdkafka: AdminClient, topic: str) -> None:
    create(librdkafka, NewTopic(topic, 1, 1))
    partition = TopicPartition(topic, 0)

    elected = librdkafka.elect_leaders(ElectionType.PREFERRED, [partition]).result(PATIENCE)

    assert elected[partition].code() == ErrorCode.ELECTION_NOT_NEEDED


def test_partitions_are_spread_and_each_is_described_where_its_leader_is(
    librdkafka: AdminClient,
    kafka_python: kafka.admin.KafkaAdminClient,
    pair: KorvetCluster,
    topic: str,
) -> None:
    create(librdkafka, NewTopic(topic, 4, 1))
    with ConfluentClient().producer(pair.bootstrap) as producer:
        producer.send(topic, [NewRecord(b"x" * 100, partition=3) for _ in range(100)])

    described = {
        (topic_["name"], partition["partition_index"], broker["broker"]): partition
        for broker in kafka_python.describe_log_dirs({topic: [0, 1, 2, 3]})
        for directory in broker["log_dirs"]
        for topic_ in directory["topics"]
        for partition in topic_["partitions"]
    }

    spread = leaders(librdkafka, topic)
    assert sorted(spread.values()) == [1, 1, 2, 2]
    assert set(described) == {(topic, index, leader) for index, leader in spread.items()}
    sizes = {index: entry["partition_size"] for (_, index, _), entry in described.items()}
    assert sizes[3] >= 100 * 100
    assert sizes[0] == sizes[1] == sizes[2] == 0


def test_the_room_left_is_that_of_redis(
    kafka_python: kafka.admin.KafkaAdminClient, pair: KorvetCluster
) -> None:
    def room() -> set[tuple[int, bool]]:
        return {
            (directory["total_bytes"], directory["usable_bytes"] > 0)
            for broker in kafka_python.describe_log_dirs()
            for directory in broker["log_dirs"]
        }

    assert room() == {(-1, False)}
    with pair.redis.client() as redis:
        redis.config_set("maxmemory", 1 << 30)
        try:
            assert room() == {(1 << 30, True)}
        finally:
            redis.config_set("maxmemory", 0)


def test_a_reassignment_to_where_it_is_succeeds_and_none_is_under_way(
    librdkafka: AdminClient, kafka_python: kafka.admin.KafkaAdminClient, topic: str
) -> None:
    create(librdkafka, NewTopic(topic, 1, 1))
    leader = leaders(librdkafka, topic)[0]
    partition = kafka.TopicPartition(topic, 0)

    here = kafka_python.alter_partition_reassignments({partition: [leader]})
    elsewhere = kafka_python.alter_partition_reassignments({partition: [3 - leader]})

    assert here == {partition: None}
    assert elsewhere[partition].errno == ErrorCode.INVALID_REPLICA_ASSIGNMENT
    assert kafka_python.list_partition_reassignments() == {}


def test_replicas_stay_in_their_directory(
    librdkafka: AdminClient, kafka_python: kafka.admin.KafkaAdminClient, topic: str
) -> None:
    create(librdkafka, NewTopic(topic, 1, 1))
    replica = TopicPartitionReplica(topic, 0, leaders(librdkafka, topic)[0])

    def move(directory: str) -> int:
        moved = kafka_python.alter_replica_log_dirs({replica: directory})
        return int(moved[replica].errno)

    assert move("redis") == ErrorCode.NONE
    assert move("/elsewhere") == ErrorCode.LOG_DIR_NOT_FOUND


def test_the_controller_leads_the_quorum(
    kafka_python: kafka.admin.KafkaAdminClient,
) -> None:
    quorum = kafka_python.describe_metadata_quorum()

    (partition,) = quorum["topics"][0]["partitions"]
    assert partition["leader_id"] == 1
    assert [voter["replica_id"] for voter in partition["current_voters"]] == [1]
    assert [observer["replica_id"] for observer in partition["observers"]] == [2]


def test_brokers_and_topics_have_configs(
    librdkafka: AdminClient, kafka_python: kafka.admin.KafkaAdminClient, topic: str
) -> None:
    create(librdkafka, NewTopic(topic, 1, 1))

    resources = kafka_python.list_config_resources()

    assert resources["broker"] == ["1", "2"]
    assert topic in resources["topic"]


def test_each_gateway_answers_for_itself(
    librdkafka: AdminClient, pair: KorvetCluster
) -> None:
    for node_id, gateway in enumerate(pair.gateways, start=1):
        resource = ConfigResource(ResourceType.BROKER, str(node_id))
        (future,) = librdkafka.describe_configs([resource]).values()
        listeners = future.result(PATIENCE)["advertised.listeners"].value
        assert listeners == f"PLAINTEXT://{gateway.address}"


def test_a_group_has_no_configs(librdkafka: AdminClient) -> None:
    resource = ConfigResource(ResourceType.GROUP, "readers")

    (future,) = librdkafka.describe_configs([resource]).values()

    assert future.result(PATIENCE) == {}
