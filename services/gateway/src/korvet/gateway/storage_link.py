"""One storage address: a stream for appends, one for reads, and calls beside them.

A producer's batches travel as they are, so frames are filled in place, without a copy more
than protobuf makes.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Final, NamedTuple, TypeAlias

import grpc

from korvet.gateway.call_stream import Call, CallStream
from korvet.gateway.handler import PartitionBatch
from korvet.gateway.service_link import KeptStream, ServiceLink
from korvet.proto.storage.v1 import storage_service_pb2 as pb
from korvet.proto.storage.v1 import storage_service_pb2_grpc as pb_grpc
from korvet.runtime.grpc_channel import open_channel
from korvet.runtime.grpc_stream import GrpcStream
from korvet.runtime.rpc_spans import method_name

_METHODS: Final = pb.DESCRIPTOR.services_by_name["StorageService"].methods_by_name
_APPEND: Final = method_name(_METHODS["Append"])
_READ: Final = method_name(_METHODS["Read"])
_MAX_APPENDS: Final = 2048
_MAX_APPEND_BYTES: Final = 64 * 1024 * 1024
# Reads are parked in storage for as long as nothing arrives, at next to no cost.
_MAX_READS: Final = 20_000
_READ_BYTES: Final = 64
_MAX_READ_BYTES: Final = _MAX_READS * 16 * 1024


class Append(NamedTuple):
    """What one call appends."""

    batches: Sequence[PartitionBatch]
    acks: "pb.Acks.ValueType"
    timeout_ms: int


Appended: TypeAlias = Sequence[pb.PartitionAppended]
Read: TypeAlias = Sequence[pb.PartitionData]
AppendStream: TypeAlias = CallStream[Append, Appended, pb.AppendFrame, pb.AppendedFrame]
ReadStream: TypeAlias = CallStream[pb.ReadRequest, Read, pb.ReadFrame, pb.ReadResultFrame]


def new_append_stream(address: str = "") -> AppendStream:
    return CallStream(
        build=_append_frame,
        unpack=_appended,
        max_calls=_MAX_APPENDS,
        max_bytes=_MAX_APPEND_BYTES,
        method=lambda _: _APPEND,
        address=address,
    )


def new_read_stream(address: str = "") -> ReadStream:
    return CallStream(
        build=_read_frame,
        unpack=_read,
        max_calls=_MAX_READS,
        max_bytes=_MAX_READ_BYTES,
        method=lambda _: _READ,
        address=address,
    )


class StorageLink(ServiceLink["pb_grpc.StorageServiceAsyncStub"]):
    def __init__(
        self,
        address: str,
        *,
        open_channel: Callable[[str], grpc.aio.Channel] = open_channel,
    ) -> None:
        self.appends = new_append_stream(address)
        self.reads = new_read_stream(address)
        call_channel = open_channel(address)
        super().__init__(
            "storage",
            address,
            call_channel=call_channel,
            stub=pb_grpc.StorageServiceStub(call_channel),
            streams=[
                KeptStream(
                    "append",
                    self.appends,
                    partial(GrpcStream, _METHODS["AppendStream"], pb.AppendedFrame),
                ),
                KeptStream(
                    "read",
                    self.reads,
                    partial(GrpcStream, _METHODS["ReadStream"], pb.ReadResultFrame),
                ),
            ],
        )


def append_size(batches: Iterable[PartitionBatch]) -> int:
    """What an append counts for, in frames and in flight."""
    return sum(len(batch.batch) + 64 for batch in batches)


def read_size(request: pb.ReadRequest) -> int:
    return _READ_BYTES * len(request.partitions)


# Sub-messages are filled in place: one that is passed to a constructor is copied once more.


def _append_frame(
    calls: Sequence[Call[Append, Appended]], cancelled: Sequence[int]
) -> pb.AppendFrame:
    frame = pb.AppendFrame()
    for call in calls:
        added = frame.calls.add()
        added.call = call.number
        if call.span is not None:
            added.traceparent = call.span.traceparent
        request = added.request
        request.acks = call.payload.acks
        request.timeout_ms = call.payload.timeout_ms
        for (name, topic_id, partition), batch, own_epoch in call.payload.batches:
            item = request.partitions.add()
            if topic_id:
                item.topic.id = topic_id
            else:
                item.topic.name = name
            item.partition = partition
            item.batch = batch
            if own_epoch:
                item.epoch_per_transaction = True
    return frame


def _appended(frame: pb.AppendedFrame) -> Iterable[tuple[int, Appended]]:
    return [(answer.call, answer.response.partitions) for answer in frame.calls]


def _read_frame(
    calls: Sequence[Call[pb.ReadRequest, Read]], cancelled: Sequence[int]
) -> pb.ReadFrame:
    frame = pb.ReadFrame(cancelled=cancelled)
    for call in calls:
        added = frame.calls.add()
        added.call = call.number
        if call.span is not None:
            added.traceparent = call.span.traceparent
        added.request.CopyFrom(call.payload)
    return frame


def _read(frame: pb.ReadResultFrame) -> Iterable[tuple[int, Read]]:
    return [(answer.call, answer.response.partitions) for answer in frame.calls]
