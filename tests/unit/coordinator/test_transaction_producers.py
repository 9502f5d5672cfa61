"""Who a transactional producer is: ids and epochs, fencing, and calls that are repeated."""

import pytest

from korvet.coordinator import transaction_rules as rules
from korvet.coordinator.transaction import (
    MAX_EPOCH,
    NO_PRODUCER,
    Producer,
    State,
    Transaction,
)
from korvet.coordinator.transaction_rules import ProducerIdNeeded
from korvet.kafka.errors import ErrorCode
from tests.support.transaction_harness import (
    ORDERS,
    TIMEOUT_MS,
    Ended,
    TransactionHarness,
    producer_of,
)

FENCED = ErrorCode.PRODUCER_FENCED
MAPPING = ErrorCode.INVALID_PRODUCER_ID_MAPPING
INVALID = ErrorCode.INVALID_TXN_STATE


def test_a_new_id_needs_a_producer_id() -> None:
    new = Transaction(transactional_id="payments")
    with pytest.raises(ProducerIdNeeded):
        rules.init_producer(new, timeout_ms=1, now_ms=0)


def test_nobody_uses_an_id_that_was_never_asked_for() -> None:
    harness = TransactionHarness()
    for producer in (NO_PRODUCER, Producer(1, 0)):
        assert harness.add(producer, ORDERS) is MAPPING
        assert harness.end(producer, is_commit=True) is MAPPING
        assert harness.end(producer, is_commit=False, bumps_epoch=True) is MAPPING
        assert harness.verify(producer, ORDERS) is MAPPING
    assert harness.abort() is ErrorCode.TRANSACTIONAL_ID_NOT_FOUND
    assert harness.saves == 0


def test_a_producer_whose_state_has_expired_may_go_on_with_a_new_id() -> None:
    harness = TransactionHarness()
    assert harness.init(Producer(7, 3)) == Producer(101, 0)
    assert harness.transaction.last_producer == NO_PRODUCER


def test_each_init_fences_the_one_before() -> None:
    harness = TransactionHarness.in_state(State.EMPTY)
    first = harness.producer
    second = producer_of(harness.init())

    assert second == Producer(first.producer_id, first.epoch + 1)
    assert harness.add(first, ORDERS) is FENCED
    assert harness.end(first, is_commit=True) is FENCED
    assert harness.end(first, is_commit=False, bumps_epoch=True) is FENCED
    assert harness.init(first) is FENCED
    assert harness.add(second, ORDERS) is ErrorCode.NONE


def test_one_that_goes_on_may_repeat_its_init() -> None:  # KIP-360
    harness = TransactionHarness.in_state(State.COMPLETE_COMMIT)
    before = harness.producer
    bumped = producer_of(harness.init(before))

    assert harness.init(before) == bumped
    assert harness.init(before) == bumped
    assert harness.init(bumped) == Producer(bumped.producer_id, bumped.epoch + 1)
    assert harness.init(before) is FENCED


def test_an_init_that_comes_late_does_not_abort_what_has_begun_since() -> None:
    harness = TransactionHarness.in_state(State.EMPTY)
    before = harness.producer
    bumped = producer_of(harness.init(before))
    harness.add(bumped, ORDERS)

    assert harness.init(before) is FENCED
    assert harness.state is State.ONGOING


def test_one_that_goes_on_in_an_open_transaction_has_it_aborted() -> None:
    harness = TransactionHarness.in_state(State.ONGOING)
    before = harness.producer

    bumped = producer_of(harness.init(before))

    assert harness.ended[ORDERS] == [Ended(1, is_commit=False)]
    assert bumped == Producer(before.producer_id, before.epoch + 1)
    assert harness.init(before) == bumped


def test_an_init_meanwhile_is_told_to_wait() -> None:
    harness = TransactionHarness.in_state(State.ONGOING)
    harness.completes = False

    assert harness.init() is ErrorCode.CONCURRENT_TRANSACTIONS
    assert harness.state is State.PREPARE_ABORT
    assert harness.init() is ErrorCode.CONCURRENT_TRANSACTIONS

    harness.complete()
    assert harness.init() == Producer(101, 2)


def test_used_up_epochs_lead_to_a_new_producer_id() -> None:
    harness = TransactionHarness.at_epoch(MAX_EPOCH)
    before = harness.producer

    after = producer_of(harness.init())

    assert after == Producer(102, 0)
    assert harness.init(before) is FENCED


def test_a_new_producer_id_may_be_asked_for_once_more() -> None:
    harness = TransactionHarness.at_epoch(MAX_EPOCH)
    before = harness.producer

    assert harness.init(before) == Producer(102, 0)
    assert harness.init(before) == Producer(102, 0)
    assert harness.producer_ids == 102


@pytest.mark.parametrize("goes_on", [True, False])
def test_fencing_at_the_last_epoch_leads_to_a_new_producer_id(goes_on: bool) -> None:
    harness = TransactionHarness.at_epoch(MAX_EPOCH)
    before = harness.producer
    harness.add(before, ORDERS)

    assert harness.init(before if goes_on else None) == Producer(102, 0)
    # Nobody was ever given this one.
    assert harness.add(Producer(101, MAX_EPOCH + 1), ORDERS) is MAPPING


def test_nobody_may_use_the_epoch_that_fences_the_last_one() -> None:
    harness = TransactionHarness.at_epoch(MAX_EPOCH)
    harness.add(harness.producer, ORDERS)
    harness.advance(TIMEOUT_MS)
    assert harness.producer == Producer(101, MAX_EPOCH + 1)

    assert harness.add(harness.producer, ORDERS) is FENCED


def test_the_timeout_is_that_of_the_last_init() -> None:
    harness = TransactionHarness.in_state(State.EMPTY)
    harness.init(timeout_ms=10)
    harness.add(harness.producer, ORDERS)
    assert harness.states_after(9, 1) == [State.ONGOING, State.COMPLETE_ABORT]
