"""The judge of transactions: it finds a planted fault of each kind, and no others."""

import pytest

from tests.support.client_contract import Isolation
from tests.support.history import Partition
from tests.support.transaction_history import (
    Fault,
    Reader,
    Transaction,
    TransactionHistory,
)

HERE = Partition("orders", 0)
THERE = Partition("orders", 1)


def transaction(
    history: TransactionHistory, *values: bytes, at: int, producer: str = "ann"
) -> Transaction:
    """One that has written these to one partition, from an offset on, and is open."""
    begun = history.begin(producer)
    for offset, value in enumerate(values, at):
        begun.write(HERE, value)
        begun.acknowledged(value, offset)
    return begun


def commit(ending: Transaction) -> None:
    ending.ends()
    ending.committed()


def abort(ending: Transaction) -> None:
    ending.ends()
    ending.aborted()


def reader(
    history: TransactionHistory,
    *reads: tuple[int, bytes],
    isolation: Isolation = Isolation.COMMITTED,
    partition: Partition = HERE,
) -> Reader:
    consumer = history.reader("bob", isolation)
    for offset, value in reads:
        consumer.read(partition, offset, value)
    return consumer


def faults(history: TransactionHistory) -> set[Fault]:
    return {fault for _, fault in history.faults()}


def ended_history() -> TransactionHistory:
    """a b | X aborted | c, with markers at 2, 4 and 6."""
    history = TransactionHistory()
    commit(transaction(history, b"a", b"b", at=0))
    abort(transaction(history, b"x", at=3))
    commit(transaction(history, b"c", at=5))
    return history


def test_a_run_as_it_should_be_has_no_faults() -> None:
    history = ended_history()
    reader(history, (0, b"a"), (1, b"b"), (5, b"c")).finished()
    reads = [(0, b"a"), (1, b"b"), (3, b"x"), (5, b"c")]
    reader(history, *reads, isolation=Isolation.UNCOMMITTED).finished()

    assert history.faults() == {}
    history.check()


def test_who_has_not_come_to_the_end_need_not_have_everything() -> None:
    history = ended_history()
    reader(history, (0, b"a"))

    assert history.faults() == {}


def test_a_committed_record_that_nobody_reads_is_lost() -> None:
    history = ended_history()
    reader(history, (0, b"a"), (1, b"b")).finished()

    assert history.faults() == {("bob", Fault.LOST): ["orders-0@5 b'c'"]}
    with pytest.raises(AssertionError, match="1 bob: written for good, but not read"):
        history.check()


def test_a_committed_record_that_is_skipped_is_lost_even_before_the_end() -> None:
    history = ended_history()
    reader(history, (0, b"a"), (5, b"c"))

    assert faults(history) == {Fault.LOST}


def test_an_acknowledged_record_that_was_aborted_is_lost_for_who_reads_everything() -> None:
    history = ended_history()
    reads = [(0, b"a"), (1, b"b"), (5, b"c")]
    reader(history, *reads, isolation=Isolation.UNCOMMITTED).finished()

    assert history.faults() == {("bob", Fault.LOST): ["orders-0@3 b'x'"]}


def test_a_record_that_comes_again_at_another_offset_is_a_duplicate() -> None:
    history = TransactionHistory()
    sent = history.begin("ann")
    sent.write(HERE, b"a")
    commit(sent)
    reader(history, (0, b"a"), (1, b"a")).finished()

    assert faults(history) == {Fault.DUPLICATE}


def test_an_aborted_record_is_not_for_who_reads_what_is_committed() -> None:
    history = ended_history()
    reader(history, (0, b"a"), (1, b"b"), (3, b"x"), (5, b"c")).finished()

    assert history.faults() == {("bob", Fault.ABORTED): ["orders-0@3 b'x'"]}


