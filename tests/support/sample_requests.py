"""A request of every API that the gateway serves, about a topic that is there.

Each is one that a broker answers without an error, unless its comment says otherwise.
"""

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from korvet.kafka.message import Message
from korvet.kafka.messages import (
    add_offsets_to_txn,
    add_partitions_to_txn,
    alter_configs,
    alter_partition_reassignments,
    alter_replica_log_dirs,
    create_partitions,
    create_topics,
    delete_groups,
    delete_records,
    delete_topics,
    describe_cluster,
    describe_configs,
    describe_groups,
    describe_log_dirs,
    describe_producers,
    describe_quorum,
    describe_topic_partitions,
    describe_transactions,
    elect_leaders,
    end_txn,
    find_coordinator,
    heartbeat,
    incremental_alter_configs,
    init_producer_id,
    join_group,
    leave_group,
    list_config_resources,
    list_groups,
    list_offsets,
    list_partition_reassignments,
    list_transactions,
    metadata,
    offset_commit,
    offset_delete,
    offset_fetch,
    offset_for_leader_epoch,
    sync_group,
    txn_offset_commit,
)
from korvet.kafka.messages.api_versions import ApiVersionsRequest
from korvet.kafka.messages.fetch import FetchRequest
from korvet.kafka.messages.produce import ProduceRequest
from tests.support.wire_client import batch_of

_TOPIC_RESOURCE: Final = 2
_TOPIC_IDS_FROM: Final = 13
_COMMITTED_TOPIC_IDS_FROM: Final = 10


class Asked(NamedTuple):
    """A topic with a record, and the version in which the request goes out."""

    topic: str
    topic_id: bytes
    version: int


def _produce(asked: Asked) -> ProduceRequest:
    by_id = asked.version >= _TOPIC_IDS_FROM
    topic = ProduceRequest.TopicProduceData(
        name="" if by_id else asked.topic,
        topic_id=asked.topic_id if by_id else bytes(16),
        partition_data=[
            ProduceRequest.PartitionProduceData(index=0, records=batch_of([b"value"]))
        ],
    )
    return ProduceRequest(acks=-1, timeout_ms=10_000, topic_data=[topic])


def _fetch(asked: Asked) -> FetchRequest:
    by_id = asked.version >= _TOPIC_IDS_FROM
    topic = FetchRequest.FetchTopic(
        topic="" if by_id else asked.topic,
        topic_id=asked.topic_id if by_id else bytes(16),
        partitions=[FetchRequest.FetchPartition(partition=0, partition_max_bytes=1 << 20)],
    )
    return FetchRequest(max_wait_ms=0, min_bytes=1, max_bytes=1 << 20, topics=[topic])


def _list_offsets(asked: Asked) -> Message:
    request = list_offsets.ListOffsetsRequest
    partition = request.ListOffsetsPartition(partition_index=0, timestamp=-1)
    topic = request.ListOffsetsTopic(name=asked.topic, partitions=[partition])
    return request(replica_id=-1, topics=[topic])


def _metadata(asked: Asked) -> Message:
    request = metadata.MetadataRequest
    return request(topics=[request.MetadataRequestTopic(name=asked.topic)])


def _epoch(asked: Asked) -> Message:
    request = offset_for_leader_epoch.OffsetForLeaderEpochRequest
    partition = request.OffsetForLeaderPartition(partition=0, leader_epoch=0)
    topic = request.OffsetForLeaderTopic(topic=asked.topic, partitions=[partition])
    return request(replica_id=-1, topics=[topic])


def _create_topics(asked: Asked) -> Message:
    request = create_topics.CreateTopicsRequest
    topic = request.CreatableTopic(
        name=f"{asked.topic}-{asked.version}", num_partitions=2, replication_factor=1
    )
    return request(topics=[topic], timeout_ms=10_000)


def _delete_topics(asked: Asked) -> Message:
    request = delete_topics.DeleteTopicsRequest
    if asked.version < 6:
        return request(topic_names=[asked.topic], timeout_ms=10_000)
    return request(topics=[request.DeleteTopicState(name=asked.topic)], timeout_ms=10_000)


