"""A StorageService that only notes which of Kafka's groups Redis would show, and where.

For tests of the coordinator: it can be away for as long as a test likes.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeAlias

import grpc

from korvet.proto.storage.v1 import storage_service_pb2 as pb
from korvet.proto.storage.v1 import storage_service_pb2_grpc as pb_grpc
from korvet.runtime.grpc_server import GrpcServer

_Context: TypeAlias = "grpc.aio.ServicerContext[Any, Any]"


class GroupStorage(pb_grpc.StorageServiceServicer):
    """The other RPCs are as generated: unimplemented, though abstract to a type checker."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.is_away = False
        # By group, topic and partition, the offset before which it stands.
        self.shown: dict[tuple[str, str, int], int] = {}
        # Of how many partitions each call has destroyed a group.
        self.destroyed: list[int] = []
        # By name, those that deliver through Redis's groups; each has two partitions.
        self.topics = {"orders": False, "delivered": True}

    async def DescribeTopics(
        self, request: pb.DescribeTopicsRequest, context: _Context
    ) -> pb.DescribeTopicsResponse:
        await self._answer(context)
        response = pb.DescribeTopicsResponse()
        for _ in request.topics:
            response.topics.add()
        if request.all:
            for name, delivers in self.topics.items():
                topic = pb.Topic(
                    name=name, leader_epochs=[0, 0], delivers_through_redis=delivers
                )
                response.topics.add(topic=topic)
        return response

    async def MoveRedisGroups(
        self, request: pb.MoveRedisGroupsRequest, context: _Context
    ) -> pb.MoveRedisGroupsResponse:
        await self._answer(context)
        for position in request.positions:
            place = position.group, position.topic.name, position.partition
            self.shown[place] = position.offset
        return pb.MoveRedisGroupsResponse(error_codes=[0] * len(request.positions))

    async def DestroyRedisGroup(
        self, request: pb.DestroyRedisGroupRequest, context: _Context
    ) -> pb.DestroyRedisGroupResponse:
        await self._answer(context)
        self.destroyed.append(len(request.partitions))
        for each in request.partitions:
            self.shown.pop((request.group, each.topic.name, each.partition), None)
        return pb.DestroyRedisGroupResponse()

    async def _answer(self, context: _Context) -> None:
        if self.is_away:
            await context.abort(grpc.StatusCode.UNAVAILABLE, "away")


@asynccontextmanager
async def group_storage_in(sockets: Path) -> AsyncIterator[GroupStorage]:
    storage = GroupStorage(f"unix:{sockets}/group-storage.sock")  # type: ignore[abstract]
    server = GrpcServer(addresses=[storage.address], service_names=[])
    pb_grpc.add_StorageServiceServicer_to_server(storage, server.grpc)
    await server.start()
    yield storage
    await server.stop(0)
