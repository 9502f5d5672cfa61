"""What a consumer of a work queue holds: what is in flight, when an entry is settled."""

from collections.abc import Sequence

from korvet.kafka.records import Record
from korvet.storage.queue_holdings import Holdings, SettledEntry, TakenEntry

PLENTY = 1 << 20


def taken(first: int, count: int = 1, *, partition: int = 0, again: int = 1) -> TakenEntry:
    """An entry of so many records from an offset on."""
    records = [Record(first + n, 0, None, b"value", []) for n in range(count)]
    return TakenEntry(partition, b"%d-0" % first, again, lambda: records)


def offsets(holdings: Holdings, max_bytes: int = PLENTY) -> list[int]:
    return [each.record.offset for each in holdings.deliver(max_bytes)]


def acknowledge(
    holdings: Holdings, offset: int, *, partition: int = 0
) -> SettledEntry | None:
    return holdings.settle(partition, offset, is_released=False)


def release(holdings: Holdings, offset: int) -> SettledEntry | None:
    return holdings.settle(0, offset, is_released=True)


def test_records_are_delivered_in_order_with_their_entrys_count() -> None:
    holdings = Holdings(10)
    holdings.put(taken(5, 2), 0)
    holdings.put(taken(9, partition=1, again=3), 0)

    delivered = holdings.deliver(PLENTY)

    assert [(d.partition, d.record.offset, d.delivery_count) for d in delivered] == [
        (0, 5, 1),
        (0, 6, 1),
        (1, 9, 3),
    ]
    assert holdings.room == 7
    assert not holdings.has_backlog


def test_no_more_is_in_flight_than_may_be() -> None:
    holdings = Holdings(3)
    holdings.put(taken(0, 5), 0)

    assert offsets(holdings) == [0, 1, 2]
    assert offsets(holdings) == []
    assert holdings.has_backlog
    acknowledge(holdings, 1)
    assert offsets(holdings) == [3]


def test_one_record_is_delivered_however_large_it_is() -> None:
    holdings = Holdings(10)
    holdings.put(taken(0, 3), 0)

    assert offsets(holdings, max_bytes=1) == [0]
    assert offsets(holdings, max_bytes=6) == [1, 2]


def test_an_entry_is_settled_with_its_last_record() -> None:
    holdings = Holdings(10)
    holdings.put(taken(0, 3), 0)
    offsets(holdings)

    assert acknowledge(holdings, 2) is None
    assert acknowledge(holdings, 0) is None
    assert acknowledge(holdings, 1) == SettledEntry(0, b"0-0", is_released=False)
    assert holdings.room == 10
    assert holdings.oldest_taken_at is None


def test_an_entry_goes_back_if_any_of_its_records_was_released() -> None:
    holdings = Holdings(10)
    holdings.put(taken(0, 2), 0)
    offsets(holdings)

    assert release(holdings, 0) is None
    assert acknowledge(holdings, 1) == SettledEntry(0, b"0-0", is_released=True)


def test_an_entry_is_not_settled_while_some_of_it_waits_for_room() -> None:
    holdings = Holdings(1)
    holdings.put(taken(0, 2), 0)

    assert offsets(holdings) == [0]
    assert acknowledge(holdings, 0) is None
    assert offsets(holdings) == [1]
    assert acknowledge(holdings, 1) is not None


def test_what_is_not_in_flight_settles_nothing() -> None:
    holdings = Holdings(1)
    holdings.put(taken(0, 2), 0)
    offsets(holdings)

    assert acknowledge(holdings, 1) is None
    assert acknowledge(holdings, 0, partition=1) is None
    assert acknowledge(holdings, 0) is None
    assert acknowledge(holdings, 0) is None
    assert holdings.room == 1


def test_an_entry_that_comes_again_replaces_its_earlier_delivery() -> None:
    holdings = Holdings(4)
    holdings.put(taken(0, 2), 0)
    holdings.put(taken(7), 1)
    assert offsets(holdings) == [0, 1, 7]
    acknowledge(holdings, 0)

    holdings.put(taken(0, 2, again=2), 2)

    assert holdings.room == 3
    assert [(d.record.offset, d.delivery_count) for d in holdings.deliver(PLENTY)] == [
        (0, 2),
        (1, 2),
    ]
    assert holdings.oldest_taken_at == 1
    assert acknowledge(holdings, 1) is None
    assert acknowledge(holdings, 0) is not None


def test_what_was_held_for_too_long_is_forgotten_with_what_is_left_of_it() -> None:
    holdings = Holdings(2)
    holdings.put(taken(0, 3), 1.0)
    holdings.put(taken(9), 2.0)
    assert offsets(holdings) == [0, 1]

    holdings.expire(1.5)

    assert acknowledge(holdings, 0) is None
    assert offsets(holdings) == [9]
    assert holdings.room == 1
    assert holdings.oldest_taken_at == 2.0


def test_an_entry_is_read_when_its_turn_comes_and_not_before() -> None:
    read: list[int] = []

    def entry(first: int) -> TakenEntry:
        known = taken(first, 2)

        def records() -> Sequence[Record]:
            read.append(first)
            return known.read()

        return known._replace(read=records)

    holdings = Holdings(3)
    for first in (0, 2, 4):
        holdings.put(entry(first), 0)
    assert read == []

    assert offsets(holdings, max_bytes=1) == [0]
    assert read == [0]
    assert offsets(holdings) == [1, 2]
    assert offsets(holdings) == []
    assert read == [0, 2]
    assert acknowledge(holdings, 0) is None
    assert acknowledge(holdings, 1) is not None
    assert offsets(holdings) == [3, 4]
    assert read == [0, 2, 4]


def test_what_nobody_can_read_is_left_out_and_settled() -> None:
    holdings = Holdings(10)
    holdings.put(taken(0, 0), 0)
    holdings.put(taken(1), 0)
    holdings.put(taken(2, 0), 0)

    assert offsets(holdings) == [1]
    assert holdings.take_unreadable() == [
        SettledEntry(0, b"0-0", is_released=False),
        SettledEntry(0, b"2-0", is_released=False),
    ]
    assert not holdings.take_unreadable()
    assert not holdings.has_backlog
    acknowledge(holdings, 1)
    assert holdings.oldest_taken_at is None