def test_a_record_of_an_open_transaction_is_not_for_who_reads_what_is_committed() -> None:
    history = TransactionHistory()
    still_open = history.begin("ann")
    still_open.write(HERE, b"a")
    reader(history, (0, b"a"))
    commit(still_open)

    assert history.faults() == {("bob", Fault.OPEN): ["orders-0@0 b'a'"]}


def test_nobody_reads_past_the_first_record_of_an_open_transaction() -> None:
    history = TransactionHistory()
    still_open = transaction(history, b"a", at=0)
    commit(transaction(history, b"b", at=1, producer="cid"))
    consumer = reader(history, isolation=Isolation.COMMITTED)
    everything = reader(history, (0, b"a"), (1, b"b"), isolation=Isolation.UNCOMMITTED)
    consumer.read(HERE, 1, b"b")
    commit(still_open)
    consumer.read(HERE, 0, b"a")
    consumer.finished()
    everything.finished()

    assert faults(history) == {Fault.OPEN, Fault.BACKWARDS}


def test_once_an_end_is_asked_for_reading_on_is_right() -> None:
    history = TransactionHistory()
    ending = transaction(history, b"a", at=0)
    ending.ends()
    reader(history, (0, b"a")).finished()
    ending.committed()

    assert history.faults() == {}


def test_an_open_transaction_stands_in_the_way_of_its_own_partitions_only() -> None:
    history = TransactionHistory()
    transaction(history, b"a", at=0)
    other = history.begin("cid")
    other.write(THERE, b"b")
    other.acknowledged(b"b", 7)
    commit(other)
    reader(history, (7, b"b"), partition=THERE)

    assert history.faults() == {}


def test_offsets_that_go_back_are_told() -> None:
    history = ended_history()
    reader(history, (0, b"a"), (1, b"b"), (0, b"a"))

    assert faults(history) == {Fault.BACKWARDS, Fault.DUPLICATE, Fault.DISORDER}


def test_what_a_group_has_committed_does_not_go_back() -> None:
    history = TransactionHistory()
    for offset in (3, 3, 7, 5):
        history.group_offset("copiers", HERE, offset)
    history.group_offset("others", HERE, 1)

    case = "Partition(topic='orders', partition=0) 5 after 7"
    assert history.faults() == {("group copiers", Fault.BACKWARDS): [case]}


def test_a_producers_records_keep_their_order() -> None:
    history = TransactionHistory()
    sent = history.begin("ann")
    sent.write(HERE, b"a")
    sent.write(HERE, b"b")
    commit(sent)
    reader(history, (0, b"b"), (1, b"a")).finished()

    assert faults(history) == {Fault.DISORDER}


def test_what_was_never_written_there_is_told() -> None:
    history = ended_history()
    reader(history, (0, b"a"), (1, b"b"), (2, b"who?"), (5, b"c"))
    reader(history, (0, b"a"), partition=THERE)

    assert faults(history) == {Fault.FOREIGN}


def test_a_record_is_where_its_producer_was_told() -> None:
    history = ended_history()
    reader(history, (0, b"a"), (2, b"b"), (5, b"c")).finished()

    assert faults(history) == {Fault.MOVED}


def test_of_a_transaction_with_unknown_outcome_all_or_nothing_is_read() -> None:
    for reads, expected in (
        ([], set()),
        ([(0, b"a"), (1, b"b")], set()),
        ([(0, b"a")], {Fault.LOST}),
        ([(1, b"b")], {Fault.LOST}),
    ):
        history = TransactionHistory()
        transaction(history, b"a", b"b", at=0).ends()
        reader(history, *reads).finished()

        assert faults(history) == expected, reads


def test_consumers_agree_about_an_unknown_outcome() -> None:
    history = TransactionHistory()
    transaction(history, b"a", at=0).ends()
    reader(history, (0, b"a")).finished()
    reader(history).finished()

    assert faults(history) == {Fault.LOST}


def test_a_value_is_written_once() -> None:
    history = ended_history()

    with pytest.raises(AssertionError, match="twice"):
        transaction(history, b"a", at=9)
