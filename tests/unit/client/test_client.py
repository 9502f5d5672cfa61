import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import grpc
import pytest

from korvet.client import (
    Korvet,
    KorvetError,
    NewRecord,
    Position,
    TopicDeletedError,
    UnavailableError,
)
from korvet.client.partitioner import partition_for_key
from tests.support.scripted_storage import Mishap, ScriptedStorage, serve

REQUEST_TIMED_OUT = 7
MESSAGE_TOO_LARGE = 10
OUT_OF_ORDER_SEQUENCE_NUMBER = 45
KAFKA_STORAGE_ERROR = 56


@pytest.fixture
def storage() -> ScriptedStorage:
    return ScriptedStorage()  # type: ignore[abstract]  # only in the generated types


@pytest.fixture
async def korvet(storage: ScriptedStorage, tmp_path: Path) -> AsyncIterator[Korvet]:
    address = f"unix:{tmp_path}/s.sock"
    server = await serve(storage, address)
    async with Korvet(address, retry_for=5) as korvet:
        yield korvet
    await server.stop(0)


def values(storage: ScriptedStorage, partition: int = 0) -> list[bytes]:
    return [record.value for record in storage.logs[partition]]


@pytest.mark.parametrize(
    "mishap", ["lost", "answer lost", REQUEST_TIMED_OUT, KAFKA_STORAGE_ERROR]
)
async def test_an_append_whose_answer_is_missing_is_repeated_but_written_once(
    storage: ScriptedStorage, korvet: Korvet, mishap: Mishap
) -> None:
    first = await korvet.append("orders", b"a")
    storage.mishaps.append(mishap)
    second = await korvet.append("orders", b"b")

    assert (first, second) == (Position(0, 0), Position(0, 1))
    assert values(storage) == [b"a", b"b"]


async def test_sequences_count_records(storage: ScriptedStorage, korvet: Korvet) -> None:
    await korvet.append_many("orders", [NewRecord(value=b"a"), NewRecord(value=b"b")])
    await korvet.append("orders", b"c")

    assert storage.sequences == [(1, 0), (1, 2)]


async def test_a_refusal_is_raised_and_the_next_append_succeeds(
    storage: ScriptedStorage, korvet: Korvet
) -> None:
    storage.mishaps.append(MESSAGE_TOO_LARGE)

    with pytest.raises(KorvetError) as raised:
        await korvet.append("orders", b"a")
    position = await korvet.append("orders", b"b")

    assert (raised.value.code, raised.value.name) == (10, "MESSAGE_TOO_LARGE")
    assert position.offset == 0


async def test_after_giving_up_in_doubt_the_sequence_number_is_not_used_again(
    storage: ScriptedStorage, korvet: Korvet
) -> None:
    doomed: list[Mishap] = ["lost"] * 100
    storage.mishaps.extend(["answer lost", *doomed])
    append = asyncio.create_task(korvet.append("orders", b"a"))
    await storage.appended.wait()
    append.cancel()
    await asyncio.gather(append, return_exceptions=True)
    storage.mishaps.clear()

    position = await korvet.append("orders", b"b")

    assert position.offset == 1
    assert values(storage) == [b"a", b"b"]


async def test_a_producer_that_storage_lost_track_of_begins_anew(
    storage: ScriptedStorage, korvet: Korvet
) -> None:
    await korvet.append("orders", b"a")
    storage.mishaps.append(OUT_OF_ORDER_SEQUENCE_NUMBER)

    await korvet.append("orders", b"b")

    assert storage.sequences == [(1, 0), (2, 0)]
    assert values(storage) == [b"a", b"b"]


async def test_concurrent_appends_to_a_partition_keep_their_order(
    storage: ScriptedStorage, korvet: Korvet
) -> None:
    storage.mishaps.extend(["answer lost"])
    wanted = [b"%d" % number for number in range(20)]

    positions = await asyncio.gather(*(korvet.append("orders", each) for each in wanted))

    assert values(storage) == wanted
    assert [position.offset for position in positions] == list(range(20))


async def test_keys_choose_partitions_and_keyless_records_take_turns(
    storage: ScriptedStorage, korvet: Korvet
) -> None:
    storage.partitions = 3
    keyed = [NewRecord(value=b"v", key=b"key-%d" % number) for number in range(10)]

    positions = await korvet.append_many("orders", keyed)
    keyless = [await korvet.append("orders", b"v") for _ in range(4)]

    expected = [partition_for_key(record.key or b"", 3) for record in keyed]
    assert [position.partition for position in positions] == expected
    assert [position.partition for position in keyless] == [0, 1, 2, 0]


async def test_a_topic_with_fewer_partitions_than_before_is_asked_about_again(
    storage: ScriptedStorage, korvet: Korvet
) -> None:
    storage.partitions = 2
    await korvet.append("orders", b"a")
    storage.partitions = 1

    position = await korvet.append("orders", b"b")

    assert position.partition == 0


