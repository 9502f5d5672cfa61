"""Our ends of a stream against each other, and each against gRPC's own other end."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import grpc
import pytest

from korvet.proto.storage.v1 import storage_service_pb2 as pb
from korvet.proto.storage.v1 import storage_service_pb2_grpc as pb_grpc
from korvet.runtime.grpc_channel import open_channel
from korvet.runtime.grpc_server import GrpcServer
from korvet.runtime.grpc_stream import GrpcStream
from korvet.runtime.http2_frames import (
    PREFACE,
    Flag,
    Kind,
    frame,
    header_block,
    settings_frame,
)
from korvet.runtime.stream_addresses import find_streams
from korvet.runtime.stream_connection import StreamLost
from korvet.runtime.stream_server import Method
from tests.support.eventually import eventually

SERVICE: Final = pb.DESCRIPTOR.services_by_name["StorageService"]
PATH: Final = f"/{SERVICE.full_name}/AppendStream"

Handle = Callable[[AsyncIterator[pb.AppendFrame], Any], Awaitable[None]]
Stream = GrpcStream[pb.AppendFrame, pb.AppendedFrame]


def new_stream() -> Stream:
    return GrpcStream(SERVICE.methods_by_name["AppendStream"], pb.AppendedFrame)


def question(number: int, size: int = 0) -> pb.AppendFrame:
    request = pb.AppendRequest(partitions=[pb.PartitionAppend(batch=bytes(size))])
    return pb.AppendFrame(calls=[pb.AppendCall(call=number, request=request)])


def answer(asked: pb.AppendFrame) -> pb.AppendedFrame:
    """As long as the question."""
    (call,) = asked.calls
    text = "x" * len(call.request.partitions[0].batch)
    appended = pb.AppendResponse(partitions=[pb.PartitionAppended(error_message=text)])
    return pb.AppendedFrame(calls=[pb.AppendedCall(call=call.call, response=appended)])


async def echo(frames: AsyncIterator[pb.AppendFrame], context: Any) -> None:
    async for each in frames:
        await context.write(answer(each))


def grpc_handler(handle: Handle) -> grpc.GenericRpcHandler:
    """The same method at grpc.aio's server."""
    method = grpc.stream_stream_rpc_method_handler(
        handle, pb.AppendFrame.FromString, pb.AppendedFrame.SerializeToString
    )
    return grpc.method_handlers_generic_handler(SERVICE.full_name, {"AppendStream": method})


@asynccontextmanager
async def serving(address: str, handle: Handle) -> AsyncIterator[GrpcServer]:
    server = GrpcServer(
        addresses=[address],
        service_names=[],
        streams={PATH: Method(handle, pb.AppendFrame)},
    )
    server.grpc.add_generic_rpc_handlers([grpc_handler(handle)])
    await server.start()
    yield server
    await server.stop(0)


@pytest.fixture(params=["our server", "grpc.aio's server"])
def is_ours(request: pytest.FixtureRequest) -> bool:
    return bool(request.param == "our server")


@pytest.fixture
def address(tmp_path: Path) -> str:
    return f"unix:{tmp_path / 's'}"


@asynccontextmanager
async def streaming(address: str, handle: Handle, is_ours: bool) -> AsyncIterator[Stream]:
    async with serving(address, handle), open_channel(address) as channel:
        where = await find_streams(channel, address) if is_ours else address
        assert (where != address) is is_ours
        stream = await new_stream().connect(where)
        yield stream
        stream.cancel()


@pytest.mark.parametrize("size", [0, 100, 70_000, 3_000_000, 20_000_000])
async def test_messages_of_any_size_go_both_ways(
    address: str, is_ours: bool, size: int
) -> None:
    async with streaming(address, echo, is_ours) as stream:
        for number in range(3):
            await stream.write(question(number, size))
            answered = await stream.read()

            assert answered is not None
            assert answered.calls[0].call == number
            assert len(answered.calls[0].response.partitions[0].error_message) == size


async def test_a_grpc_client_finds_the_streams_too(address: str) -> None:
    async with serving(address, echo), open_channel(address) as channel:
        where = await find_streams(channel, address)
        async with open_channel(where) as stream_channel:
            stub: pb_grpc.StorageServiceAsyncStub
            stub = pb_grpc.StorageServiceStub(stream_channel)
            call = stub.AppendStream()
            await call.write(question(7, 200_000))
            answered = await call.read()
            assert isinstance(answered, pb.AppendedFrame)
            await call.done_writing()

            assert answered.calls[0].call == 7
            assert await call.read() is grpc.aio.EOF
            assert await call.code() is grpc.StatusCode.OK


