"""What takes part in a transaction, and how it ends."""

import pytest

from korvet.coordinator import transaction_rules as rules
from korvet.coordinator.transaction import (
    MAX_EPOCH,
    Partition,
    Producer,
    State,
)
from korvet.coordinator.transaction_rules import Register
from korvet.kafka.errors import ErrorCode
from tests.support.transaction_harness import (
    BILLS,
    ORDERS,
    TIMEOUT_MS,
    Ended,
    TransactionHarness,
    producer_of,
)

FENCED = ErrorCode.PRODUCER_FENCED
MAPPING = ErrorCode.INVALID_PRODUCER_ID_MAPPING
INVALID = ErrorCode.INVALID_TXN_STATE
BUSY = ErrorCode.CONCURRENT_TRANSACTIONS


def ended_at_last_epoch(*, is_commit: bool) -> tuple[TransactionHarness, Producer]:
    harness = TransactionHarness.at_epoch(MAX_EPOCH)
    producer = harness.producer
    harness.add(producer, ORDERS)
    harness.end(producer, is_commit=is_commit, bumps_epoch=True)
    return harness, producer


# ---------------------------------------------------------------- what takes part


def test_a_transaction_begins_with_what_is_added_first() -> None:
    harness = TransactionHarness.in_state(State.EMPTY)
    producer = harness.producer
    harness.advance(5)

    harness.add(producer, ORDERS)
    began_ms = harness.now_ms
    harness.advance(5)
    harness.add(producer, BILLS)
    harness.add_group(producer, "group")

    transaction = harness.transaction
    assert (transaction.number, transaction.started_ms) == (1, began_ms)
    assert transaction.partitions == {ORDERS, BILLS}
    assert transaction.groups == {"group"}
    assert transaction.updated_ms == began_ms + 5


def test_what_is_in_already_is_registered_once_more_but_not_saved() -> None:
    harness = TransactionHarness.in_state(State.ONGOING)
    saves = harness.saves

    step = rules.add_partitions(harness.transaction, harness.producer, [ORDERS], 5)

    assert step.transaction == harness.transaction
    assert step.effect == Register(partitions=frozenset({ORDERS}))
    assert harness.add(harness.producer, ORDERS) is ErrorCode.NONE
    assert harness.saves == saves


def test_nothing_begins_with_nothing() -> None:
    harness = TransactionHarness.in_state(State.EMPTY)
    assert harness.add(harness.producer) is ErrorCode.NONE
    assert harness.state is State.EMPTY
    assert harness.add(Producer(7, 0)) is MAPPING


def test_a_topic_made_again_is_another_one() -> None:
    harness = TransactionHarness.in_state(State.ONGOING)
    again = Partition(ORDERS.topic, "another id", ORDERS.partition)
    assert harness.verify(harness.producer, again) == (ErrorCode.TRANSACTION_ABORTABLE,)
    harness.add(harness.producer, again)
    assert harness.transaction.partitions == {ORDERS, again}


def test_partitions_are_verified() -> None:  # KIP-890
    harness = TransactionHarness.in_state(State.ONGOING)
    producer = harness.producer
    unknown = ErrorCode.TRANSACTION_ABORTABLE
    assert harness.verify(producer, BILLS, ORDERS) == (unknown, ErrorCode.NONE)
    assert harness.verify(Producer(producer.producer_id, 9), ORDERS) is FENCED
    assert harness.verify(Producer(7, 0), ORDERS) is MAPPING
    harness.end(producer, is_commit=True)
    assert harness.verify(producer, ORDERS) == (unknown,)


def test_verifying_what_is_being_ended_waits() -> None:
    harness = TransactionHarness.in_state(State.PREPARE_COMMIT)
    assert harness.verify(harness.producer, ORDERS) is BUSY


# ---------------------------------------------------------------- how it ends


@pytest.mark.parametrize("is_commit", [True, False])
def test_all_who_took_part_hear_how_it_ended(is_commit: bool) -> None:
    harness = TransactionHarness.in_state(State.ONGOING)
    harness.add(harness.producer, BILLS)
    harness.add_group(harness.producer, "group")

    harness.end(harness.producer, is_commit=is_commit)

    told = [Ended(1, is_commit)]
    assert harness.ended == {ORDERS: told, BILLS: told, "group": told}
    assert not harness.transaction.partitions | harness.transaction.groups
    assert harness.transaction.started_ms == -1