async def test_null_is_not_empty_in_keys_values_and_headers(
    storage: ScriptedStorage, korvet: Korvet
) -> None:
    headers = [("a", b""), ("a", None), ("b", b"1")]
    await korvet.append("orders", None, key=b"", headers=headers, timestamp_ms=1500)

    record = await anext(korvet.tail("orders", start="earliest"))

    assert (record.key, record.value) == (b"", None)
    assert record.headers == tuple(headers)
    assert record.time.isoformat() == "1970-01-01T00:00:01.500000+00:00"


@pytest.mark.parametrize("is_orderly", [False, True])
async def test_a_tail_goes_on_after_a_break_without_gap_or_repetition(
    storage: ScriptedStorage, korvet: Korvet, is_orderly: bool
) -> None:
    storage.tail_ends_orderly = is_orderly
    wanted = [b"%d" % number for number in range(10)]
    await korvet.append_many("orders", [NewRecord(value=value) for value in wanted])
    storage.tail_breaks_after.extend([3, 0, 4])

    tail = korvet.tail("orders", start="earliest")
    seen = [(await anext(tail)).value for _ in wanted]
    await tail.aclose()

    assert seen == wanted


async def test_a_tail_ends_when_its_topic_was_made_again_during_a_break(
    storage: ScriptedStorage, korvet: Korvet
) -> None:
    await korvet.append_many("orders", [NewRecord(value=b"a"), NewRecord(value=b"b")])
    storage.tail_breaks_after.append(1)
    tail = korvet.tail("orders", start="earliest")
    await anext(tail)

    storage.topic_id = bytes([1]) * 16
    with pytest.raises(TopicDeletedError, match="orders was deleted") as raised:
        await anext(tail)

    assert (raised.value.topic, raised.value.name) == ("orders", "UNKNOWN_TOPIC_ID")


async def test_a_tail_goes_on_at_another_address(
    storage: ScriptedStorage, tmp_path: Path
) -> None:
    addresses = [f"unix:{tmp_path}/{number}.sock" for number in range(2)]
    first, second = [await serve(storage, address) for address in addresses]
    async with Korvet(",".join(addresses), retry_for=5) as korvet:
        await korvet.append("orders", b"a")
        tail = korvet.tail("orders", start="earliest")
        seen = [(await anext(tail)).value]

        await first.stop(0)
        await korvet.append("orders", b"b")
        seen.append((await anext(tail)).value)
        await tail.aclose()
    await second.stop(0)

    assert seen == [b"a", b"b"]


async def test_a_call_that_was_never_sent_goes_to_the_next_address(
    storage: ScriptedStorage, tmp_path: Path
) -> None:
    there = f"unix:{tmp_path}/there.sock"
    server = await serve(storage, there)
    async with Korvet(f"unix:{tmp_path}/nobody.sock, {there}") as korvet:
        described = await korvet.describe_topic("orders")
    await server.stop(0)

    assert described.name == "orders"


async def test_an_address_is_needed() -> None:
    with pytest.raises(ValueError, match="HOST:PORT"):
        Korvet(" , ")


async def test_a_tail_over_all_partitions_keeps_each_ones_order(
    storage: ScriptedStorage, korvet: Korvet
) -> None:
    storage.partitions = 2
    for number in range(6):
        await korvet.append("orders", b"%d" % number, partition=number % 2)

    tail = korvet.tail("orders", start="earliest")
    seen = [await anext(tail) for _ in range(6)]
    await tail.aclose()

    for partition in (0, 1):
        mine = [record.value for record in seen if record.partition == partition]
        assert mine == [b"%d" % number for number in range(partition, 6, 2)]


async def test_no_storage_is_said_at_once(tmp_path: Path) -> None:
    async with Korvet(f"unix:{tmp_path}/nobody.sock") as korvet:
        with pytest.raises(UnavailableError, match=r"nobody\.sock"):
            await korvet.list_topics()


async def test_a_tail_ends_when_its_connection_is_closed(
    storage: ScriptedStorage, korvet: Korvet
) -> None:
    await korvet.append("orders", b"a")
    tail = korvet.tail("orders", start="earliest")
    await anext(tail)

    following = asyncio.ensure_future(anext(tail))
    await asyncio.sleep(0)
    await korvet.close()

    async with asyncio.timeout(5):
        with pytest.raises(grpc.aio.UsageError):
            await following


async def test_closing_the_connection_under_an_append_does_not_look_like_cancelling_it(
    storage: ScriptedStorage, korvet: Korvet
) -> None:
    storage.mishaps.append("stuck")
    append = asyncio.create_task(korvet.append("orders", b"a"))
    await storage.stuck.wait()

    await korvet.close()

    async with asyncio.timeout(5):
        with pytest.raises(grpc.aio.UsageError):
            await append
