"""One replica of a service: its channels, and the streams that are kept up to it.

Each stream, and the calls beside them, has a connection of its own, so that the megabytes
of one never hold up the answers of another. A stream that breaks is opened again after a
pause; what was on it is lost for good (`call_stream.Lost`).
"""

import asyncio
import contextlib
import logging
import random
from collections.abc import Callable, Sequence
from typing import Any, Final, Generic, NamedTuple, Protocol, TypeVar

import grpc

from korvet.gateway.call_stream import CallStream, Duplex
from korvet.runtime.cancellation import heed_cancellation
from korvet.runtime.stream_addresses import find_streams
from korvet.runtime.stream_connection import StreamLost

log = logging.getLogger(__name__)

Stub = TypeVar("Stub")

_FIRST_PAUSE: Final = 0.05
_LONGEST_PAUSE: Final = 2.0
# A replica that has ended its streams in order is there for a moment longer.
_PAUSE_WHILE_STOPPING: Final = 0.6
_CONNECT_DEADLINE: Final = 5.0


class Connectable(Protocol):
    """A stream that is yet to be opened (`GrpcStream`)."""

    async def connect(self, address: str) -> Duplex[Any]: ...


class KeptStream(NamedTuple):
    """A stream to keep up, on a connection of its own."""

    kind: str
    calls: CallStream[Any, Any, Any, Any]
    new: Callable[[], Connectable]


class ServiceLink(Generic[Stub]):
    def __init__(
        self,
        service: str,
        address: str,
        *,
        call_channel: grpc.aio.Channel,
        stub: Stub,
        streams: Sequence[KeptStream],
    ) -> None:
        """`stub` is for calls that go over no stream; the first stream tells who is up."""
        self.address = address
        self.name = f"{service} at {address}"
        self.stub = stub
        self._call_channel = call_channel
        self._streams = streams

    @property
    def is_live(self) -> bool:
        return self._streams[0].calls.is_live

    @property
    def is_idle(self) -> bool:
        return not any(stream.calls.open_calls for stream in self._streams)

    @property
    def takes_calls(self) -> bool:
        """Whether a call would leave at once; where not, the channel begins to connect."""
        state = self._call_channel.get_state(try_to_connect=True)
        return state is grpc.ChannelConnectivity.READY

    async def wait_for_calls(self) -> None:
        """Wait until calls can leave, for as long as a replica that was restarted takes.

        gRPC lets calls fail while it pauses between attempts to connect, which it may well
        do for a second after the replica is back.
        """
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_LONGEST_PAUSE):
                await self._call_channel.channel_ready()

    async def wait_until_live(self, time_limit: float) -> bool:
        """Give a link that was just made time to connect; False where it did not."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(time_limit):
                await self._streams[0].calls.wait_until_live()
        return self.is_live

    async def run(self) -> None:
        """Keep the streams up until cancelled, then close everything."""
        try:
            async with asyncio.TaskGroup() as group:
                for stream in self._streams:
                    group.create_task(self._keep_up(stream))
        finally:
            await self._call_channel.close()

    async def _keep_up(self, stream: KeptStream) -> None:
        loop = asyncio.get_running_loop()
        pause = _FIRST_PAUSE
        was_up = True
        while True:
            up_since = None
            reason = "it ended the stream"
            is_stopping = False
            try:
                async with asyncio.timeout(_CONNECT_DEADLINE):
                    address = await find_streams(self._call_channel, self.address)
                    duplex = await stream.new().connect(address)
                up_since = loop.time()
                if not was_up:
                    log.info("%s: %s stream is up again", self.name, stream.kind)
                await stream.calls.run(duplex)
                is_stopping = True
            except TimeoutError:
                reason = "it cannot be reached"
            except StreamLost as error:
                reason = str(error)
            except grpc.aio.AioRpcError as error:
                reason = f"{error.code().name}: {error.details()}"
            heed_cancellation()
            if was_up or up_since is not None:
                log.warning("%s: %s stream lost: %s", self.name, stream.kind, reason)
            was_up = False
            if up_since is not None and loop.time() - up_since > _LONGEST_PAUSE:
                pause = _FIRST_PAUSE
            if is_stopping:
                pause = max(pause, _PAUSE_WHILE_STOPPING)
            # The pauses of many gateways must not fall together.
            await asyncio.sleep(pause * random.uniform(0.5, 1.0))  # noqa: S311
            pause = min(pause * 2, _LONGEST_PAUSE)