@pytest.mark.parametrize("is_commit", [True, False])
def test_an_end_may_be_repeated_but_not_changed(is_commit: bool) -> None:
    harness = TransactionHarness.in_state(State.ONGOING)
    producer = harness.producer
    harness.end(producer, is_commit=is_commit)
    saves = harness.saves

    assert harness.end(producer, is_commit=is_commit) == producer
    assert harness.end(producer, is_commit=not is_commit) is INVALID
    assert harness.saves == saves


@pytest.mark.parametrize("is_commit", [True, False])
def test_with_its_epochs_an_end_is_repeated_with_the_one_before(is_commit: bool) -> None:
    harness = TransactionHarness.in_state(State.ONGOING)
    before = harness.producer
    after = harness.end(before, is_commit=is_commit, bumps_epoch=True)
    assert after == Producer(before.producer_id, before.epoch + 1)

    assert harness.end(before, is_commit=is_commit, bumps_epoch=True) == after
    assert harness.end(before, is_commit=not is_commit, bumps_epoch=True) is INVALID
    assert harness.ended[ORDERS] == [Ended(1, is_commit)]


def test_the_epoch_before_is_fenced_once_the_next_transaction_has_begun() -> None:
    harness = TransactionHarness.in_state(State.ONGOING)
    before = harness.producer
    after = producer_of(harness.end(before, is_commit=True, bumps_epoch=True))
    harness.add(after, BILLS)

    assert harness.end(before, is_commit=True, bumps_epoch=True) is FENCED
    assert harness.add(before, ORDERS) is FENCED
    assert harness.transaction.number == 2


def test_markers_carry_the_epoch_that_is_valid_from_then_on() -> None:
    harness = TransactionHarness.in_state(State.ONGOING)
    before = harness.producer
    harness.completes = False

    answer = harness.end(before, is_commit=True, bumps_epoch=True)

    assert harness.producer == answer == Producer(before.producer_id, before.epoch + 1)


def test_an_end_at_the_last_epoch_leads_to_a_new_producer_id() -> None:
    harness = TransactionHarness.at_epoch(MAX_EPOCH)
    before = harness.producer
    harness.add(before, ORDERS)
    harness.completes = False

    answer = harness.end(before, is_commit=True, bumps_epoch=True)

    assert answer == Producer(102, 0)
    # Until then the markers are the old one's.
    assert harness.producer == Producer(101, MAX_EPOCH + 1)
    harness.complete()
    assert harness.producer == Producer(102, 0)
    assert harness.add(Producer(102, 0), ORDERS) is ErrorCode.NONE


@pytest.mark.parametrize("is_commit", [True, False])
def test_an_end_at_the_last_epoch_may_be_repeated(is_commit: bool) -> None:
    harness, before = ended_at_last_epoch(is_commit=is_commit)

    assert harness.end(before, is_commit=is_commit, bumps_epoch=True) == Producer(102, 0)
    assert harness.end(before, is_commit=not is_commit, bumps_epoch=True) is INVALID
    assert harness.init(before) == Producer(102, 0)


def test_an_abort_of_nothing_at_the_last_epoch_leads_to_a_new_producer_id() -> None:
    harness = TransactionHarness.at_epoch(MAX_EPOCH)
    before = harness.producer
    after = Producer(102, 0)
    assert harness.end(before, is_commit=False, bumps_epoch=True) == after
    assert harness.end(before, is_commit=False, bumps_epoch=True) == after
    assert harness.add(after, ORDERS) is ErrorCode.NONE


@pytest.mark.parametrize("bumps_epoch", [False, True])
def test_while_it_is_being_ended_whoever_is_nobody_is_told_so(bumps_epoch: bool) -> None:
    harness = TransactionHarness.at_epoch(5)
    producer = harness.producer
    harness.add(producer, ORDERS)
    harness.completes = False
    harness.end(producer, is_commit=True, bumps_epoch=bumps_epoch)
    stranger, zombie = Producer(7, 5), producer._replace(epoch=4)

    for is_commit in (True, False):
        for ends in (False, True):
            answers = [
                harness.end(each, is_commit=is_commit, bumps_epoch=ends)
                for each in (stranger, zombie)
            ]
            assert answers == [MAPPING, FENCED]
    # Who has a right to ask may ask again.
    assert harness.end(producer, is_commit=True, bumps_epoch=bumps_epoch) is BUSY
    assert harness.end(harness.producer, is_commit=True, bumps_epoch=bumps_epoch) is BUSY