def _create_partitions(asked: Asked) -> Message:
    request = create_partitions.CreatePartitionsRequest
    topic = request.CreatePartitionsTopic(name=asked.topic, count=3, assignments=None)
    return request(topics=[topic], timeout_ms=10_000)


def _delete_records(asked: Asked) -> Message:
    request = delete_records.DeleteRecordsRequest
    partition = request.DeleteRecordsPartition(partition_index=0, offset=-1)
    topic = request.DeleteRecordsTopic(name=asked.topic, partitions=[partition])
    return request(topics=[topic], timeout_ms=10_000)


def _describe_configs(asked: Asked) -> Message:
    request = describe_configs.DescribeConfigsRequest
    resource = request.DescribeConfigsResource(
        resource_type=_TOPIC_RESOURCE, resource_name=asked.topic, configuration_keys=None
    )
    return request(resources=[resource], include_synonyms=True)


def _alter_configs(asked: Asked) -> Message:
    request = alter_configs.AlterConfigsRequest
    resource = request.AlterConfigsResource(
        resource_type=_TOPIC_RESOURCE,
        resource_name=asked.topic,
        configs=[request.AlterableConfig(name="retention.ms", value="5000000")],
    )
    return request(resources=[resource])


def _incremental_alter_configs(asked: Asked) -> Message:
    request = incremental_alter_configs.IncrementalAlterConfigsRequest
    resource = request.AlterConfigsResource(
        resource_type=_TOPIC_RESOURCE,
        resource_name=asked.topic,
        configs=[request.AlterableConfig(name="retention.ms", value="5000000")],
    )
    return request(resources=[resource])


def _describe_log_dirs(asked: Asked) -> Message:
    request = describe_log_dirs.DescribeLogDirsRequest
    topic = request.DescribableLogDirTopic(topic=asked.topic, partitions=[0])
    return request(topics=[topic])


def _alter_replica_log_dirs(asked: Asked) -> Message:
    request = alter_replica_log_dirs.AlterReplicaLogDirsRequest
    topic = request.AlterReplicaLogDirTopic(name=asked.topic, partitions=[0])
    return request(dirs=[request.AlterReplicaLogDir(path="/elsewhere", topics=[topic])])


def _elect_leaders(asked: Asked) -> Message:
    request = elect_leaders.ElectLeadersRequest
    partitions = request.TopicPartitions(topic=asked.topic, partitions=[0])
    return request(topic_partitions=[partitions])


def _alter_reassignments(asked: Asked) -> Message:
    request = alter_partition_reassignments.AlterPartitionReassignmentsRequest
    # Without replicas it cancels what is under way.
    partition = request.ReassignablePartition(partition_index=0, replicas=None)
    return request(
        topics=[request.ReassignableTopic(name=asked.topic, partitions=[partition])]
    )


def _describe_topic_partitions(asked: Asked) -> Message:
    request = describe_topic_partitions.DescribeTopicPartitionsRequest
    return request(topics=[request.TopicRequest(name=asked.topic)])


def _describe_quorum(asked: Asked) -> Message:
    request = describe_quorum.DescribeQuorumRequest
    partition = request.PartitionData(partition_index=0)
    topic = request.TopicData(topic_name="__cluster_metadata", partitions=[partition])
    return request(topics=[topic])


# ---------------------------------------------------------------- groups

# Each topic has a group of its name, which is not there until something is committed.


def _find_coordinator(asked: Asked) -> Message:
    request = find_coordinator.FindCoordinatorRequest
    if asked.version < 4:
        return request(key=asked.topic)
    return request(coordinator_keys=[asked.topic])


def _join_group(asked: Asked) -> Message:
    request = join_group.JoinGroupRequest
    protocol = request.JoinGroupRequestProtocol(name="range", metadata=b"")
    # A member that the group has never heard of.
    return request(
        group_id=asked.topic,
        session_timeout_ms=10_000,
        rebalance_timeout_ms=10_000,
        member_id="stranger",
        protocol_type="consumer",
        protocols=[protocol],
    )


