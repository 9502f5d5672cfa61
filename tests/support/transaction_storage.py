"""A StorageService that takes part in transactions, and fails as a test's script says.

For tests of the coordinator: where exactly a call of its gets lost, hangs or is late, a
real storage cannot be told. It keeps no records: what a partition remembers of a producer's
transactions, and the markers that it would have written, are all there is.
"""

import asyncio
from collections import defaultdict, deque
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias, TypeVar

import grpc

from korvet.kafka.errors import ErrorCode
from korvet.proto.storage.v1 import storage_service_pb2 as pb
from korvet.proto.storage.v1 import storage_service_pb2_grpc as pb_grpc
from korvet.runtime.grpc_server import GrpcServer

_Context: TypeAlias = "grpc.aio.ServicerContext[Any, Any]"
_Place = TypeVar("_Place")

Place: TypeAlias = tuple[str, int]
SERVICE_NAME = pb.DESCRIPTOR.services_by_name["StorageService"].full_name
# Whatever its topics are called.
TOPIC_ID = bytes(range(16))


# Not carried out, carried out in the first partition alone, or not answered.
When: TypeAlias = Literal["before", "between", "after"]


class Held:
    """A call that comes so far, and no further until it is released."""

    def __init__(self, when: When) -> None:
        self.when = when
        self.arrived = asyncio.Event()
        self.released = asyncio.Event()

    async def wait(self) -> None:
        self.arrived.set()
        await self.released.wait()

    def release(self) -> None:
        self.released.set()


# Refused with a code, lost on the way in, carried out with its answer lost, or held.
Mishap: TypeAlias = ErrorCode | Literal["lost", "answer lost"] | Held


class Known(NamedTuple):
    """What a partition remembers of a producer."""

    epoch: int
    number: int
    is_open: bool
    coordinator_epoch: int


class Marker(NamedTuple):
    producer_id: int
    epoch: int
    number: int
    is_commit: bool


