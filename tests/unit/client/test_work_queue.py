"""The client's side of a work queue: what a caller sees of breaks, refusals and the end."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path

import pytest

from korvet.client import Delivery, Korvet, KorvetError, UnavailableError
from tests.support.scripted_queue import ScriptedQueue
from tests.support.scripted_storage import serve

KAFKA_STORAGE_ERROR = 56
INCONSISTENT_GROUP_PROTOCOL = 23


@pytest.fixture
def storage() -> ScriptedQueue:
    return ScriptedQueue()  # type: ignore[abstract]  # only in the generated types


@pytest.fixture
async def korvet(storage: ScriptedQueue, tmp_path: Path) -> AsyncIterator[Korvet]:
    address = f"unix:{tmp_path}/s.sock"
    server = await serve(storage, address)
    async with Korvet(address, retry_for=5) as korvet:
        yield korvet
    await server.stop(0)


def offset(delivery: Delivery) -> int:
    return delivery.record.offset


async def test_a_record_is_acknowledged_when_storage_says_so(
    storage: ScriptedQueue, korvet: Korvet
) -> None:
    async with aclosing(korvet.consume("orders", group="workers")) as deliveries:
        getting = asyncio.ensure_future(anext(deliveries))
        stream = await storage.stream()
        stream.deliver(7, count=3)
        delivery = await getting
        acking = asyncio.ensure_future(delivery.ack())

        assert await stream.request() == ([7], [])
        assert not acking.done()
        stream.settle(7)
        await acking

    assert (delivery.record.value, delivery.delivery_count) == (b"7", 3)
    assert delivery.record.topic == "orders"


async def test_what_the_caller_asks_for_is_what_storage_hears(
    storage: ScriptedQueue, korvet: Korvet
) -> None:
    consuming = korvet.consume(
        "orders",
        group="workers",
        consumer="me",
        max_in_flight=7,
        redeliver_after=1.5,
        start="latest",
        partitions=[0, 2],
    )
    async with aclosing(consuming) as deliveries:
        getting = asyncio.ensure_future(anext(deliveries))
        start = (await storage.stream()).start
        getting.cancel()
        await asyncio.gather(getting, return_exceptions=True)

    assert (start.topic.name, start.topic.id) == ("orders", bytes(16))
    assert (start.group, start.consumer) == ("workers", "me")
    assert (start.max_in_flight, start.redeliver_after_ms) == (7, 1500)
    assert start.timestamp_ms == -1
    assert list(start.partitions) == [0, 2]


async def test_two_consumers_have_different_names(
    storage: ScriptedQueue, korvet: Korvet
) -> None:
    names: set[str] = set()
    for _ in range(2):
        async with aclosing(korvet.consume("orders", group="workers")) as deliveries:
            getting = asyncio.ensure_future(anext(deliveries))
            stream = await storage.stream()
            stream.deliver(1)
            await getting
            names.add(stream.start.consumer)

    assert len(names) == 2


async def test_a_break_goes_unnoticed_by_who_works_on_a_record(
    storage: ScriptedQueue, korvet: Korvet
) -> None:
    async with aclosing(korvet.consume("orders", group="workers")) as deliveries:
        getting = asyncio.ensure_future(anext(deliveries))
        stream = await storage.stream()
        stream.deliver(1, 2, 3)
        held = await getting
        acking = asyncio.ensure_future((await anext(deliveries)).ack())
        assert await stream.request() == ([2], [])
        stream.break_off()

        again = await storage.stream()
        again.deliver(1, 2, 3, count=2)
        assert again.start == stream.start
        assert await again.request() == ([2], [])
        again.settle(2)
        await acking
        unseen = await anext(deliveries)
        again.deliver(4)
        following = await anext(deliveries)
        acking = asyncio.ensure_future(held.ack())
        assert await again.request() == ([1], [])
        again.settle(1)
        await acking

    assert offset(held) == 1
    assert (offset(unseen), unseen.delivery_count) == (3, 2)
    assert offset(following) == 4


async def test_a_record_that_was_left_lying_is_yielded_again(
    storage: ScriptedQueue, korvet: Korvet
) -> None:
    async with aclosing(korvet.consume("orders", group="workers")) as deliveries:
        getting = asyncio.ensure_future(anext(deliveries))
        stream = await storage.stream()
        stream.deliver(1)
        await getting
        stream.deliver(1, count=2)

        again = await anext(deliveries)

    assert (offset(again), again.delivery_count) == (1, 2)


async def test_another_record_at_the_same_offset_is_not_taken_for_the_first(
    storage: ScriptedQueue, korvet: Korvet
) -> None:
    async with aclosing(korvet.consume("orders", group="workers")) as deliveries:
        getting = asyncio.ensure_future(anext(deliveries))
        stream = await storage.stream()
        stream.deliver(1)
        await getting
        stream.break_off()

        # Redis came back without the log's tail.
        (await storage.stream()).deliver(1, count=1)

        assert offset(await anext(deliveries)) == 1


async def test_a_release_is_sent_as_one(storage: ScriptedQueue, korvet: Korvet) -> None:
    async with aclosing(korvet.consume("orders", group="workers")) as deliveries:
        getting = asyncio.ensure_future(anext(deliveries))
        stream = await storage.stream()
        stream.deliver(1)
        releasing = asyncio.ensure_future((await getting).release())
        assert await stream.request() == ([], [1])
        stream.settle(1)
        await releasing
        stream.deliver(1, count=2)

        again = await anext(deliveries)

    assert again.delivery_count == 2


async def test_what_nobody_has_looked_at_is_given_back_at_the_end(
    storage: ScriptedQueue, korvet: Korvet
) -> None:
    async with aclosing(korvet.consume("orders", group="workers")) as deliveries:
        getting = asyncio.ensure_future(anext(deliveries))
        stream = await storage.stream()
        stream.deliver(1, 2, 3)
        held = await getting

    assert await stream.request() == ([], [2, 3])
    assert stream.ended.is_set()
    with pytest.raises(UnavailableError):
        await held.ack()


async def test_a_refusal_is_raised_where_records_are_awaited_and_acknowledged(
    storage: ScriptedQueue, korvet: Korvet
) -> None:
    async with aclosing(korvet.consume("orders", group="workers")) as deliveries:
        getting = asyncio.ensure_future(anext(deliveries))
        stream = await storage.stream()
        stream.deliver(1)
        acking = asyncio.ensure_future((await getting).ack())
        await stream.request()
        stream.refuse(INCONSISTENT_GROUP_PROTOCOL)

        with pytest.raises(KorvetError, match="INCONSISTENT_GROUP_PROTOCOL"):
            await anext(deliveries)
        with pytest.raises(KorvetError, match="INCONSISTENT_GROUP_PROTOCOL"):
            await acking


async def test_a_refusal_that_passes_is_waited_out(
    storage: ScriptedQueue, korvet: Korvet
) -> None:
    async with aclosing(korvet.consume("orders", group="workers")) as deliveries:
        getting = asyncio.ensure_future(anext(deliveries))
        (await storage.stream()).refuse(KAFKA_STORAGE_ERROR)
        (await storage.stream()).deliver(5)

        assert offset(await getting) == 5


async def test_a_storage_that_stays_away_is_given_up(
    storage: ScriptedQueue, tmp_path: Path
) -> None:
    address = f"unix:{tmp_path}/s.sock"
    server = await serve(storage, address)
    async with (
        Korvet(address, retry_for=0.1) as korvet,
        aclosing(korvet.consume("orders", group="workers")) as deliveries,
    ):
        getting = asyncio.ensure_future(anext(deliveries))
        await storage.stream()
        await server.stop(0)

        async with asyncio.timeout(10):
            with pytest.raises(UnavailableError):
                await getting