def _sync_group(asked: Asked) -> Message:
    return sync_group.SyncGroupRequest(
        group_id=asked.topic,
        generation_id=1,
        member_id="stranger",
        protocol_type="consumer",
        protocol_name="range",
    )


def _heartbeat(asked: Asked) -> Message:
    return heartbeat.HeartbeatRequest(
        group_id=asked.topic, generation_id=1, member_id="stranger"
    )


def _leave_group(asked: Asked) -> Message:
    request = leave_group.LeaveGroupRequest
    if asked.version < 3:
        return request(group_id=asked.topic, member_id="stranger")
    member = request.MemberIdentity(member_id="stranger")
    return request(group_id=asked.topic, members=[member])


def _offset_commit(asked: Asked) -> Message:
    request = offset_commit.OffsetCommitRequest
    by_id = asked.version >= _COMMITTED_TOPIC_IDS_FROM
    topic = request.OffsetCommitRequestTopic(
        name="" if by_id else asked.topic,
        topic_id=asked.topic_id if by_id else bytes(16),
        partitions=[
            request.OffsetCommitRequestPartition(partition_index=0, committed_offset=1)
        ],
    )
    return request(group_id=asked.topic, topics=[topic])


def _offset_fetch(asked: Asked) -> Message:
    request = offset_fetch.OffsetFetchRequest
    if asked.version < 8:
        old = request.OffsetFetchRequestTopic(name=asked.topic, partition_indexes=[0])
        return request(group_id=asked.topic, topics=[old])
    by_id = asked.version >= _COMMITTED_TOPIC_IDS_FROM
    topic = request.OffsetFetchRequestTopics(
        name="" if by_id else asked.topic,
        topic_id=asked.topic_id if by_id else bytes(16),
        partition_indexes=[0],
    )
    group = request.OffsetFetchRequestGroup(group_id=asked.topic, topics=[topic])
    return request(groups=[group])


def _offset_delete(asked: Asked) -> Message:
    request = offset_delete.OffsetDeleteRequest
    partition = request.OffsetDeleteRequestPartition(partition_index=0)
    topic = request.OffsetDeleteRequestTopic(name=asked.topic, partitions=[partition])
    return request(group_id=asked.topic, topics=[topic])


# ---------------------------------------------------------------- transactions

# Of a producer that has never been given an id.


def _add_partitions_to_txn(asked: Asked) -> Message:
    request = add_partitions_to_txn.AddPartitionsToTxnRequest
    topic = request.AddPartitionsToTxnTopic(name=asked.topic, partitions=[0])
    if asked.version < 4:
        return request(
            v3_and_below_transactional_id=asked.topic, v3_and_below_topics=[topic]
        )
    transaction = request.AddPartitionsToTxnTransaction(
        transactional_id=asked.topic, topics=[topic]
    )
    return request(transactions=[transaction])


def _add_offsets_to_txn(asked: Asked) -> Message:
    return add_offsets_to_txn.AddOffsetsToTxnRequest(
        transactional_id=asked.topic, group_id=asked.topic
    )


def _txn_offset_commit(asked: Asked) -> Message:
    request = txn_offset_commit.TxnOffsetCommitRequest
    partition = request.TxnOffsetCommitRequestPartition(
        partition_index=0, committed_offset=1
    )
    topic = request.TxnOffsetCommitRequestTopic(name=asked.topic, partitions=[partition])
    return request(transactional_id=asked.topic, group_id=asked.topic, topics=[topic])


def _describe_producers(asked: Asked) -> Message:
    request = describe_producers.DescribeProducersRequest
    topic = request.TopicRequest(name=asked.topic, partition_indexes=[0])
    return request(topics=[topic])


