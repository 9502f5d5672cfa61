"""The gRPC servicer: each RPC is one call of the part that answers it.

The generated types know streams only as generators; grpc.aio also takes coroutines that
write to the context, hence the overrides.
"""

from collections.abc import AsyncIterator
from typing import Any, TypeAlias

import grpc

from korvet.proto.storage.v1 import storage_service_pb2 as pb
from korvet.proto.storage.v1.storage_service_pb2_grpc import StorageServiceServicer
from korvet.redis.failures import answered
from korvet.storage.append_calls import AppendCalls
from korvet.storage.atomic_append_calls import AtomicAppendCalls
from korvet.storage.cluster_calls import ClusterCalls
from korvet.storage.consume_calls import ConsumeCalls
from korvet.storage.group_calls import GroupCalls
from korvet.storage.lookup_calls import LookupCalls
from korvet.storage.partition_logs import PartitionLogs
from korvet.storage.read_calls import ReadCalls
from korvet.storage.tail_calls import TailCalls
from korvet.storage.topic_calls import TopicCalls
from korvet.storage.transaction_calls import TransactionCalls

_Context: TypeAlias = "grpc.aio.ServicerContext[Any, Any]"


class StorageService(StorageServiceServicer):
    def __init__(
        self,
        *,
        topics: TopicCalls,
        cluster: ClusterCalls,
        logs: PartitionLogs,
    ) -> None:
        self._topics = topics
        self._cluster = cluster
        self._logs = logs
        self._appends = AppendCalls(logs.appender, logs.lookup)
        self._atomic_appends = AtomicAppendCalls(logs.appender, logs.lookup)
        self._transactions = TransactionCalls(logs.transactions, logs.lookup)
        self._reads = ReadCalls(logs.reads, logs.lookup, logs.groups)
        self._tails = TailCalls(logs.reads, logs.lookup, logs.lane, logs.keys)
        self._lookups = LookupCalls(logs.lane, logs.keys, logs.lookup, logs.trimmer)
        self._groups = GroupCalls(logs.groups, logs.lookup)
        self._consumes = ConsumeCalls(logs)

    def stop_streams(self) -> None:
        """End what would otherwise go on for as long as its callers like."""
        self._appends.intake.stop()
        self._reads.intake.stop()
        self._tails.stop()
        self._consumes.intake.stop()

    # --- topics ---

    async def CreateTopics(
        self, request: pb.CreateTopicsRequest, context: _Context
    ) -> pb.CreateTopicsResponse:
        return await answered(context, self._topics.create_topics(request))

    async def DescribeTopics(
        self, request: pb.DescribeTopicsRequest, context: _Context
    ) -> pb.DescribeTopicsResponse:
        return await answered(context, self._topics.describe_topics(request))

    async def DeleteTopics(
        self, request: pb.DeleteTopicsRequest, context: _Context
    ) -> pb.DeleteTopicsResponse:
        return await answered(context, self._topics.delete_topics(request))

    async def CreatePartitions(
        self, request: pb.CreatePartitionsRequest, context: _Context
    ) -> pb.CreatePartitionsResponse:
        return await answered(context, self._topics.create_partitions(request))

    async def AlterTopicConfigs(
        self, request: pb.AlterTopicConfigsRequest, context: _Context
    ) -> pb.AlterTopicConfigsResponse:
        return await answered(context, self._topics.alter_topic_configs(request))

    # --- the log ---

    async def Append(
        self, request: pb.AppendRequest, context: _Context
    ) -> pb.AppendResponse:
        return await answered(context, self._appends.append(request))

    async def AppendStream(  # type: ignore[override]
        self, request_iterator: AsyncIterator[pb.AppendFrame], context: _Context
    ) -> None:
        await answered(context, self._appends.append_stream(request_iterator, context))

    async def AppendAtomically(
        self, request: pb.AppendRequest, context: _Context
    ) -> pb.AppendResponse:
        return await answered(context, self._atomic_appends.append(request))

    async def Read(self, request: pb.ReadRequest, context: _Context) -> pb.ReadResponse:
        return await answered(context, self._reads.read(request))

    async def ReadStream(  # type: ignore[override]
        self, request_iterator: AsyncIterator[pb.ReadFrame], context: _Context
    ) -> None:
        await answered(context, self._reads.read_stream(request_iterator, context))

    async def Tail(  # type: ignore[override]
        self, request: pb.TailRequest, context: _Context
    ) -> None:
        await answered(context, _write_all(self._tails.tail(request), context))

    async def FindOffsets(
        self, request: pb.FindOffsetsRequest, context: _Context
    ) -> pb.FindOffsetsResponse:
        return await answered(context, self._lookups.find_offsets(request))

    async def FindEpochEnds(
        self, request: pb.FindEpochEndsRequest, context: _Context
    ) -> pb.FindEpochEndsResponse:
        return await answered(context, self._lookups.find_epoch_ends(request))

    async def DeleteRecords(
        self, request: pb.DeleteRecordsRequest, context: _Context
    ) -> pb.DeleteRecordsResponse:
        return await answered(context, self._lookups.delete_records(request))

    async def DescribeLogs(
        self, request: pb.DescribeLogsRequest, context: _Context
    ) -> pb.DescribeLogsResponse:
        everything = list(self._logs.catalogue.topics())
        return await answered(context, self._lookups.describe_logs(request, everything))

    async def CountRecords(
        self, request: pb.CountRecordsRequest, context: _Context
    ) -> pb.CountRecordsResponse:
        return await answered(context, self._lookups.count_records(request))

    async def AllocateProducerId(
        self, request: pb.AllocateProducerIdRequest, context: _Context
    ) -> pb.AllocateProducerIdResponse:
        return await answered(context, self._cluster.allocate_producer_id())

    # --- transactions ---

    async def BeginTransaction(
        self, request: pb.BeginTransactionRequest, context: _Context
    ) -> pb.BeginTransactionResponse:
        return await answered(context, self._transactions.begin(request))

    async def EndTransaction(
        self, request: pb.EndTransactionRequest, context: _Context
    ) -> pb.EndTransactionResponse:
        return await answered(context, self._transactions.end(request))

    async def DescribeProducers(
        self, request: pb.DescribeProducersRequest, context: _Context
    ) -> pb.DescribeProducersResponse:
        return await answered(context, self._transactions.describe_producers(request))

    # --- groups in Redis ---

    async def Consume(  # type: ignore[override]
        self, request_iterator: AsyncIterator[pb.ConsumeRequest], context: _Context
    ) -> None:
        await answered(context, self._consumes.consume(request_iterator, context.write))

    async def MoveRedisGroups(
        self, request: pb.MoveRedisGroupsRequest, context: _Context
    ) -> pb.MoveRedisGroupsResponse:
        return await answered(context, self._groups.move_redis_groups(request))

    async def DescribeQueue(
        self, request: pb.DescribeQueueRequest, context: _Context
    ) -> pb.DescribeQueueResponse:
        everything = list(self._logs.catalogue.topics())
        return await answered(context, self._groups.describe_queue(request, everything))

    async def DestroyRedisGroup(
        self, request: pb.DestroyRedisGroupRequest, context: _Context
    ) -> pb.DestroyRedisGroupResponse:
        return await answered(context, self._groups.destroy_redis_group(request))

    # --- the cluster ---

    async def WatchCluster(  # type: ignore[override]
        self, request: pb.WatchClusterRequest, context: _Context
    ) -> None:
        await answered(context, _write_all(self._cluster.watch_cluster(), context))

    async def RegisterGateway(
        self, request: pb.RegisterGatewayRequest, context: _Context
    ) -> pb.RegisterGatewayResponse:
        return await answered(context, self._cluster.register_gateway(request))

    async def UnregisterGateway(
        self, request: pb.UnregisterGatewayRequest, context: _Context
    ) -> pb.UnregisterGatewayResponse:
        return await answered(context, self._cluster.unregister_gateway(request))

    async def DescribeServer(
        self, request: pb.DescribeServerRequest, context: _Context
    ) -> pb.DescribeServerResponse:
        return await answered(context, self._cluster.describe_server())

    async def Diagnose(
        self, request: pb.DiagnoseRequest, context: _Context
    ) -> pb.DiagnoseResponse:
        return await answered(context, self._cluster.diagnose())


async def _write_all(messages: AsyncIterator[Any], context: _Context) -> None:
    async for message in messages:
        await context.write(message)
