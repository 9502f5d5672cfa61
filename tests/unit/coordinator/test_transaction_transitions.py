"""What may follow what: the table of states, and every event in every state."""

from collections.abc import Callable, Mapping
from typing import Final

import pytest

from korvet.coordinator.transaction import TRANSITIONS, Producer, State, Transaction
from korvet.kafka.errors import ErrorCode
from tests.support.transaction_harness import BILLS, ORDERS, TransactionHarness

EMPTY, ONGOING, PREPARE_COMMIT, PREPARE_ABORT, COMPLETE_COMMIT, COMPLETE_ABORT = State


@pytest.mark.parametrize(
    ("before", "after"),
    [(b, a) for b in State for a in State if a not in TRANSITIONS[b]],
)
def test_every_other_transition_is_a_bug(before: State, after: State) -> None:
    with pytest.raises(AssertionError):
        Transaction(transactional_id="payments", state=before).enter(after, 1)


@pytest.mark.parametrize(
    ("before", "after"), [(b, a) for b in State for a in TRANSITIONS[b]]
)
def test_every_transition_of_the_table_is_possible(before: State, after: State) -> None:
    entered = Transaction(transactional_id="payments", state=before).enter(after, 7)
    assert (entered.state, entered.updated_ms) == (after, 7)


# ---------------------------------------------------------------- every event, every state

PRODUCER: Final = Producer(101, 0)
NEXT: Final = Producer(101, 1)
AFTER_NEXT: Final = Producer(101, 2)
STRANGER: Final = Producer(7, 0)
FENCED: Final = Producer(101, -1)

NONE = ErrorCode.NONE
BUSY = ErrorCode.CONCURRENT_TRANSACTIONS
INVALID = ErrorCode.INVALID_TXN_STATE
MAPPING = ErrorCode.INVALID_PRODUCER_ID_MAPPING
IS_FENCED = ErrorCode.PRODUCER_FENCED

Event = Callable[[TransactionHarness], object]

EVENTS: Final[Mapping[str, Event]] = {
    "init": lambda it: it.init(),
    "init again": lambda it: it.init(PRODUCER),
    "init by a stranger": lambda it: it.init(STRANGER),
    "add": lambda it: it.add(PRODUCER, BILLS),
    "add what is in": lambda it: it.add(PRODUCER, ORDERS),
    "add group": lambda it: it.add_group(PRODUCER),
    "add by a stranger": lambda it: it.add(STRANGER, ORDERS),
    "add by one fenced": lambda it: it.add(FENCED, ORDERS),
    "commit": lambda it: it.end(PRODUCER, is_commit=True),
    "abort": lambda it: it.end(PRODUCER, is_commit=False),
    "commit v2": lambda it: it.end(PRODUCER, is_commit=True, bumps_epoch=True),
    "abort v2": lambda it: it.end(PRODUCER, is_commit=False, bumps_epoch=True),
    "commit by a stranger": lambda it: it.end(STRANGER, is_commit=True),
    "commit by one fenced": lambda it: it.end(FENCED, is_commit=True, bumps_epoch=True),
    "abort from outside": lambda it: it.abort(),
    "time": lambda it: it.advance(60_000),
}

_WHILE_PREPARED: Final = {
    **dict.fromkeys(EVENTS, BUSY),
    "add by a stranger": MAPPING,
    "add by one fenced": IS_FENCED,
    "commit by a stranger": MAPPING,
    "commit by one fenced": IS_FENCED,
    "time": None,
}

# What is answered, and the state that comes of it where that is another one. What is
# decided on the way is completed at once.
OUTCOMES: Final[Mapping[State, Mapping[str, object]]] = {
    EMPTY: {
        "init": NEXT,
        "init again": NEXT,
        "init by a stranger": IS_FENCED,
        "add": (NONE, ONGOING),
        "add what is in": (NONE, ONGOING),
        "add group": (NONE, ONGOING),
        "add by a stranger": MAPPING,
        "add by one fenced": IS_FENCED,
        "commit": INVALID,
        "abort": INVALID,
        "commit v2": INVALID,
        "abort v2": (NEXT, COMPLETE_ABORT),
        "commit by a stranger": MAPPING,
        "commit by one fenced": IS_FENCED,
        "abort from outside": INVALID,
        "time": None,
    },
    ONGOING: {
        "init": (AFTER_NEXT, EMPTY),
        "init again": (NEXT, EMPTY),
        "init by a stranger": IS_FENCED,
        "add": NONE,
        "add what is in": NONE,
        "add group": NONE,
        "add by a stranger": MAPPING,
        "add by one fenced": IS_FENCED,
        "commit": (PRODUCER, COMPLETE_COMMIT),
        "abort": (PRODUCER, COMPLETE_ABORT),
        "commit v2": (NEXT, COMPLETE_COMMIT),
        "abort v2": (NEXT, COMPLETE_ABORT),
        "commit by a stranger": MAPPING,
        "commit by one fenced": IS_FENCED,
        "abort from outside": (NONE, COMPLETE_ABORT),
        "time": (None, COMPLETE_ABORT),
    },
    PREPARE_COMMIT: _WHILE_PREPARED,
    PREPARE_ABORT: _WHILE_PREPARED,
    COMPLETE_COMMIT: {
        "init": (NEXT, EMPTY),
        "init again": (NEXT, EMPTY),
        "init by a stranger": IS_FENCED,
        "add": (NONE, ONGOING),
        "add what is in": (NONE, ONGOING),
        "add group": (NONE, ONGOING),
        "add by a stranger": MAPPING,
        "add by one fenced": IS_FENCED,
        "commit": PRODUCER,
        "abort": INVALID,
        "commit v2": INVALID,
        "abort v2": (NEXT, COMPLETE_ABORT),
        "commit by a stranger": MAPPING,
        "commit by one fenced": IS_FENCED,
        "abort from outside": INVALID,
        "time": None,
    },
    COMPLETE_ABORT: {
        "init": (NEXT, EMPTY),
        "init again": (NEXT, EMPTY),
        "init by a stranger": IS_FENCED,
        "add": (NONE, ONGOING),
        "add what is in": (NONE, ONGOING),
        "add group": (NONE, ONGOING),
        "add by a stranger": MAPPING,
        "add by one fenced": IS_FENCED,
        "commit": INVALID,
        "abort": PRODUCER,
        "commit v2": INVALID,
        "abort v2": NEXT,
        "commit by a stranger": MAPPING,
        "commit by one fenced": IS_FENCED,
        "abort from outside": INVALID,
        "time": None,
    },
}


@pytest.mark.parametrize("state", State)
@pytest.mark.parametrize("event", EVENTS)
def test_every_event_in_every_state(state: State, event: str) -> None:
    expected = OUTCOMES[state][event]
    answer, after = (
        expected
        if isinstance(expected, tuple) and not isinstance(expected, Producer)
        else (expected, state)
    )
    harness = TransactionHarness.in_state(state)
    before = harness.transaction

    assert EVENTS[event](harness) == answer

    assert harness.state is after
    if isinstance(answer, ErrorCode) and answer is not NONE:
        assert harness.transaction == before


def test_every_event_has_an_outcome_in_every_state() -> None:
    assert all(OUTCOMES[state].keys() == EVENTS.keys() for state in State)
