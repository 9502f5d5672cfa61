"""A consumer of a work queue: `Consume` as a gRPC client uses it, without the network."""

import asyncio
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from typing import Any, TypeAlias

from korvet.kafka.errors import ErrorCode
from korvet.proto.storage.v1 import storage_service_pb2 as pb
from korvet.storage.consume_calls import ConsumeCalls
from tests.support.log_replica import KEYS, LogReplica, ref

Delivery: TypeAlias = pb.ConsumeResponse.Delivery

PATIENCE = 20.0


class QueueConsumer:
    def __init__(self, calls: ConsumeCalls, start: pb.ConsumeRequest.Start) -> None:
        self._requests: asyncio.Queue[pb.ConsumeRequest | None] = asyncio.Queue()
        self._requests.put_nowait(pb.ConsumeRequest(start=start))
        self._deliveries: asyncio.Queue[Delivery] = asyncio.Queue()
        self._settled: set[tuple[int, int]] = set()
        self._changed = asyncio.Event()
        self.error = ErrorCode.NONE
        self._running = asyncio.create_task(calls.consume(self._sent(), self._write))

    async def _sent(self) -> AsyncIterator[pb.ConsumeRequest]:
        while request := await self._requests.get():
            yield request

    async def _write(self, response: pb.ConsumeResponse) -> None:
        self.error = ErrorCode(response.error_code)
        for delivery in response.deliveries:
            self._deliveries.put_nowait(delivery)
        self._settled |= {(each.partition, each.offset) for each in response.settled}
        self._changed.set()

    @property
    def waiting(self) -> int:
        """Deliveries that nobody has looked at yet."""
        return self._deliveries.qsize()

    async def next(self) -> Delivery:
        async with asyncio.timeout(PATIENCE):
            return await self._deliveries.get()

    async def take(self, count: int) -> list[Delivery]:
        return [await self.next() for _ in range(count)]

    def send(
        self, *, acknowledged: Iterable[Delivery] = (), released: Iterable[Delivery] = ()
    ) -> None:
        self._requests.put_nowait(
            pb.ConsumeRequest(
                acknowledged=[_position(each) for each in acknowledged],
                released=[_position(each) for each in released],
            )
        )

    async def acknowledge(self, *deliveries: Delivery) -> None:
        """Return once storage says that it is done."""
        self.send(acknowledged=deliveries)
        await self._until_settled(deliveries)

    async def release(self, *deliveries: Delivery) -> None:
        self.send(released=deliveries)
        await self._until_settled(deliveries)

    async def _until_settled(self, deliveries: Sequence[Delivery]) -> None:
        wanted = {(each.partition, each.record.offset) for each in deliveries}
        async with asyncio.timeout(PATIENCE):
            while not wanted <= self._settled:
                self._changed.clear()
                await self._changed.wait()
        self._settled -= wanted

    async def refused(self) -> ErrorCode:
        """Wait for the stream to end by itself; the error that it ended with."""
        async with asyncio.timeout(PATIENCE):
            await self._running
        return self.error

    async def finish(self) -> None:
        """End the stream in an orderly way."""
        self._requests.put_nowait(None)
        async with asyncio.timeout(PATIENCE):
            await self._running

    async def die(self) -> None:
        """Break the stream off, as a lost connection does."""
        self._running.cancel()
        await asyncio.gather(self._running, return_exceptions=True)


def _position(delivery: Delivery) -> pb.ConsumeRequest.Position:
    return pb.ConsumeRequest.Position(
        partition=delivery.partition, offset=delivery.record.offset
    )


@asynccontextmanager
async def consumer_of(
    calls: ConsumeCalls,
    topic: str | bytes = "orders",
    *,
    group: str = "workers",
    name: str = "worker-1",
    partitions: Sequence[int] = (),
    max_in_flight: int = 0,
    redeliver_after_ms: int = 0,
    timestamp_ms: int | None = None,
) -> AsyncIterator[QueueConsumer]:
    start = pb.ConsumeRequest.Start(
        topic=ref(topic),
        partitions=partitions,
        group=group,
        consumer=name,
        max_in_flight=max_in_flight,
        redeliver_after_ms=redeliver_after_ms,
        timestamp_ms=timestamp_ms,
    )
    consumer = QueueConsumer(calls, start)
    try:
        yield consumer
    finally:
        await consumer.die()


async def pending(replica: LogReplica, partition: int = 0) -> dict[str, int]:
    """How many entries each consumer has, as anybody sees it at a Redis prompt."""
    stream = KEYS.stream("orders", partition)
    found: Any = await replica.redis.xpending(stream, "workers")
    return {each["name"]: each["pending"] for each in found["consumers"]}
