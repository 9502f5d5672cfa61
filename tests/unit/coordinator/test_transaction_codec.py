"""A transactional id's state as it lies in Redis."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from korvet.coordinator.owner import Owner
from korvet.coordinator.transaction import Partition, Producer, State, Transaction
from korvet.coordinator.transaction_codec import StoredTransaction, decode, encode

OWNER = Owner(address="127.0.0.1:50052", incarnation="abc", epoch=3)

PRODUCERS = st.builds(
    Producer, st.integers(-1, (1 << 63) - 1), st.integers(-1, (1 << 15) - 1)
)
PARTITIONS = st.builds(Partition, st.text(), st.text(), st.integers(0, 100))
TRANSACTIONS = st.builds(
    Transaction,
    transactional_id=st.text(),
    producer=PRODUCERS,
    last_producer=PRODUCERS,
    next_producer_id=st.integers(-1, (1 << 63) - 1),
    number=st.integers(0, (1 << 63) - 1),
    state=st.sampled_from(State),
    timeout_ms=st.integers(0, (1 << 31) - 1),
    partitions=st.frozensets(PARTITIONS, max_size=4),
    groups=st.frozensets(st.text(), max_size=4),
    started_ms=st.integers(-1, 1 << 50),
    updated_ms=st.integers(0, 1 << 50),
)


@given(TRANSACTIONS, st.integers(1, 1 << 40))
def test_what_was_saved_is_what_is_read(transaction: Transaction, version: int) -> None:
    stored = StoredTransaction(transaction=transaction, owner=OWNER, version=version)
    assert decode(transaction.transactional_id, encode(stored)) == stored


def test_the_first_line_says_who_owns_it() -> None:
    stored = StoredTransaction(
        transaction=Transaction(transactional_id="payments"), owner=OWNER, version=7
    )
    head, _, body = encode(stored).partition(b"\n")
    assert head == stored.head.encode() == b"transaction 3 7 abc 127.0.0.1:50052"
    assert json.loads(body)["state"] == "Empty"


@pytest.mark.parametrize(
    "value",
    [
        b"",
        b"\n{}",
        b"transaction 1 1 abc address",
        b"transaction 1 1 abc address\n{}",
        b"transaction 1 1 abc address\n[]",
        b"transaction x 1 abc address\n{}",
        b"classic 1 1 abc address\n{}",
        b"transaction 1 1 abc address\n\xff",
    ],
)
def test_what_is_no_state_is_not_taken_for_one(value: bytes) -> None:
    with pytest.raises(ValueError, match="payments"):
        decode("payments", value)