async def test_many_messages_are_under_way_at_once_and_keep_their_order(
    address: str, is_ours: bool
) -> None:
    async with streaming(address, echo, is_ours) as stream:

        async def write() -> None:
            for number in range(300):
                await stream.write(question(number, 30_000))

        writing = asyncio.create_task(write())
        numbers: list[int] = []
        while len(numbers) < 300:
            answered = await stream.read()
            assert answered is not None
            numbers += [call.call for call in answered.calls]
        await writing

    assert numbers == list(range(300))


async def test_a_stream_that_its_server_ends_in_order_is_over(
    address: str, is_ours: bool
) -> None:
    async def once(frames: AsyncIterator[pb.AppendFrame], context: Any) -> None:
        await context.write(answer(await anext(frames)))

    async with streaming(address, once, is_ours) as stream:
        await stream.write(question(1))

        assert await stream.read() is not None
        assert await stream.read() is None
        with pytest.raises(StreamLost):
            await stream.write(question(2, 100_000))


async def test_what_a_server_has_answered_arrives_though_it_has_not_read_everything(
    address: str, is_ours: bool
) -> None:
    async def once(frames: AsyncIterator[pb.AppendFrame], context: Any) -> None:
        await context.write(answer(await anext(frames)))

    async with streaming(address, once, is_ours) as stream:
        for number in range(100):
            await stream.write(question(number, 1000))

        assert await stream.read() is not None
        assert await stream.read() is None


async def test_why_a_server_has_ended_a_stream_is_told(address: str, is_ours: bool) -> None:
    async def refuse(frames: AsyncIterator[pb.AppendFrame], context: Any) -> None:
        await context.abort(grpc.StatusCode.INVALID_ARGUMENT, "not like this: 100 %")

    async with streaming(address, refuse, is_ours) as stream:
        with pytest.raises(StreamLost, match="status 3: not like this"):
            await stream.read()


