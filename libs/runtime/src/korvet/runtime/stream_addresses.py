"""Where a server takes streams, how it says so, and how a client finds them."""

from collections.abc import Iterable, Sequence
from typing import Any, Final

import grpc

from korvet.proto.runtime.v1 import stream_service_pb2 as pb
from korvet.proto.runtime.v1 import stream_service_pb2_grpc as pb_grpc

_UNIX: Final = "unix:"
_DEADLINE: Final = 10.0


def stream_listeners(addresses: Iterable[str], port: int) -> list[str]:
    """One for each host and socket at which a server takes its other calls."""
    hosts = dict.fromkeys(
        address.rpartition(":")[0] for address in addresses if not address.startswith(_UNIX)
    )
    sockets = [address for address in addresses if address.startswith(_UNIX)]
    return [f"{host}:{port}" for host in hosts] + [f"{path}+" for path in sockets]


class Announcement(pb_grpc.StreamServiceServicer):
    def __init__(self, addresses: Sequence[str]) -> None:
        """`addresses` are those at which streams are taken."""
        self._addresses = [
            address if address.startswith(_UNIX) else f":{address.rpartition(':')[2]}"
            for address in addresses
        ]

    async def FindStreams(
        self,
        request: pb.FindStreamsRequest,
        context: "grpc.aio.ServicerContext[Any, Any]",
    ) -> pb.FindStreamsResponse:
        return pb.FindStreamsResponse(addresses=self._addresses)


async def find_streams(channel: grpc.aio.Channel, address: str) -> str:
    """Where the server at `address` takes streams; there, if it says nothing else.

    Raises AioRpcError where it cannot be asked.
    """
    stub: pb_grpc.StreamServiceAsyncStub = pb_grpc.StreamServiceStub(channel)
    try:
        found = await stub.FindStreams(
            pb.FindStreamsRequest(), timeout=_DEADLINE, wait_for_ready=True
        )
    except grpc.aio.AioRpcError as error:
        # A server of an earlier release, or one that is not ours.
        if error.code() is grpc.StatusCode.UNIMPLEMENTED:
            return address
        raise
    return suitable(found.addresses, address)


def suitable(announced: Iterable[str], address: str) -> str:
    """The first that can be reached from where `address` can."""
    for each in announced:
        if each.startswith(_UNIX) == address.startswith(_UNIX):
            host = address.rpartition(":")[0]
            return each if each.startswith(_UNIX) else f"{host}{each}"
    return address
