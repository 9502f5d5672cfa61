"""Calls to storage: whichever of its replicas answers.

Nothing that is asked here does harm when it is asked twice.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Final, TypeAlias, TypeVar

import grpc

from korvet.proto.storage.v1 import storage_service_pb2 as pb
from korvet.proto.storage.v1 import storage_service_pb2_grpc as pb_grpc
from korvet.runtime.cancellation import heed_cancellation
from korvet.runtime.grpc_channel import open_channel

_DEADLINE: Final = 10.0
# Of what a client waits for.
_SHORT_DEADLINE: Final = 1.5

_Answer = TypeVar("_Answer")
_Stub: TypeAlias = "pb_grpc.StorageServiceAsyncStub"


class StorageAwayError(Exception):
    """No replica has answered."""


class StorageClient:
    def __init__(self, addresses: Sequence[str]) -> None:
        self._channels = [open_channel(address) for address in addresses]
        self._stubs: list[_Stub] = [
            pb_grpc.StorageServiceStub(channel) for channel in self._channels
        ]
        # The one that answered last.
        self._first = 0

    async def close(self) -> None:
        for channel in self._channels:
            await channel.close()

    async def move_redis_groups(
        self, request: pb.MoveRedisGroupsRequest
    ) -> pb.MoveRedisGroupsResponse:
        return await self._ask(
            lambda stub: stub.MoveRedisGroups(request, timeout=_DEADLINE)
        )

    async def destroy_redis_group(
        self, request: pb.DestroyRedisGroupRequest
    ) -> pb.DestroyRedisGroupResponse:
        return await self._ask(
            lambda stub: stub.DestroyRedisGroup(request, timeout=_DEADLINE)
        )

    async def describe_topics(
        self, request: pb.DescribeTopicsRequest
    ) -> pb.DescribeTopicsResponse:
        return await self._ask(lambda stub: stub.DescribeTopics(request, timeout=_DEADLINE))

    async def count_records(
        self, request: pb.CountRecordsRequest
    ) -> pb.CountRecordsResponse:
        return await self._ask(lambda stub: stub.CountRecords(request, timeout=_DEADLINE))

    async def allocate_producer_id(self) -> pb.AllocateProducerIdResponse:
        request = pb.AllocateProducerIdRequest()
        return await self._ask(
            lambda stub: stub.AllocateProducerId(request, timeout=_SHORT_DEADLINE)
        )

    async def begin_transaction(
        self, request: pb.BeginTransactionRequest
    ) -> pb.BeginTransactionResponse:
        return await self._ask(
            lambda stub: stub.BeginTransaction(request, timeout=_SHORT_DEADLINE)
        )

    async def end_transaction(
        self, request: pb.EndTransactionRequest
    ) -> pb.EndTransactionResponse:
        return await self._ask(lambda stub: stub.EndTransaction(request, timeout=_DEADLINE))

    async def watch_cluster(self) -> AsyncIterator[pb.ClusterUpdate]:
        """Follow the cluster for as long as a replica tells of it."""
        try:
            stub = self._stubs[self._first]
            async for update in stub.WatchCluster(pb.WatchClusterRequest()):
                yield update
        except grpc.aio.AioRpcError as error:
            heed_cancellation()
            self._first = (self._first + 1) % len(self._stubs)
            raise StorageAwayError(error.details()) from error

    async def _ask(self, invoke: Callable[[_Stub], Awaitable[_Answer]]) -> _Answer:
        reason = ""
        for _ in self._stubs:
            try:
                return await invoke(self._stubs[self._first])
            except grpc.aio.AioRpcError as error:
                heed_cancellation()
                reason = f"{error.code().name}: {error.details()}"
                self._first = (self._first + 1) % len(self._stubs)
        raise StorageAwayError(reason)
