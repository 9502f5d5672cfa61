"""What a partition's hash says."""

from korvet.storage.epochs import Epoch
from korvet.storage.offsets import DENSE, OffsetEncoding
from korvet.storage.partition_state import STATE_FIELDS, PartitionState, parse_state

EMPTY: dict[str, bytes] = {"id": b"topic"}
USED = {
    "id": b"topic",
    "last": b"1700-5",
    "start": b"1600-0",
    "history": b"run",
    "epochs": b"0:0-0,1:1650-0",
    "records": b"50",
    "bytes": b"5000",
    "trimmedRecords": b"20",
    "trimmedBytes": b"1900",
}


def parsed(
    fields: dict[str, bytes], encoding: OffsetEncoding = DENSE, topic_id: str = "topic"
) -> PartitionState | None:
    return parse_state([fields.get(name) for name in STATE_FIELDS], topic_id, encoding)


def test_a_partition_never_written_is_all_zeros() -> None:
    assert parsed(EMPTY) == PartitionState(
        end_offset=0,
        start_offset=0,
        history="",
        epochs=(Epoch(0, 0),),
        records=0,
        bytes=0,
        trimmed_records=0,
        trimmed_bytes=0,
        first_unstable=None,
        has_transactions=False,
    )


def test_ids_are_read_as_offsets() -> None:
    state = parsed(USED, OffsetEncoding(10))

    assert state is not None
    assert state.end_offset == (1700 << 10) + 6
    assert state.start_offset == 1600 << 10
    assert state.epochs == (Epoch(0, 0), Epoch(1, 1650 << 10))
    assert (state.records, state.trimmed_records) == (50, 20)
    assert (state.bytes, state.trimmed_bytes) == (5000, 1900)


def test_the_oldest_open_transaction_holds_up_the_last_stable_offset() -> None:
    none_open = parsed({**USED, "open": b""}, OffsetEncoding(10))
    open_ones = parsed({**USED, "open": b"7:1660-2 12:1680-0"}, OffsetEncoding(10))
    # Retention does not wait for it.
    trimmed = parsed({**USED, "open": b"7:1500-0"}, OffsetEncoding(10))

    assert none_open is not None
    assert none_open.last_stable_offset == none_open.end_offset
    assert none_open.has_transactions
    assert open_ones is not None
    assert open_ones.last_stable_offset == (1660 << 10) + 2
    assert trimmed is not None
    assert trimmed.last_stable_offset == trimmed.start_offset


def test_a_partition_of_another_topic_or_of_none_is_not_read() -> None:
    assert parsed(USED, topic_id="another") is None
    assert parsed({}) is None
    # Not even where its ids would be no offsets here.
    assert parsed(USED, DENSE, topic_id="another") is None


def test_a_run_of_redis_not_seen_yet_is_the_next_epoch() -> None:
    state, empty = parsed(USED, OffsetEncoding(10)), parsed(EMPTY)
    assert state is not None
    assert empty is not None

    assert state.epoch_in("run", heard=1) == 1
    assert state.epoch_in("another run", heard=1) == 2
    assert empty.epoch_in("any run", heard=0) == 0


def test_an_epoch_that_redis_has_lost_is_never_the_next_one() -> None:
    state = parsed(USED, OffsetEncoding(10))
    assert state is not None

    # Clients know epoch 2, whose records are gone: theirs must not pass for the newest.
    assert state.epoch_in("another run", heard=2) == 3
    # Another replica has raised the epoch without having heard of the lost one.
    assert state.epoch_in("run", heard=2) == 3
    assert state.epochs_in("run", heard=2) == (
        Epoch(0, 0),
        Epoch(1, 1650 << 10),
        Epoch(3, (1700 << 10) + 6),
    )


def test_an_epoch_without_records_leaves_no_trace_when_the_next_one_comes() -> None:
    state = parsed(USED | {"epochs": b"0:0-0,1:1700-6"}, OffsetEncoding(10))
    unwritten = parsed(EMPTY | {"history": b"run", "epochs": b"1:0-0"})
    assert state is not None
    assert unwritten is not None

    assert state.epochs_in("another run", heard=1) == (
        Epoch(0, 0),
        Epoch(2, (1700 << 10) + 6),
    )
    assert unwritten.epochs_in("another run", heard=1) == (Epoch(0, 0), Epoch(2, 0))
