"""A StorageService that keeps logs in memory and fails as a test's script says.

For tests of clients: what they do when calls fail is theirs to decide, and a real service
cannot be made to fail at such exact points.
"""

import asyncio
from collections import defaultdict, deque
from collections.abc import AsyncIterator
from typing import Literal, TypeAlias

import grpc

from korvet.proto.storage.v1 import storage_service_pb2 as pb
from korvet.proto.storage.v1 import storage_service_pb2_grpc as pb_grpc
from korvet.runtime.grpc_server import GrpcServer

# What happens to a call: it is refused with a code, lost before it reaches the log, carried
# out with its answer lost, or stuck for ever.
Mishap: TypeAlias = int | Literal["lost", "answer lost", "stuck"]

_EARLIEST = -2
_UNKNOWN_TOPIC_ID = 100

SERVICE_NAME = pb.DESCRIPTOR.services_by_name["StorageService"].full_name


class ScriptedStorage(pb_grpc.StorageServiceServicer):
    """Serves the RPCs that clients need to append and to follow.

    The others are as generated: unimplemented, though abstract to a type checker.
    """

    def __init__(self, partitions: int = 1) -> None:
        self.appended = asyncio.Event()
        self.stuck = asyncio.Event()
        self.partitions = partitions
        self.logs: defaultdict[int, list[pb.Record]] = defaultdict(list)
        self.mishaps: deque[Mishap] = deque()
        self.sequences: list[tuple[int, int]] = []
        self.tail_breaks_after: deque[int] = deque()
        # Whether those breaks are ends in good order, as of a storage told to stop.
        self.tail_ends_orderly = False
        self.topic_id = bytes(16)
        self._producer_ids = 0
        self._bases: dict[tuple[int, int, int], int] = {}
        self._grown = asyncio.Condition()

    async def AllocateProducerId(
        self, request: pb.AllocateProducerIdRequest, context: object
    ) -> pb.AllocateProducerIdResponse:
        self._producer_ids += 1
        return pb.AllocateProducerIdResponse(producer_id=self._producer_ids)

    async def DescribeTopics(
        self, request: pb.DescribeTopicsRequest, context: object
    ) -> pb.DescribeTopicsResponse:
        topic = pb.Topic(
            name=request.topics[0].name,
            id=self.topic_id,
            leader_epochs=[0] * self.partitions,
        )
        return pb.DescribeTopicsResponse(topics=[pb.TopicResult(topic=topic)])

    async def Append(
        self,
        request: pb.AppendRequest,
        context: "grpc.aio.ServicerContext[pb.AppendRequest, pb.AppendResponse]",
    ) -> pb.AppendResponse:
        mishap = self.mishaps.popleft() if self.mishaps else None
        if mishap == "lost":
            await context.abort(grpc.StatusCode.UNAVAILABLE, "lost")
        if mishap == "stuck":
            self.stuck.set()
            await asyncio.Event().wait()
        if isinstance(mishap, int):
            answer = pb.PartitionAppended(error_code=mishap)
            return pb.AppendResponse(partitions=[answer])
        (append,) = request.partitions
        if append.partition >= self.partitions:
            return pb.AppendResponse(partitions=[pb.PartitionAppended(error_code=3)])
        base = await self._append(append)
        if mishap == "answer lost":
            await context.abort(grpc.StatusCode.UNAVAILABLE, "answer lost")
        return pb.AppendResponse(partitions=[pb.PartitionAppended(base_offset=base)])

    async def _append(self, append: pb.PartitionAppend) -> int:
        producer = append.records.producer
        self.sequences.append((producer.producer_id, producer.base_sequence))
        batch = (append.partition, producer.producer_id, producer.base_sequence)
        if batch not in self._bases:
            log = self.logs[append.partition]
            self._bases[batch] = len(log)
            for record in append.records.records:
                log.append(pb.Record())
                log[-1].CopyFrom(record)
                log[-1].offset = len(log) - 1
            self.appended.set()
            async with self._grown:
                self._grown.notify_all()
        return self._bases[batch]

    async def FindOffsets(
        self, request: pb.FindOffsetsRequest, context: object
    ) -> pb.FindOffsetsResponse:
        found = [
            pb.FindOffsetsResponse.Found(
                offset=0
                if each.timestamp_ms == _EARLIEST
                else len(self.logs[each.partition])
            )
            for each in request.positions
        ]
        return pb.FindOffsetsResponse(found=found)

    async def Tail(
        self,
        request: pb.TailRequest,
        context: "grpc.aio.ServicerContext[pb.TailRequest, pb.TailResponse]",
    ) -> AsyncIterator[pb.TailResponse]:
        (partition,) = request.partitions
        if request.topic.id and request.topic.id != self.topic_id:
            yield pb.TailResponse(error_code=_UNKNOWN_TOPIC_ID)
            return
        left = self.tail_breaks_after.popleft() if self.tail_breaks_after else -1
        log, offset = self.logs[partition], request.offset
        while True:
            while offset < len(log):
                if left == 0 and self.tail_ends_orderly:
                    return
                if left == 0:
                    await context.abort(grpc.StatusCode.UNAVAILABLE, "broken off")
                left -= 1
                record, offset = log[offset], offset + 1
                yield pb.TailResponse(
                    partition=partition, records=[record], next_offset=offset
                )
            async with self._grown:
                while offset >= len(log):
                    await self._grown.wait()


async def serve(storage: ScriptedStorage, address: str) -> GrpcServer:
    server = GrpcServer(addresses=[address], service_names=[SERVICE_NAME])
    pb_grpc.add_StorageServiceServicer_to_server(storage, server.grpc)
    await server.start()
    return server
