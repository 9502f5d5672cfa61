"""A coordinator on a real Redis, in this process, called over real gRPC.

Unless it is given one, it has no storage: what it would show in Redis's own groups is shown
nowhere.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Self

import grpc

from korvet.coordinator.server import CoordinatorServer
from korvet.coordinator.settings import CoordinatorSettings
from korvet.kafka.errors import ErrorCode
from korvet.proto.coordinator.v1 import coordinator_service_pb2 as pb
from korvet.proto.coordinator.v1 import coordinator_service_pb2_grpc as pb_grpc
from korvet.runtime.grpc_channel import open_channel
from korvet.runtime.health import is_serving
from tests.support.eventually import eventually

TOPIC_ID = bytes(range(16))
DEADLINE = 10.0


class CoordinatorReplica:
    def __init__(self, redis_url: str, address: str, settings: Mapping[str, Any]) -> None:
        self.address = address
        self._settings = CoordinatorSettings(
            redis_url=redis_url,  # type: ignore[arg-type]
            listen_address=address,
            **{
                "storage_address": "unix:/nowhere.sock",
                "group_initial_rebalance_delay_ms": 0,
                **settings,
            },
        )
        self._channel = open_channel(address)
        self.stub: pb_grpc.CoordinatorServiceAsyncStub = pb_grpc.CoordinatorServiceStub(
            self._channel
        )
        self._stop = asyncio.Event()
        self._running: asyncio.Task[None] | None = None

    async def start(self) -> Self:
        self._stop = asyncio.Event()
        self._running = asyncio.create_task(
            CoordinatorServer(self._settings).run(self._stop)
        )
        await eventually(self.is_ready)
        return self

    async def is_ready(self) -> bool:
        try:
            return await is_serving(self._channel)
        except grpc.aio.AioRpcError:
            return False

    async def stop(self) -> None:
        """In order, handing its groups over."""
        self._stop.set()
        assert self._running is not None
        await self._running

    async def crash(self) -> None:
        """End without a word: its registration stays until it lapses."""
        assert self._running is not None
        self._running.cancel()
        await asyncio.gather(self._running, return_exceptions=True)

    async def close(self) -> None:
        await self.crash()
        await self._channel.close()

    # --- calls ---

    async def join(
        self, group: str, member: str = "", **fields: Any
    ) -> pb.JoinGroupResponse:
        """One join; it waits for the others of its group."""
        request = {
            "protocol_type": "consumer",
            "protocols": [pb.MemberProtocol(name="range", metadata=b"")],
            "session_timeout_ms": 10_000,
            "rebalance_timeout_ms": 10_000,
            **fields,
        }
        return await self.stub.JoinGroup(
            pb.JoinGroupRequest(group_id=group, member_id=member, **request),
            timeout=DEADLINE,
        )

    async def sync(
        self,
        group: str,
        joined: pb.JoinGroupResponse,
        assignments: Mapping[str, bytes] | None = None,
    ) -> pb.SyncGroupResponse:
        request = pb.SyncGroupRequest(
            group_id=group,
            generation_id=joined.generation_id,
            member_id=joined.member_id,
        )
        for member_id, assignment in (assignments or {}).items():
            request.assignments.add(member_id=member_id, assignment=assignment)
        return await self.stub.SyncGroup(request, timeout=DEADLINE)

    async def member(self, group: str, **fields: Any) -> pb.JoinGroupResponse:
        """The one member of a stable group."""
        joined = await self.join(group, **fields)
        assert joined.error_code == ErrorCode.NONE, joined
        synced = await self.sync(group, joined, {joined.member_id: b"everything"})
        assert synced.assignment == b"everything"
        return joined

    async def leads_alone(self, group: str, member: pb.JoinGroupResponse) -> bool:
        """Whether nobody else is in the group in which this member joins again."""
        joined = await self.join(group, member.member_id)
        await self.sync(group, joined)
        return [each.member_id for each in joined.members] == [member.member_id]

    async def heartbeat(self, group: str, joined: pb.JoinGroupResponse) -> ErrorCode:
        request = pb.HeartbeatRequest(
            group_id=group,
            generation_id=joined.generation_id,
            member_id=joined.member_id,
        )
        return ErrorCode((await self.stub.Heartbeat(request, timeout=DEADLINE)).error_code)

    async def commit(
        self,
        group: str,
        offset: int,
        joined: pb.JoinGroupResponse | None = None,
        *,
        topic: str = "orders",
        partition: int = 0,
        leader_epoch: int = -1,
        metadata: str = "",
    ) -> pb.CommitOffsetsResponse:
        """By a member, or from outside."""
        request = pb.CommitOffsetsRequest(
            group_id=group,
            generation_id=joined.generation_id if joined else -1,
            member_id=joined.member_id if joined else "",
        )
        request.offsets.add(
            topic=topic,
            topic_id=TOPIC_ID,
            partition=partition,
            offset=offset,
            leader_epoch=leader_epoch,
            metadata=metadata,
        )
        return await self.stub.CommitOffsets(request, timeout=DEADLINE)

    async def committed(self, group: str) -> dict[tuple[str, int], int]:
        request = pb.FetchOffsetsRequest(group_id=group, all=True)
        response = await self.stub.FetchOffsets(request, timeout=DEADLINE)
        assert response.error_code == ErrorCode.NONE
        return {(each.topic, each.partition): each.offset for each in response.offsets}

    async def describe(self, group: str) -> pb.DescribeGroupsResponse.Group:
        request = pb.DescribeGroupsRequest(group_ids=[group])
        return (await self.stub.DescribeGroups(request, timeout=DEADLINE)).groups[0]

    async def delete(self, group: str) -> ErrorCode:
        request = pb.DeleteGroupRequest(group_id=group)
        response = await self.stub.DeleteGroup(request, timeout=DEADLINE)
        return ErrorCode(response.error_code)


class StartCoordinator:
    """Starts coordinators of a test on one Redis; all end with it."""

    def __init__(self, redis_url: str, folder: Path) -> None:
        self._redis_url = redis_url
        self._folder = folder
        self._replicas: list[CoordinatorReplica] = []

    async def __call__(self, name: str = "first", **settings: Any) -> CoordinatorReplica:
        address = f"unix:{self._folder / name}.sock"
        replica = CoordinatorReplica(self._redis_url, address, settings)
        self._replicas.append(replica)
        return await replica.start()

    async def close(self) -> None:
        for replica in self._replicas:
            await replica.close()


@asynccontextmanager
async def coordinators_on(redis_url: str, folder: Path) -> AsyncIterator[StartCoordinator]:
    start = StartCoordinator(redis_url, folder)
    try:
        yield start
    finally:
        await start.close()
