"""The gRPC servicer: each RPC is one call of the part that answers it.

The generated types know streams only as generators; grpc.aio also takes coroutines that
write to the context, hence the override.
"""

from collections.abc import AsyncIterator, Awaitable, Sequence
from importlib.metadata import version
from typing import Any, TypeAlias, TypeVar

import grpc

from korvet.coordinator.admin_calls import AdminCalls
from korvet.coordinator.group_stream import GroupStream
from korvet.coordinator.membership_calls import MembershipCalls
from korvet.coordinator.offset_calls import OffsetCalls
from korvet.coordinator.refusals import REDIS_IS_AWAY
from korvet.coordinator.transaction_admin import TransactionAdmin
from korvet.coordinator.transaction_calls import TransactionCalls
from korvet.proto.coordinator.v1 import coordinator_service_pb2 as pb
from korvet.proto.coordinator.v1.coordinator_service_pb2_grpc import (
    CoordinatorServiceServicer,
)
from korvet.proto.storage.v1 import storage_service_pb2 as storage_pb

_Context: TypeAlias = "grpc.aio.ServicerContext[Any, Any]"
_Answer = TypeVar("_Answer")


class CoordinatorService(CoordinatorServiceServicer):
    def __init__(
        self,
        *,
        members: MembershipCalls,
        offsets: OffsetCalls,
        admin: AdminCalls,
        transactions: TransactionCalls,
        transaction_admin: TransactionAdmin,
        stream: GroupStream,
        settings: Sequence[storage_pb.Config],
    ) -> None:
        self._members = members
        self._offsets = offsets
        self._admin = admin
        self._transactions = transactions
        self._transaction_admin = transaction_admin
        self._stream = stream
        self._settings = settings

    # --- membership ---

    async def JoinGroup(
        self, request: pb.JoinGroupRequest, context: _Context
    ) -> pb.JoinGroupResponse:
        return await self._members.join(request)

    async def SyncGroup(
        self, request: pb.SyncGroupRequest, context: _Context
    ) -> pb.SyncGroupResponse:
        return await self._members.sync(request)

    async def Heartbeat(
        self, request: pb.HeartbeatRequest, context: _Context
    ) -> pb.HeartbeatResponse:
        return await self._members.heartbeat(request)

    async def LeaveGroup(
        self, request: pb.LeaveGroupRequest, context: _Context
    ) -> pb.LeaveGroupResponse:
        return await self._members.leave(request)

    # --- committed offsets ---

    async def CommitOffsets(
        self, request: pb.CommitOffsetsRequest, context: _Context
    ) -> pb.CommitOffsetsResponse:
        return await self._offsets.commit(request)

    async def FetchOffsets(
        self, request: pb.FetchOffsetsRequest, context: _Context
    ) -> pb.FetchOffsetsResponse:
        return await self._offsets.fetch(request)

    async def DeleteOffsets(
        self, request: pb.DeleteOffsetsRequest, context: _Context
    ) -> pb.DeleteOffsetsResponse:
        return await self._offsets.delete(request)

    async def GroupStream(  # type: ignore[override]
        self, request_iterator: AsyncIterator[pb.GroupFrame], context: _Context
    ) -> None:
        await self._stream.serve(request_iterator, context)

    # --- transactions ---

    async def InitProducer(
        self, request: pb.InitProducerRequest, context: _Context
    ) -> pb.InitProducerResponse:
        return await self._transactions.init_producer(request)

    async def AddPartitions(
        self, request: pb.AddPartitionsRequest, context: _Context
    ) -> pb.AddPartitionsResponse:
        return await self._transactions.add_partitions(request)

    async def AddGroup(
        self, request: pb.AddGroupRequest, context: _Context
    ) -> pb.AddGroupResponse:
        return await self._transactions.add_group(request)

    async def EndTransaction(
        self, request: pb.EndTransactionRequest, context: _Context
    ) -> pb.EndTransactionResponse:
        return await self._transactions.end(request)

    async def CommitTransactionOffsets(
        self, request: pb.CommitTransactionOffsetsRequest, context: _Context
    ) -> pb.CommitOffsetsResponse:
        return await self._offsets.commit_in_transaction(request)

    async def AbortTransaction(
        self, request: pb.AbortTransactionRequest, context: _Context
    ) -> pb.AbortTransactionResponse:
        return await self._transactions.abort(request)

    async def ListTransactions(
        self, request: pb.ListTransactionsRequest, context: _Context
    ) -> pb.ListTransactionsResponse:
        return await _available(context, self._transaction_admin.list_transactions(request))

    async def DescribeTransactions(
        self, request: pb.DescribeTransactionsRequest, context: _Context
    ) -> pb.DescribeTransactionsResponse:
        return await _available(
            context, self._transaction_admin.describe_transactions(request)
        )

    # --- administration ---

    async def ListGroups(
        self, request: pb.ListGroupsRequest, context: _Context
    ) -> pb.ListGroupsResponse:
        return await _available(context, self._admin.list_groups(request))

    async def DescribeGroups(
        self, request: pb.DescribeGroupsRequest, context: _Context
    ) -> pb.DescribeGroupsResponse:
        return await _available(context, self._admin.describe_groups(request))

    async def DeleteGroup(
        self, request: pb.DeleteGroupRequest, context: _Context
    ) -> pb.DeleteGroupResponse:
        return await self._admin.delete_group(request)

    async def FindReaders(
        self, request: pb.FindReadersRequest, context: _Context
    ) -> pb.FindReadersResponse:
        return self._admin.find_readers(request)

    async def DescribeServer(
        self, request: pb.DescribeServerRequest, context: _Context
    ) -> pb.DescribeServerResponse:
        return pb.DescribeServerResponse(
            settings=self._settings, version=version("korvet-coordinator")
        )


async def _available(context: _Context, call: Awaitable[_Answer]) -> _Answer:
    """The call's answer; UNAVAILABLE where Redis gave none."""
    try:
        return await call
    except REDIS_IS_AWAY as error:
        await context.abort(grpc.StatusCode.UNAVAILABLE, f"Redis: {error}")