SAMPLE_REQUESTS: Final[Mapping[int, Callable[[Asked], Message]]] = {
    ProduceRequest.API_KEY: _produce,
    FetchRequest.API_KEY: _fetch,
    list_offsets.ListOffsetsRequest.API_KEY: _list_offsets,
    metadata.MetadataRequest.API_KEY: _metadata,
    ApiVersionsRequest.API_KEY: lambda _: ApiVersionsRequest(
        client_software_name="korvet-tests", client_software_version="1"
    ),
    init_producer_id.InitProducerIdRequest.API_KEY: lambda _: (
        init_producer_id.InitProducerIdRequest(transactional_id=None)
    ),
    offset_for_leader_epoch.OffsetForLeaderEpochRequest.API_KEY: _epoch,
    describe_cluster.DescribeClusterRequest.API_KEY: lambda _: (
        describe_cluster.DescribeClusterRequest()
    ),
    describe_topic_partitions.DescribeTopicPartitionsRequest.API_KEY: (
        _describe_topic_partitions
    ),
    create_topics.CreateTopicsRequest.API_KEY: _create_topics,
    delete_topics.DeleteTopicsRequest.API_KEY: _delete_topics,
    create_partitions.CreatePartitionsRequest.API_KEY: _create_partitions,
    delete_records.DeleteRecordsRequest.API_KEY: _delete_records,
    describe_configs.DescribeConfigsRequest.API_KEY: _describe_configs,
    alter_configs.AlterConfigsRequest.API_KEY: _alter_configs,
    incremental_alter_configs.IncrementalAlterConfigsRequest.API_KEY: (
        _incremental_alter_configs
    ),
    list_config_resources.ListConfigResourcesRequest.API_KEY: lambda _: (
        list_config_resources.ListConfigResourcesRequest()
    ),
    describe_log_dirs.DescribeLogDirsRequest.API_KEY: _describe_log_dirs,
    alter_replica_log_dirs.AlterReplicaLogDirsRequest.API_KEY: _alter_replica_log_dirs,
    elect_leaders.ElectLeadersRequest.API_KEY: _elect_leaders,
    alter_partition_reassignments.AlterPartitionReassignmentsRequest.API_KEY: (
        _alter_reassignments
    ),
    list_partition_reassignments.ListPartitionReassignmentsRequest.API_KEY: lambda _: (
        list_partition_reassignments.ListPartitionReassignmentsRequest()
    ),
    describe_quorum.DescribeQuorumRequest.API_KEY: _describe_quorum,
    find_coordinator.FindCoordinatorRequest.API_KEY: _find_coordinator,
    join_group.JoinGroupRequest.API_KEY: _join_group,
    sync_group.SyncGroupRequest.API_KEY: _sync_group,
    heartbeat.HeartbeatRequest.API_KEY: _heartbeat,
    leave_group.LeaveGroupRequest.API_KEY: _leave_group,
    offset_commit.OffsetCommitRequest.API_KEY: _offset_commit,
    offset_fetch.OffsetFetchRequest.API_KEY: _offset_fetch,
    offset_delete.OffsetDeleteRequest.API_KEY: _offset_delete,
    list_groups.ListGroupsRequest.API_KEY: lambda _: list_groups.ListGroupsRequest(),
    describe_groups.DescribeGroupsRequest.API_KEY: lambda asked: (
        describe_groups.DescribeGroupsRequest(groups=[asked.topic])
    ),
    delete_groups.DeleteGroupsRequest.API_KEY: lambda asked: (
        delete_groups.DeleteGroupsRequest(groups_names=[asked.topic])
    ),
    add_partitions_to_txn.AddPartitionsToTxnRequest.API_KEY: _add_partitions_to_txn,
    add_offsets_to_txn.AddOffsetsToTxnRequest.API_KEY: _add_offsets_to_txn,
    txn_offset_commit.TxnOffsetCommitRequest.API_KEY: _txn_offset_commit,
    end_txn.EndTxnRequest.API_KEY: lambda asked: end_txn.EndTxnRequest(
        transactional_id=asked.topic
    ),
    describe_producers.DescribeProducersRequest.API_KEY: _describe_producers,
    describe_transactions.DescribeTransactionsRequest.API_KEY: lambda asked: (
        describe_transactions.DescribeTransactionsRequest(transactional_ids=[asked.topic])
    ),
    list_transactions.ListTransactionsRequest.API_KEY: lambda _: (
        list_transactions.ListTransactionsRequest()
    ),
}
