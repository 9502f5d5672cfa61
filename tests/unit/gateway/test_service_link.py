"""How the streams to one replica are kept up, and let go."""

import asyncio
from typing import cast

import grpc
import pytest
from grpc.aio import AioRpcError, Metadata

from korvet.gateway.service_link import KeptStream, ServiceLink
from korvet.gateway.storage_link import new_append_stream


class ConnectedChannel:
    async def channel_ready(self) -> None:
        return

    async def close(self) -> None:
        return


class StreamThatLosesCancellation:
    """As grpc.aio does with a stream's first read, when the replica dies at that moment."""

    def __init__(self, status: grpc.StatusCode) -> None:
        self._status = status
        self.was_read = asyncio.Event()

    async def write(self, request: object) -> None:
        return

    async def read(self) -> object:
        self.was_read.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            if self._status is not grpc.StatusCode.OK:
                raise AioRpcError(self._status, Metadata(), Metadata()) from None
        return grpc.aio.EOF

    def cancel(self) -> bool:
        return True


@pytest.mark.parametrize("status", [grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.OK])
async def test_a_link_that_is_let_go_while_its_stream_ends_is_let_go(
    status: grpc.StatusCode,
) -> None:
    channel = cast(grpc.aio.Channel, ConnectedChannel())
    duplex = StreamThatLosesCancellation(status)
    streams = iter([duplex])
    stream = KeptStream("append", new_append_stream(), channel, lambda: next(streams))
    link = ServiceLink("storage", "here", call_channel=channel, stub=None, streams=[stream])
    running = asyncio.create_task(link.run())
    await duplex.was_read.wait()

    running.cancel()
    await asyncio.wait([running])

    # And not failed, for want of a second stream.
    assert running.cancelled()