async def test_a_bug_in_a_server_ends_its_stream(
    address: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def fail(frames: AsyncIterator[pb.AppendFrame], context: Any) -> None:
        raise ZeroDivisionError

    async with streaming(address, fail, True) as stream:
        with pytest.raises(StreamLost, match="status 2: ZeroDivisionError"):
            await stream.read()

    assert "ZeroDivisionError" in caplog.text


@pytest.mark.parametrize("is_reading", [False, True])
async def test_a_server_notices_that_its_client_has_gone(
    address: str, is_ours: bool, is_reading: bool, caplog: pytest.LogCaptureFixture
) -> None:
    gone = asyncio.Event()

    async def wait(frames: AsyncIterator[pb.AppendFrame], context: Any) -> None:
        await context.write(answer(await anext(frames)))
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(
                    echo(frames, context) if is_reading else asyncio.sleep(60)
                )
        finally:
            gone.set()

    async with streaming(address, wait, is_ours) as stream:
        await stream.write(question(1))
        await stream.read()

        stream.cancel()

        async with asyncio.timeout(5):
            await gone.wait()

    # That is nothing to complain about.
    assert caplog.messages == []


async def test_a_client_notices_that_its_server_has_gone(
    address: str, is_ours: bool
) -> None:
    async def wait(frames: AsyncIterator[pb.AppendFrame], context: Any) -> None:
        await context.write(answer(await anext(frames)))
        await asyncio.Event().wait()

    async with serving(address, wait) as server, open_channel(address) as channel:
        where = await find_streams(channel, address) if is_ours else address
        stream = await new_stream().connect(where)
        await stream.write(question(1))
        await stream.read()

        await server.stop(0)

        with pytest.raises(StreamLost):
            await stream.read()


async def test_a_server_that_stops_gives_streams_time_to_end(address: str) -> None:
    may_end = asyncio.Event()

    async def wait(frames: AsyncIterator[pb.AppendFrame], context: Any) -> None:
        question = await anext(frames)
        await may_end.wait()
        await context.write(answer(question))

    async with serving(address, wait) as server, open_channel(address) as channel:
        stream = await new_stream().connect(await find_streams(channel, address))
        await stream.write(question(1))
        stopping = asyncio.create_task(server.stop(5))
        await asyncio.sleep(0)
        may_end.set()

        assert await stream.read() is not None
        assert await stream.read() is None
        await stopping


async def test_a_writer_waits_while_the_other_end_does_not_read(
    address: str, is_ours: bool
) -> None:
    may_read = asyncio.Event()

    async def late(frames: AsyncIterator[pb.AppendFrame], context: Any) -> None:
        await may_read.wait()
        await echo(frames, context)

    async with streaming(address, late, is_ours) as stream:
        written = 0

        async def write() -> None:
            nonlocal written
            for number in range(200):
                await stream.write(question(number, 1_000_000))
                written += 1

        writing = asyncio.create_task(write())
        before = -1
        while before != written:
            before = written
            await asyncio.sleep(0.1)
        # 200 MB do not fit into what either end holds for the other.
        assert written < 150

        may_read.set()
        for _ in range(200):
            assert await stream.read() is not None
        await writing


async def test_a_method_that_is_not_there_is_told(address: str) -> None:
    async with serving(address, echo), open_channel(address) as channel:
        where = await find_streams(channel, address)
        stream: GrpcStream[pb.ReadFrame, pb.ReadResultFrame] = GrpcStream(
            SERVICE.methods_by_name["ReadStream"], pb.ReadResultFrame
        )
        with pytest.raises(StreamLost, match="status 12: no such method"):
            await (await stream.connect(where)).read()


@pytest.mark.parametrize("noise", [b"GET / HTTP/1.1\r\n\r\n", b"\xff" * 64, b"PRI * H"])
async def test_whoever_does_not_speak_grpc_is_hung_up_on_and_disturbs_nobody(
    address: str, noise: bytes
) -> None:
    async with streaming(address, echo, True) as stream:
        path = address.removeprefix("unix:") + "+"
        reader, writer = await asyncio.open_unix_connection(path)
        writer.write(noise)
        writer.write_eof()
        await reader.read()
        writer.close()

        await stream.write(question(1))
        assert await stream.read() is not None


class Stranger(asyncio.Protocol):
    """Says something, and then nothing any more."""

    def __init__(self, says: bytes) -> None:
        self._says = says
        self.gone = asyncio.Event()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        transport.write(self._says)

    def connection_lost(self, exc: Exception | None) -> None:
        self.gone.set()


@asynccontextmanager
async def stranger(path: Path, says: bytes) -> AsyncIterator[str]:
    protocol = Stranger(says)
    loop = asyncio.get_running_loop()
    async with await loop.create_unix_server(lambda: protocol, str(path)):
        yield f"unix:{path}"
        await protocol.gone.wait()


async def test_a_server_that_does_not_speak_grpc_is_told(tmp_path: Path) -> None:
    async with stranger(tmp_path / "web", b"HTTP/1.1 400 Bad Request\r\n\r\n" * 3) as web:
        with pytest.raises(StreamLost, match="does not speak gRPC"):
            await new_stream().connect(web)


async def test_nobody_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(StreamLost, match="cannot be reached"):
        await new_stream().connect(f"unix:{tmp_path / 'nobody'}")


async def test_a_peer_that_falls_silent_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("korvet.runtime.stream_connection._PING_EVERY", 0.05)
    monkeypatch.setattr("korvet.runtime.stream_connection._PING_DEADLINE", 0.05)

    async with stranger(tmp_path / "silent", settings_frame([])) as silent:
        stream = await new_stream().connect(silent)
        with pytest.raises(StreamLost, match="does not answer any more"):
            await stream.read()


async def test_a_peer_that_answers_pings_is_kept(
    address: str, is_ours: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("korvet.runtime.stream_connection._PING_EVERY", 0.03)
    monkeypatch.setattr("korvet.runtime.stream_connection._PING_DEADLINE", 2.0)
    async with streaming(address, echo, is_ours) as stream:
        await asyncio.sleep(0.2)

        await stream.write(question(1))
        assert await stream.read() is not None


async def test_another_stream_on_a_connection_is_refused_and_disturbs_nothing(
    address: str,
) -> None:
    async with serving(address, echo), open_channel(address) as channel:
        where = await find_streams(channel, address)
        stream = await new_stream().connect(where)
        headers = header_block((b":path", PATH.encode()))
        stream._put(
            frame(Kind.HEADERS, Flag.END_HEADERS, 3, headers)
            + frame(Kind.DATA, Flag.NONE, 3, b"of another stream")
            + frame(Kind.RST_STREAM, Flag.NONE, 3, bytes(4))
        )

        await stream.write(question(1))
        assert await stream.read() is not None
        stream.cancel()


async def test_a_peer_that_asks_and_does_not_read_is_hung_up_on(address: str) -> None:
    async with serving(address, echo), open_channel(address) as channel:
        where = await find_streams(channel, address)
        _, writer = await asyncio.open_unix_connection(where.removeprefix("unix:"))
        ping = frame(Kind.PING, Flag.NONE, 0, bytes(8))
        writer.write(PREFACE)

        async def ask() -> None:
            while True:
                writer.write(ping * 10_000)
                await writer.drain()

        async with asyncio.timeout(30):
            with pytest.raises(ConnectionError):
                await ask()
        writer.close()


async def test_connections_that_have_gone_are_forgotten(address: str) -> None:
    async with serving(address, echo) as server, open_channel(address) as channel:
        where = await find_streams(channel, address)
        for number in range(5):
            stream = await new_stream().connect(where)
            await stream.write(question(number))
            await stream.read()
            stream.cancel()

        await eventually(lambda: server.open_streams == 0)
