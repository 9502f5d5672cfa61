"""The channel to storage, and the one place where a gRPC status becomes an exception."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final, TypeAlias, TypeVar

import grpc

from korvet.client.context_channel import ContextChannel
from korvet.client.errors import UnavailableError
from korvet.proto.storage.v1 import storage_service_pb2_grpc as pb_grpc

# Every call has a deadline; one that waits for records gets its waiting time on top.
CALL_DEADLINE: Final = 30.0

_MAX_MESSAGE_BYTES: Final = 256 * 1024 * 1024
CHANNEL_OPTIONS: Final[tuple[tuple[str, int], ...]] = (
    ("grpc.max_send_message_length", _MAX_MESSAGE_BYTES),
    ("grpc.max_receive_message_length", _MAX_MESSAGE_BYTES),
    ("grpc.keepalive_time_ms", 20_000),
    ("grpc.keepalive_timeout_ms", 10_000),
    # Of every ping; gRPC's own minute counts where it is the longer one.
    ("grpc.http2.ping_timeout_ms", 10_000),
    ("grpc.http2.max_pings_without_data", 0),
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 1_000),
    # Despite its name: how long an attempt to connect may take.
    ("grpc.min_reconnect_backoff_ms", 5_000),
    ("grpc.enable_http_proxy", 0),
)

# How gRPC's words begin where a call never left: its status is the same as for a lost one.
NOT_CONNECTED: Final = ("failed to connect", "errors resolving")

_Answer = TypeVar("_Answer")
_Stub: TypeAlias = "pb_grpc.StorageServiceAsyncStub"


class Connection:
    """To one storage, or to whichever of several can be reached: HOST:PORT,HOST:PORT."""

    def __init__(
        self, address: str, credentials: grpc.ChannelCredentials | None = None
    ) -> None:
        self.address = address
        self._channels = [
            ContextChannel(_channel(each, credentials))
            for each in map(str.strip, address.split(","))
            if each
        ]
        if not self._channels:
            raise ValueError("storage has no address: give HOST:PORT")
        self._stubs: list[_Stub] = [
            pb_grpc.StorageServiceStub(channel) for channel in self._channels
        ]
        self._current = 0

    @property
    def stub(self) -> _Stub:
        """For streams; calls with one answer go through `ask`."""
        return self._stubs[self._current]

    async def ask(self, call: Callable[[_Stub], Awaitable[_Answer]]) -> _Answer:
        """Await the answer to a call; raise UnavailableError where there is none."""
        untried = len(self._stubs)
        while True:
            untried -= 1
            try:
                return await call(self.stub)
            except grpc.aio.AioRpcError as error:
                heed_cancellation()
                self.avoid_unreachable()
                # One that was never sent can go elsewhere, whatever it asks for.
                if not (untried and (error.details() or "").startswith(NOT_CONNECTED)):
                    raise self.unavailable(error) from error
            except asyncio.CancelledError:
                heed_cancellation()
                raise self.unavailable() from None

    def avoid_unreachable(self) -> None:
        """After a failure: if it cannot be connected to, the next address is in use."""
        state = self._channels[self._current].get_state()
        if state is grpc.ChannelConnectivity.TRANSIENT_FAILURE:
            self._current = (self._current + 1) % len(self._channels)

    def unavailable(self, error: grpc.aio.AioRpcError | None = None) -> UnavailableError:
        if error is None:
            return UnavailableError(self.address, "CANCELLED", "the call was broken off")
        return UnavailableError(self.address, error.code().name, error.details() or "")

    async def close(self) -> None:
        for channel in self._channels:
            await channel.close()


def _channel(address: str, credentials: grpc.ChannelCredentials | None) -> grpc.aio.Channel:
    if credentials is None:
        return grpc.aio.insecure_channel(address, options=CHANNEL_OPTIONS)
    return grpc.aio.secure_channel(address, credentials, options=CHANNEL_OPTIONS)


def heed_cancellation() -> None:
    """Raise CancelledError if this task is cancelled, and not only its call.

    grpc.aio raises CancelledError for both: where a server or a closed channel ended the
    call, that must not look as if somebody had cancelled the caller. And of a task that was
    cancelled while its call failed, it may raise the failure alone.
    """
    task = asyncio.current_task()
    if task is not None and task.cancelling() > 0:
        raise asyncio.CancelledError