class TransactionStorage(pb_grpc.StorageServiceServicer):
    """The other RPCs are as generated: unimplemented, though abstract to a type checker."""

    def __init__(self) -> None:
        self.known: defaultdict[Place, dict[int, Known]] = defaultdict(dict)
        self.markers: defaultdict[Place, list[Marker]] = defaultdict(list)
        # By their names; to those who ask by id, there is one topic.
        self.gone: set[str] = set()
        self.calls: list[str] = []
        self._mishaps: defaultdict[str, deque[Mishap]] = defaultdict(deque)
        self._producer_ids = 0

    # --- what tests say and see ---

    def fails(self, method: str, *mishaps: Mishap) -> None:
        """What happens to the next calls of a method, one after the other."""
        self._mishaps[method].extend(mishaps)

    def hold(self, method: str, when: When = "before") -> Held:
        held = Held(when)
        self.fails(method, held)
        return held

    def heals(self) -> None:
        self._mishaps.clear()

    def outcomes(self, topic: str = "orders", partition: int = 0) -> list[tuple[int, bool]]:
        """The markers of a partition: number, whether a commit."""
        return [
            (marker.number, marker.is_commit) for marker in self.markers[topic, partition]
        ]

    def is_open(self, topic: str = "orders", partition: int = 0) -> bool:
        """Whether any transaction is open there."""
        return any(known.is_open for known in self.known[topic, partition].values())

    # --- RPCs ---

    async def AllocateProducerId(
        self, request: pb.AllocateProducerIdRequest, context: _Context
    ) -> pb.AllocateProducerIdResponse:
        def allocate(_: None) -> int:
            self._producer_ids += 1
            return self._producer_ids

        (producer_id,) = await self._call("AllocateProducerId", context, [None], allocate)
        return pb.AllocateProducerIdResponse(producer_id=producer_id)

    async def BeginTransaction(
        self, request: pb.BeginTransactionRequest, context: _Context
    ) -> pb.BeginTransactionResponse:
        def begin(place: Place) -> int:
            return self._begin(place, request.transaction)

        places = _places(request.partitions)
        codes = await self._call("BeginTransaction", context, places, begin)
        return pb.BeginTransactionResponse(error_codes=codes)

    async def EndTransaction(
        self, request: pb.EndTransactionRequest, context: _Context
    ) -> pb.EndTransactionResponse:
        def end(place: Place) -> int:
            return self._end(place, request.transaction, request.commit)

        places = _places(request.partitions)
        codes = await self._call("EndTransaction", context, places, end)
        return pb.EndTransactionResponse(error_codes=codes)

    async def DescribeTopics(
        self, request: pb.DescribeTopicsRequest, context: _Context
    ) -> pb.DescribeTopicsResponse:
        """By id, of which there is one."""
        code = ErrorCode.UNKNOWN_TOPIC_ID if self.gone else ErrorCode.NONE
        results = [pb.TopicResult(error_code=code) for _ in request.topics]
        return pb.DescribeTopicsResponse(topics=results)

    async def WatchCluster(
        self, request: pb.WatchClusterRequest, context: _Context
    ) -> AsyncIterator[pb.ClusterUpdate]:
        # Nothing ever happens.
        await asyncio.Event().wait()
        yield pb.ClusterUpdate()

    async def _call(
        self,
        method: str,
        context: _Context,
        places: Sequence[_Place],
        act: Callable[[_Place], int],
    ) -> list[int]:
        """What is answered for each place."""
        self.calls.append(method)
        mishap = self._mishaps[method].popleft() if self._mishaps[method] else None
        if isinstance(mishap, ErrorCode):
            return [mishap for _ in places]
        if mishap == "lost":
            await context.abort(grpc.StatusCode.UNAVAILABLE, "lost")
        if isinstance(mishap, Held):
            first = {"before": 0, "between": 1, "after": len(places)}[mishap.when]
            answers = [act(place) for place in places[:first]]
            await mishap.wait()
            return answers + [act(place) for place in places[first:]]
        answers = [act(place) for place in places]
        if mishap == "answer lost":
            await context.abort(grpc.StatusCode.UNAVAILABLE, "answer lost")
        return answers

    # --- what a partition does ---

    def _begin(self, place: Place, transaction: pb.Transaction) -> ErrorCode:
        if place[0] in self.gone:
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        known = self.known[place].get(transaction.producer_id)
        if known is not None:
            if transaction.coordinator_epoch < known.coordinator_epoch:
                return ErrorCode.TRANSACTION_COORDINATOR_FENCED
            has_ended = transaction.number == known.number and not known.is_open
            if transaction.number < known.number or has_ended:
                return ErrorCode.INVALID_TXN_STATE
            if transaction.producer_epoch < known.epoch:
                return ErrorCode.INVALID_PRODUCER_EPOCH
        self._remember(place, transaction, is_open=True)
        return ErrorCode.NONE

    def _end(self, place: Place, transaction: pb.Transaction, is_commit: bool) -> ErrorCode:
        if place[0] in self.gone:
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        known = self.known[place].get(transaction.producer_id)
        if known is not None:
            has_ended = transaction.number == known.number and not known.is_open
            if transaction.number < known.number or has_ended:
                return ErrorCode.NONE
            if transaction.coordinator_epoch < known.coordinator_epoch:
                return ErrorCode.TRANSACTION_COORDINATOR_FENCED
            if known.is_open and transaction.number == known.number:
                self.markers[place].append(
                    Marker(
                        transaction.producer_id,
                        transaction.producer_epoch,
                        transaction.number,
                        is_commit,
                    )
                )
        self._remember(place, transaction, is_open=False)
        return ErrorCode.NONE

    def _remember(
        self, place: Place, transaction: pb.Transaction, *, is_open: bool
    ) -> None:
        self.known[place][transaction.producer_id] = Known(
            transaction.producer_epoch,
            transaction.number,
            is_open,
            transaction.coordinator_epoch,
        )


def _places(partitions: Iterable[pb.TransactionPartition]) -> list[Place]:
    places: list[Place] = []
    for each in partitions:
        assert each.topic.id == TOPIC_ID
        places.append((each.topic.name, each.partition))
    return places


async def serve(storage: TransactionStorage, address: str) -> GrpcServer:
    server = GrpcServer(addresses=[address], service_names=[SERVICE_NAME])
    pb_grpc.add_StorageServiceServicer_to_server(storage, server.grpc)
    await server.start()
    return server
