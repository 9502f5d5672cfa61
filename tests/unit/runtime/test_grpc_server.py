"""Over unix sockets: no network, and paths of the test's own."""

from collections.abc import AsyncIterator
from pathlib import Path

import grpc
import pytest
from grpc_reflection.v1alpha import reflection_pb2

from korvet.runtime.grpc_channel import open_channel
from korvet.runtime.grpc_server import GrpcServer, ListenError
from korvet.runtime.health import is_serving

SERVICE = "korvet.proto.storage.v1.StorageService"


@pytest.fixture
def address(tmp_path: Path) -> str:
    return f"unix:{tmp_path}/s.sock"


@pytest.fixture
async def server(address: str) -> AsyncIterator[GrpcServer]:
    server = GrpcServer(addresses=[address], service_names=[SERVICE])
    await server.start()
    yield server
    await server.stop(0)


async def test_health_follows_what_the_service_says(
    server: GrpcServer, address: str
) -> None:
    async with open_channel(address) as channel:
        before = await is_serving(channel)
        await server.set_serving(True)
        during = await is_serving(channel), await is_serving(channel, SERVICE)
        await server.set_serving(False)
        after = await is_serving(channel, SERVICE)

    assert (before, during, after) == (False, (True, True), False)


async def test_reflection_lists_the_services(server: GrpcServer, address: str) -> None:
    async with open_channel(address) as channel:
        reflect = channel.stream_stream(
            "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
            request_serializer=reflection_pb2.ServerReflectionRequest.SerializeToString,
            response_deserializer=reflection_pb2.ServerReflectionResponse.FromString,
        )
        request = reflection_pb2.ServerReflectionRequest(list_services="")
        answers = [answer async for answer in reflect(iter([request]), timeout=5)]

    names = {service.name for service in answers[0].list_services_response.service}
    assert {SERVICE, "grpc.health.v1.Health"} <= names


async def test_messages_far_above_four_mebibytes_pass(
    server: GrpcServer, address: str
) -> None:
    async with open_channel(address) as channel:
        with pytest.raises(grpc.aio.AioRpcError) as raised:
            await is_serving(channel, "x" * (16 * 1024 * 1024), deadline=10)

    # The server read it whole and answered: there is no service with such a name.
    assert raised.value.code() is grpc.StatusCode.NOT_FOUND


async def test_an_address_that_cannot_be_listened_on_is_named(tmp_path: Path) -> None:
    address = f"unix:{tmp_path}/missing/s.sock"
    server = GrpcServer(addresses=[address], service_names=[SERVICE])

    with pytest.raises(ListenError, match=r"missing/s\.sock"):
        await server.start()
    await server.stop(0)


async def test_a_taken_port_is_refused_rather_than_shared() -> None:
    first = GrpcServer(addresses=["127.0.0.1:0"], service_names=[SERVICE])
    (port,) = await first.start()
    second = GrpcServer(addresses=[f"127.0.0.1:{port}"], service_names=[SERVICE])

    with pytest.raises(ListenError, match=str(port)):
        await second.start()
    await second.stop(0)
    await first.stop(0)
