"""How the streams to one replica are kept up, and let go."""

import asyncio
from typing import cast

import grpc

from korvet.gateway.service_link import KeptStream, ServiceLink
from korvet.gateway.storage_link import new_append_stream
from tests.support.fake_duplex import FakeDuplex


class Channel:
    """To a server that says nothing of streams, so that they are where it is."""

    def unary_unary(self, *_: object, **__: object) -> "Channel":
        return self

    async def __call__(self, *_: object, **__: object) -> None:
        code = grpc.StatusCode.UNIMPLEMENTED
        nothing = grpc.aio.Metadata()
        raise grpc.aio.AioRpcError(code, nothing, nothing)

    async def close(self) -> None:
        return


class Stream(FakeDuplex[object]):
    def __init__(self) -> None:
        super().__init__()
        self.address = ""
        self.connected = asyncio.Event()

    async def connect(self, address: str) -> "Stream":
        self.address = address
        self.connected.set()
        return self


async def test_a_link_opens_its_streams_again_until_it_is_let_go() -> None:
    channel = cast(grpc.aio.Channel, Channel())
    first, second = Stream(), Stream()
    streams = iter([first, second])
    stream = KeptStream("append", new_append_stream(), lambda: next(streams))
    link = ServiceLink("storage", "here", call_channel=channel, stub=None, streams=[stream])
    running = asyncio.create_task(link.run())

    await first.connected.wait()
    first.cancel()
    await second.connected.wait()
    running.cancel()
    await asyncio.wait([running])

    assert (first.address, second.address) == ("here", "here")
    assert second.is_cancelled
    assert running.cancelled()
