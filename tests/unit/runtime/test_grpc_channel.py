import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from korvet.client import Korvet
from korvet.runtime.grpc_channel import open_channel
from korvet.runtime.grpc_server import GrpcServer
from korvet.runtime.health import is_serving
from tests.support.scripted_storage import SERVICE_NAME, ScriptedStorage, serve

# Longer than gRPC's shortest time for an attempt to connect.
HANDSHAKE = 0.5


@pytest.fixture
async def busy_address(tmp_path: Path) -> AsyncIterator[str]:
    """A server whose first answer takes a while, as on a machine that is busy."""
    storage = ScriptedStorage()  # type: ignore[abstract]  # only in the generated types
    server = await serve(storage, f"unix:{tmp_path}/real.sock")
    await server.set_serving(True)
    clients: set[asyncio.Task[None]] = set()

    async def pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(65536):
            writer.write(data)

    async def forward(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async with contextlib.AsyncExitStack() as stack:
            stack.push_async_callback(close, writer)
            await asyncio.sleep(HANDSHAKE)
            back, forth = await asyncio.open_unix_connection(tmp_path / "real.sock")
            stack.push_async_callback(close, forth)
            pumps = [
                asyncio.ensure_future(pump(reader, forth)),
                asyncio.ensure_future(pump(back, writer)),
            ]
            try:
                await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for each in pumps:
                    each.cancel()
                await asyncio.gather(*pumps, return_exceptions=True)

    async def close(writer: asyncio.StreamWriter) -> None:
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()

    def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(forward(reader, writer))
        clients.add(task)

    front = await asyncio.start_unix_server(accept, tmp_path / "busy.sock")
    yield f"unix:{tmp_path}/busy.sock"
    front.close()
    for task in clients:
        task.cancel()
    await asyncio.gather(*clients, return_exceptions=True)
    await server.stop(0)


async def test_a_server_that_is_slow_to_shake_hands_is_waited_for(
    busy_address: str,
) -> None:
    async with open_channel(busy_address) as channel:
        assert await is_serving(channel, SERVICE_NAME)


async def test_so_it_is_by_the_python_client(busy_address: str) -> None:
    async with Korvet(busy_address) as korvet:
        assert (await korvet.append("orders", b"v")).offset == 0


async def test_a_server_that_comes_back_is_found_within_a_second_or_two(
    tmp_path: Path,
) -> None:
    address = f"unix:{tmp_path}/s.sock"
    async with open_channel(address) as channel:
        for _ in range(3):
            server = GrpcServer(addresses=[address], service_names=[SERVICE_NAME])
            await server.start()
            async with asyncio.timeout(3):
                await channel.channel_ready()
            await server.stop(0)
