"""PURE: the life of a transactional id: a function for each event, as Kafka's coordinator
has them.

Nothing in here awaits, logs, or reads a clock. A caller saves the transaction that comes
back before it does anything else, then carries out the effect, then answers. An event that
is refused raises KafkaError before anything has changed. Where a producer id is needed,
the caller hands in one that nobody has had.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import Generic, NamedTuple, TypeAlias, TypeVar

from korvet.coordinator.transaction import (
    MAX_EPOCH,
    NO_PRODUCER,
    Partition,
    Producer,
    State,
    Transaction,
)
from korvet.kafka.errors import ErrorCode, KafkaError

Answer = TypeVar("Answer")


class ProducerIdNeeded(Exception):
    """The event leads to a new producer id: apply it again with one."""


class Register(NamedTuple):
    """Tell these that they take part, before anything is answered. May be repeated."""

    partitions: frozenset[Partition] = frozenset()
    groups: frozenset[str] = frozenset()


class Finish(NamedTuple):
    """End the transaction, as it was decided, with all who take part; then `completed`."""


Effect: TypeAlias = Register | Finish


class Step(NamedTuple, Generic[Answer]):
    """What an event leads to."""

    transaction: Transaction
    answer: Answer
    effect: Effect | None = None


# ---------------------------------------------------------------- who the producer is


def init_producer(
    transaction: Transaction,
    *,
    timeout_ms: int,
    expected: Producer | None = None,
    now_ms: int,
    new_producer_id: int | None = None,
) -> Step[Producer | None]:
    """Give a producer its id and epoch, and fence whoever had them before.

    No answer: an open transaction must be aborted first, then the event comes again.
    `expected` is what the producer has had, where it goes on after an error (KIP-360).
    """
    _check_not_prepared(transaction)
    known = (transaction.producer, transaction.last_producer)
    is_new = transaction.producer == NO_PRODUCER
    if expected is not None and not is_new and expected not in known:
        raise KafkaError(ErrorCode.PRODUCER_FENCED)
    if transaction.state is State.ONGOING:
        # Who goes on is known again when it is complete.
        return Step(*_fenced(transaction, now_ms, last=expected))
    producer = transaction.producer
    is_repeated = expected is not None and expected == transaction.last_producer
    # One that has not heard the answer to the same call gets it again.
    if not is_repeated or producer.epoch > MAX_EPOCH:
        producer = _next_producer(producer, new_producer_id)
    last = NO_PRODUCER if expected is None or is_new else expected
    given = replace(
        transaction.enter(State.EMPTY, now_ms),
        producer=producer,
        last_producer=last,
        timeout_ms=timeout_ms,
    )
    return Step(given, producer)


def _next_producer(producer: Producer, new_producer_id: int | None) -> Producer:
    if producer != NO_PRODUCER and producer.epoch < MAX_EPOCH:
        return producer._replace(epoch=producer.epoch + 1)
    if new_producer_id is None:
        raise ProducerIdNeeded
    return Producer(new_producer_id, 0)


# ---------------------------------------------------------------- what takes part


def add_partitions(
    transaction: Transaction,
    producer: Producer,
    partitions: Iterable[Partition],
    now_ms: int,
) -> Step[None]:
    return _added(transaction, producer, Register(partitions=frozenset(partitions)), now_ms)


def add_group(
    transaction: Transaction, producer: Producer, group_id: str, now_ms: int
) -> Step[None]:
    return _added(transaction, producer, Register(groups=frozenset({group_id})), now_ms)


def _added(
    transaction: Transaction, producer: Producer, added: Register, now_ms: int
) -> Step[None]:
    _check_producer(transaction, producer)
    partitions = transaction.partitions | added.partitions
    groups = transaction.groups | added.groups
    if (partitions, groups) == (transaction.partitions, transaction.groups):
        # They may not have heard of it yet.
        return Step(transaction, None, added)
    if transaction.state is not State.ONGOING:
        transaction = replace(
            transaction,
            # Nobody who begins a transaction asks once more for what it has.
            last_producer=NO_PRODUCER,
            number=transaction.number + 1,
            started_ms=now_ms,
        )
    grown = replace(
        transaction.enter(State.ONGOING, now_ms), partitions=partitions, groups=groups
    )
    return Step(grown, None, added)


def verify_partitions(
    transaction: Transaction, producer: Producer, partitions: Iterable[Partition]
) -> tuple[ErrorCode, ...]:
    """Whether each takes part (KIP-890); a producer of which one does not must abort."""
    _check_producer(transaction, producer)
    return tuple(
        ErrorCode.NONE
        if partition in transaction.partitions
        else ErrorCode.TRANSACTION_ABORTABLE
        for partition in partitions
    )


# ---------------------------------------------------------------- how it ends


def end(
    transaction: Transaction,
    producer: Producer,
    *,
    is_commit: bool,
    bumps_epoch: bool,
    now_ms: int,
    new_producer_id: int | None = None,
) -> Step[Producer]:
    """Decide. The answer is what the producer goes on with.

    With `bumps_epoch` each transaction has an epoch of its own (KIP-890), so that one who
    repeats the call is known by the epoch before.
    """
    is_decided = transaction.state not in (State.EMPTY, State.ONGOING)
    is_repeated = is_decided and (
        producer == (transaction.last_producer if bumps_epoch else transaction.producer)
    )
    if not is_repeated or producer == NO_PRODUCER:
        _check_producer(transaction, producer)
    else:
        _check_not_prepared(transaction)
        if is_commit is transaction.is_commit:
            return Step(transaction, transaction.producer)
        raise KafkaError(ErrorCode.INVALID_TXN_STATE)
    if transaction.state is State.ONGOING:
        return _decided(
            transaction,
            is_commit=is_commit,
            bumps_epoch=bumps_epoch,
            now_ms=now_ms,
            new_producer_id=new_producer_id,
        )
    if is_commit or not bumps_epoch:
        raise KafkaError(ErrorCode.INVALID_TXN_STATE)
    # Nothing was added, but what is under way may not come as a part of the next one.
    bumped = replace(
        transaction.enter(State.COMPLETE_ABORT, now_ms),
        producer=_next_producer(producer, new_producer_id),
        last_producer=producer,
    )
    return Step(bumped, bumped.producer)


def _decided(
    transaction: Transaction,
    *,
    is_commit: bool,
    bumps_epoch: bool,
    now_ms: int,
    new_producer_id: int | None,
) -> Step[Producer]:
    state = State.PREPARE_COMMIT if is_commit else State.PREPARE_ABORT
    decided = transaction.enter(state, now_ms)
    if not bumps_epoch:
        return Step(decided, transaction.producer, Finish())
    producer = transaction.producer
    goes_on_with = _next_producer(producer, new_producer_id)
    if goes_on_with.producer_id != producer.producer_id:
        decided = replace(decided, next_producer_id=goes_on_with.producer_id)
    decided = replace(
        decided,
        # The markers carry it, so that batches with the one before are refused.
        producer=producer._replace(epoch=producer.epoch + 1),
        last_producer=producer,
    )
    return Step(decided, goes_on_with, Finish())


def completed(transaction: Transaction, now_ms: int) -> Transaction:
    """All who took part have ended it."""
    state = State.COMPLETE_COMMIT if transaction.is_commit else State.COMPLETE_ABORT
    producer = transaction.producer
    if transaction.next_producer_id != NO_PRODUCER.producer_id:
        producer = Producer(transaction.next_producer_id, 0)
    return replace(
        transaction.enter(state, now_ms),
        producer=producer,
        next_producer_id=NO_PRODUCER.producer_id,
        partitions=frozenset(),
        groups=frozenset(),
        started_ms=-1,
    )


def abort(transaction: Transaction, now_ms: int) -> Step[None]:
    """End an open transaction from outside, and fence its producer."""
    _check_not_prepared(transaction)
    if transaction.producer == NO_PRODUCER:
        raise KafkaError(ErrorCode.TRANSACTIONAL_ID_NOT_FOUND)
    if transaction.state is not State.ONGOING:
        raise KafkaError(ErrorCode.INVALID_TXN_STATE, "no transaction is open")
    return Step(*_fenced(transaction, now_ms))


def expire(transaction: Transaction, now_ms: int) -> Step[None]:
    """Abort a transaction that has been open for too long."""
    deadline_ms = transaction.deadline_ms
    if deadline_ms is None or now_ms < deadline_ms:
        return Step(transaction, None)
    return Step(*_fenced(transaction, now_ms))


def _fenced(
    transaction: Transaction, now_ms: int, last: Producer | None = None
) -> tuple[Transaction, None, Finish]:
    producer = transaction.producer
    fenced = replace(
        transaction.enter(State.PREPARE_ABORT, now_ms),
        producer=producer._replace(epoch=producer.epoch + 1),
        last_producer=last or NO_PRODUCER,
    )
    return fenced, None, Finish()


# ---------------------------------------------------------------- the rest


def is_done_with(transaction: Transaction, *, retention_ms: int, now_ms: int) -> bool:
    """Whether nobody has wanted the transactional id for too long."""
    return not transaction.is_open and now_ms - transaction.updated_ms >= retention_ms


def _check_not_prepared(transaction: Transaction) -> None:
    if transaction.is_prepared:
        raise KafkaError(ErrorCode.CONCURRENT_TRANSACTIONS)


def _check_producer(transaction: Transaction, producer: Producer) -> None:
    known, next_id = transaction.producer, transaction.next_producer_id
    if next_id != NO_PRODUCER.producer_id and producer == (next_id, 0):
        # It has heard how it ended, and is valid when that is carried out (KIP-890).
        _check_not_prepared(transaction)
    if known == NO_PRODUCER or producer.producer_id != known.producer_id:
        raise KafkaError(ErrorCode.INVALID_PRODUCER_ID_MAPPING)
    if producer.epoch != known.epoch or producer.epoch > MAX_EPOCH:
        # The last epoch of all is given to nobody.
        raise KafkaError(ErrorCode.PRODUCER_FENCED)
    _check_not_prepared(transaction)