def test_while_it_is_being_aborted_for_its_time_its_producer_is_fenced() -> None:
    harness = TransactionHarness.in_state(State.ONGOING)
    producer = harness.producer
    harness.completes = False
    harness.advance(TIMEOUT_MS)
    assert harness.state is State.PREPARE_ABORT

    for is_commit in (True, False):
        assert harness.end(producer, is_commit=is_commit) is FENCED
        assert harness.end(producer, is_commit=is_commit, bumps_epoch=True) is FENCED
    assert harness.add(producer, BILLS) is FENCED
    assert harness.verify(producer, ORDERS) is FENCED


def test_a_new_producer_id_that_is_not_valid_yet_is_no_stranger() -> None:
    harness = TransactionHarness.at_epoch(MAX_EPOCH)
    before = harness.producer
    harness.add(before, ORDERS)
    harness.completes = False
    after = producer_of(harness.end(before, is_commit=True, bumps_epoch=True))

    assert harness.add(after, BILLS) is BUSY
    assert harness.end(after, is_commit=False, bumps_epoch=True) is BUSY
    assert harness.end(before, is_commit=True, bumps_epoch=True) is BUSY
    assert harness.add(before, BILLS) is FENCED
    # Where no new id was given, no id is none that may become valid.
    assert TransactionHarness.in_state(State.PREPARE_COMMIT).add(Producer(-1, 0)) is MAPPING


def test_time_aborts_and_fences() -> None:
    harness = TransactionHarness.in_state(State.ONGOING)
    producer = harness.producer
    harness.advance(TIMEOUT_MS - 1)
    assert harness.state is State.ONGOING

    harness.advance(1)

    assert harness.ended[ORDERS] == [Ended(1, is_commit=False)]
    assert harness.end(producer, is_commit=True) is FENCED
    assert harness.end(producer, is_commit=False, bumps_epoch=True) is FENCED
    assert harness.add(producer, BILLS) is FENCED
    assert harness.init(producer) is FENCED


def test_an_abort_from_outside_fences() -> None:
    harness = TransactionHarness.in_state(State.ONGOING)
    producer = harness.producer

    assert harness.abort() is ErrorCode.NONE

    assert harness.ended[ORDERS] == [Ended(1, is_commit=False)]
    assert harness.end(producer, is_commit=True) is FENCED
    assert harness.abort() is INVALID


@pytest.mark.parametrize("is_commit", [True, False])
def test_whoever_takes_over_ends_it_as_it_was_decided(is_commit: bool) -> None:
    harness = TransactionHarness.in_state(State.ONGOING)
    producer = harness.producer
    harness.completes = False
    harness.end(producer, is_commit=is_commit)
    assert harness.ended[ORDERS] == []

    harness.completes = True
    harness.take_over()

    assert harness.ended[ORDERS] == [Ended(1, is_commit)]
    assert harness.end(producer, is_commit=is_commit) == producer


def test_an_open_transaction_keeps_its_deadline_when_it_is_taken_over() -> None:
    harness = TransactionHarness.in_state(State.ONGOING)
    harness.now_ms += TIMEOUT_MS // 2
    harness.take_over()
    passed = harness.states_after(TIMEOUT_MS // 2 - 1, 1)
    assert passed == [State.ONGOING, State.COMPLETE_ABORT]


@pytest.mark.parametrize("state", State)
def test_only_idle_ids_expire(state: State) -> None:
    harness = TransactionHarness.in_state(state)
    transaction = harness.transaction
    is_idle = state not in (State.ONGOING, State.PREPARE_ABORT, State.PREPARE_COMMIT)
    for idle_ms, is_due in ((999, False), (1000, is_idle)):
        now_ms = transaction.updated_ms + idle_ms
        done = rules.is_done_with(transaction, retention_ms=1000, now_ms=now_ms)
        assert done is is_due
