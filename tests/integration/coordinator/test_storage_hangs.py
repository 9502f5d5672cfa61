"""A storage that takes calls and does not answer: what groups' members get to feel."""

import asyncio
import tempfile
from collections.abc import AsyncIterator

import pytest

from korvet.kafka.errors import ErrorCode
from korvet.proto.storage.v1 import storage_service_pb2 as pb
from korvet.proto.storage.v1 import storage_service_pb2_grpc as pb_grpc
from korvet.runtime.grpc_server import GrpcServer
from tests.support.coordinator_replica import StartCoordinator

pytestmark = pytest.mark.integration

# Half of the time after which a coordinator gives up on storage.
_AT_ONCE = 5.0


class HangingStorage(pb_grpc.StorageServiceServicer):
    """The RPCs that are not here are as generated: unimplemented."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.is_asked = asyncio.Event()
        self.has_recovered = asyncio.Event()

    async def DescribeTopics(
        self, request: pb.DescribeTopicsRequest, context: object
    ) -> pb.DescribeTopicsResponse:
        self.is_asked.set()
        await self.has_recovered.wait()
        return pb.DescribeTopicsResponse()

    async def DestroyRedisGroup(
        self, request: pb.DestroyRedisGroupRequest, context: object
    ) -> pb.DestroyRedisGroupResponse:
        return pb.DestroyRedisGroupResponse()


@pytest.fixture
async def storage() -> AsyncIterator[HangingStorage]:
    with tempfile.TemporaryDirectory(prefix="korvet-") as folder:
        storage = HangingStorage(f"unix:{folder}/storage.sock")  # type: ignore[abstract]
        server = GrpcServer(addresses=[storage.address], service_names=[])
        pb_grpc.add_StorageServiceServicer_to_server(storage, server.grpc)
        await server.start()
        yield storage
        await server.stop(0)


async def test_members_go_on_while_their_offsets_are_looked_after(
    start_coordinator: StartCoordinator, storage: HangingStorage
) -> None:
    coordinator = await start_coordinator(
        storage_address=storage.address, offsets_retention_check_interval_ms=50
    )
    member = await coordinator.member("group")
    await coordinator.commit("group", 5, member)

    await storage.is_asked.wait()

    async with asyncio.timeout(_AT_ONCE):
        assert await coordinator.heartbeat("group", member) is ErrorCode.NONE
        committed = await coordinator.commit("group", 6, member)
        again = await coordinator.join("group", member.member_id)
    assert (committed.error_code, again.error_code) == (ErrorCode.NONE, ErrorCode.NONE)


async def test_who_comes_while_a_group_is_deleted_is_told_to_look_again(
    start_coordinator: StartCoordinator, storage: HangingStorage
) -> None:
    coordinator = await start_coordinator(storage_address=storage.address)
    await coordinator.commit("group", 5)
    deleting = asyncio.create_task(coordinator.delete("group"))
    await storage.is_asked.wait()

    late = asyncio.create_task(coordinator.commit("group", 6))
    # It is there by the time that this call, made after it, is answered.
    await coordinator.describe("group")
    storage.has_recovered.set()

    assert await deleting is ErrorCode.NONE
    # Gateways then ask once more, and it is a commit from outside to a new group.
    assert (await late).error_code in (ErrorCode.NOT_COORDINATOR, ErrorCode.NONE)
    assert (await coordinator.commit("group", 6)).error_code == ErrorCode.NONE
