"""One coordinator: a stream for what its groups' members do, and calls beside it.

Joins and syncs are parked on the stream until a rebalance has got that far, and must not
hold up anybody's heartbeats: there is room for many more of them than are ever parked.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Final, Literal, NamedTuple, TypeAlias

import grpc

from korvet.gateway.call_stream import Call, CallStream
from korvet.gateway.service_link import KeptStream, ServiceLink
from korvet.proto.coordinator.v1 import coordinator_service_pb2 as pb
from korvet.proto.coordinator.v1 import coordinator_service_pb2_grpc as pb_grpc
from korvet.runtime.grpc_channel import open_channel
from korvet.runtime.grpc_stream import GrpcStream
from korvet.runtime.rpc_spans import methods_by_field

_SERVICE: Final = pb.DESCRIPTOR.services_by_name["CoordinatorService"]
_GROUP_STREAM: Final = _SERVICE.methods_by_name["GroupStream"]
_TRACED_AS: Final = methods_by_field(_SERVICE, pb.GroupCall.DESCRIPTOR)
_MAX_CALLS: Final = 50_000
_MAX_BYTES: Final = 256 * 1024 * 1024

Kind: TypeAlias = Literal["join", "sync", "heartbeat", "leave", "commit", "fetch"]
StreamRequest: TypeAlias = (
    pb.JoinGroupRequest
    | pb.SyncGroupRequest
    | pb.HeartbeatRequest
    | pb.LeaveGroupRequest
    | pb.CommitOffsetsRequest
    | pb.FetchOffsetsRequest
)


class GroupRequest(NamedTuple):
    """A request, and the field of GroupCall that it goes into."""

    kind: Kind
    message: StreamRequest


GroupStream: TypeAlias = CallStream[
    GroupRequest, pb.GroupResultCall, pb.GroupFrame, pb.GroupResultFrame
]


def new_group_stream(address: str = "") -> GroupStream:
    return CallStream(
        build=_frame,
        unpack=_results,
        max_calls=_MAX_CALLS,
        max_bytes=_MAX_BYTES,
        method=lambda request: _TRACED_AS[request.kind],
        address=address,
    )


class CoordinatorLink(ServiceLink["pb_grpc.CoordinatorServiceAsyncStub"]):
    def __init__(
        self,
        address: str,
        *,
        open_channel: Callable[[str], grpc.aio.Channel] = open_channel,
    ) -> None:
        self.groups = new_group_stream(address)
        call_channel = open_channel(address)
        super().__init__(
            "coordinator",
            address,
            call_channel=call_channel,
            stub=pb_grpc.CoordinatorServiceStub(call_channel),
            streams=[
                KeptStream(
                    "group",
                    self.groups,
                    partial(GrpcStream, _GROUP_STREAM, pb.GroupResultFrame),
                )
            ],
        )


def _frame(
    calls: Sequence[Call[GroupRequest, pb.GroupResultCall]], cancelled: Sequence[int]
) -> pb.GroupFrame:
    frame = pb.GroupFrame(cancelled=cancelled)
    for call in calls:
        added = frame.calls.add()
        added.call = call.number
        if call.span is not None:
            added.traceparent = call.span.traceparent
        getattr(added, call.payload.kind).CopyFrom(call.payload.message)
    return frame


def _results(frame: pb.GroupResultFrame) -> Iterable[tuple[int, pb.GroupResultCall]]:
    return [(answer.call, answer) for answer in frame.calls]
