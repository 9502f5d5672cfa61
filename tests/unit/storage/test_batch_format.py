"""One stream entry a batch: stamped when it is read."""

import tracemalloc

from korvet.kafka.records import build_batch, check_batch, read_records, split_batches
from korvet.storage.batch_format import decode_batches, read_batches
from korvet.storage.epochs import Epoch
from korvet.storage.offsets import DENSE, OffsetEncoding
from korvet.storage.record_format import Entry

EPOCHS = (Epoch(0, 0), Epoch(3, 10))
NO_LIMIT = 1 << 40


def batch_of(count: int, codec: int = 0) -> bytes:
    return build_batch(
        [(n, 1000 + n, b"k", b"v" * 50, []) for n in range(count)],
        base_offset=0,
        codec=codec,
    )


def entry(last_offset: int, *fields: bytes) -> Entry:
    return DENSE.entry_id(last_offset).encode(), fields


def test_a_batch_gets_its_place_and_epoch_and_is_otherwise_as_it_was_sent() -> None:
    sent = batch_of(3, codec=4)

    (found,) = read_batches([entry(12, b"batch", sent)], DENSE, EPOCHS, NO_LIMIT)

    assert (found.base_offset, found.last_offset) == (10, 12)
    ((header, _),) = split_batches(found.data)
    assert (header.base_offset, header.partition_leader_epoch) == (10, 3)
    assert found.data[16:] == sent[16:]
    assert [r.offset for r in read_records(found.data, NO_LIMIT)] == [10, 11, 12]
    assert check_batch(found.data).crc == check_batch(sent).crc


def test_a_batch_may_lie_across_milliseconds() -> None:
    encoding = OffsetEncoding(2)

    (found,) = read_batches(
        [(b"101-1", [b"batch", batch_of(7)])], encoding, EPOCHS, NO_LIMIT
    )

    assert found.last_offset == 405
    assert encoding.entry_id(found.base_offset) == "99-3"


def test_a_batch_has_the_epoch_of_its_first_record() -> None:
    (found,) = read_batches([entry(11, b"batch", batch_of(5))], DENSE, EPOCHS, NO_LIMIT)

    assert next(split_batches(found.data))[0].partition_leader_epoch == 0


def test_the_time_of_the_append_replaces_the_producers() -> None:
    stored = entry(2, b"batch", batch_of(3), b"appended", b"5000")

    (found,) = read_batches([stored], DENSE, EPOCHS, NO_LIMIT)

    ((header, _),) = split_batches(found.data)
    assert (header.is_log_append_time, header.max_timestamp) == (True, 5000)
    assert {r.timestamp for r in read_records(found.data, NO_LIMIT)} == {5000}


def test_a_limit_is_kept_but_for_the_first_batch() -> None:
    batch = batch_of(1)
    entries = [entry(number, b"batch", batch) for number in range(5)]

    assert len(read_batches(entries, DENSE, EPOCHS, 1)) == 1
    assert len(read_batches(entries, DENSE, EPOCHS, 3 * len(batch))) == 3
    assert len(read_batches(entries, DENSE, EPOCHS, 3 * len(batch) - 1)) == 2


def test_what_is_no_batch_is_passed_over() -> None:
    batch = batch_of(1)
    entries: list[Entry] = [
        entry(0, b"value", batch),
        entry(1, b"batch", b"short"),
        entry(2, b"batch", batch[:-1]),
        entry(3, b"batch", batch + b"more"),
        (b"5-7", [b"batch", batch]),
        entry(9, b"batch", batch),
    ]

    found = read_batches(entries, DENSE, EPOCHS, NO_LIMIT)

    assert [one.base_offset for one in found] == [9]


def test_records_are_decoded_up_to_the_limit_but_at_least_one() -> None:
    entries = [entry(2 + 3 * number, b"batch", batch_of(3, codec=4)) for number in range(3)]
    batches = read_batches(entries, DENSE, EPOCHS, NO_LIMIT)
    everything = decode_batches(batches, 1, NO_LIMIT)
    one = everything.size // 8

    def decoded(max_bytes: int, offset: int = 1) -> tuple[list[int], int]:
        found = decode_batches(batches, offset, max_bytes)
        return [record.offset for record in found.records], found.next_offset

    assert ([r.offset for r in everything.records], everything.next_offset) == (
        [*range(1, 9)],
        9,
    )
    assert decoded(1) == ([1], 2)
    assert decoded(2 * one) == ([1, 2], 3)
    assert decoded(4 * one) == ([1, 2, 3, 4], 5)
    assert decoded(4 * one, offset=5) == ([5, 6, 7, 8], 9)


def test_what_lies_behind_the_limit_is_not_decoded() -> None:
    batch = build_batch(
        [(0, 0, None, bytes(4 << 20), [])], base_offset=0, codec=4, leader_epoch=0
    )
    entries = [entry(number, b"batch", batch) for number in range(20)]
    batches = read_batches(entries, DENSE, EPOCHS, NO_LIMIT)

    tracemalloc.start()
    found = decode_batches(batches, 0, 1)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert len(found.records) == 1
    assert peak < 20 << 20
