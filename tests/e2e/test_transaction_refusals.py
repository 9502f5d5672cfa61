"""What producers get wrong about transactions, over the wire; Kafka's error for each."""

import time
import uuid
from collections.abc import Iterator
from typing import Final

import pytest

from korvet.kafka.errors import ErrorCode
from tests.support.group_member import Place
from tests.support.korvet_process import KorvetCluster, StartKorvet
from tests.support.topic_admin import create_topic
from tests.support.transaction_wire import NEWER_END, OLDER_END, Described, TransactionWire
from tests.support.wire_client import ProducerId, WireClient, batch_of, values_of

pytestmark = pytest.mark.e2e

_STRANGER: Final = ProducerId(1 << 40, 0)
_JOINING_PRODUCE: Final = 12
_JOINING_COMMIT: Final = 5


@pytest.fixture
def wire(korvet: KorvetCluster) -> Iterator[TransactionWire]:
    """With a transactional id of its own."""
    with TransactionWire(korvet.bootstrap) as wire:
        wire.transactional_id = f"transactional-{uuid.uuid4().hex[:12]}"
        yield wire


@pytest.fixture
def place(log: str) -> Place:
    return (log, 0)


@pytest.fixture
def plain(korvet: KorvetCluster, topic: str) -> Place:
    """Of a topic with the usual layout, where that makes no difference."""
    create_topic(korvet.bootstrap, topic)
    return (topic, 0)


@pytest.fixture
def group() -> str:
    return f"group-{uuid.uuid4().hex[:12]}"


# ---------------------------------------------------------------- who it is


def test_nobody_has_a_transaction_under_an_id_that_was_never_asked_for(
    wire: TransactionWire, plain: Place, group: str
) -> None:
    unknown = ErrorCode.INVALID_PRODUCER_ID_MAPPING

    assert wire.add(_STRANGER, plain) == [unknown]
    assert wire.add_group(_STRANGER, group) is unknown
    assert wire.end(_STRANGER, commit=True).error is unknown
    assert wire.end(_STRANGER, commit=False, version=NEWER_END).error is unknown
    assert wire.write(_STRANGER, plain, b"", 0, version=_JOINING_PRODUCE).error is unknown
    assert commits(wire, _STRANGER, group, plain) == {unknown}
    assert wire.describe().error is ErrorCode.TRANSACTIONAL_ID_NOT_FOUND


def test_another_producer_id_is_not_the_one_that_has_the_transactional_id(
    wire: TransactionWire, plain: Place, group: str
) -> None:
    producer = wire.started()
    other = producer._replace(producer_id=producer.producer_id + 1000)
    unknown = ErrorCode.INVALID_PRODUCER_ID_MAPPING

    assert wire.add(other, plain) == [unknown]
    assert wire.add_group(other, group) is unknown
    assert wire.end(other, commit=True).error is unknown
    assert wire.write(other, plain, b"", 0, version=_JOINING_PRODUCE).error is unknown
    assert commits(wire, other, group, plain) == {unknown}


def test_an_id_must_have_a_name_and_a_time_limit_that_is_allowed(
    wire: TransactionWire,
) -> None:
    for timeout_ms in (-1, 0, 900_001):
        error = wire.init(timeout_ms=timeout_ms).error
        assert error is ErrorCode.INVALID_TRANSACTION_TIMEOUT, timeout_ms
    assert wire.init(timeout_ms=900_000).error is ErrorCode.NONE

    wire.transactional_id = ""
    assert wire.init().error is ErrorCode.INVALID_REQUEST


def test_who_was_fenced_is_told_so_with_every_request(
    wire: TransactionWire, place: Place, group: str
) -> None:
    fenced = wire.started()
    assert wire.add(fenced, place) == [ErrorCode.NONE]
    assert wire.write(fenced, place, b"aborted", 0).error is ErrorCode.NONE
    wire.started()

    # The newer name of the error came with versions of the requests.
    assert wire.add(fenced, place, version=1) == [ErrorCode.INVALID_PRODUCER_EPOCH]
    assert wire.add(fenced, place) == [ErrorCode.PRODUCER_FENCED]
    assert wire.add_group(fenced, group, version=1) is ErrorCode.INVALID_PRODUCER_EPOCH
    assert wire.add_group(fenced, group) is ErrorCode.PRODUCER_FENCED
    for version, expected in (
        (1, ErrorCode.INVALID_PRODUCER_EPOCH),
        (2, ErrorCode.PRODUCER_FENCED),
        (OLDER_END, ErrorCode.PRODUCER_FENCED),
        (NEWER_END, ErrorCode.PRODUCER_FENCED),
    ):
        assert wire.end(fenced, commit=True, version=version).error is expected
    for version in (9, 11, _JOINING_PRODUCE):
        refused = wire.write(fenced, place, b"late", 1, version=version)
        assert refused.error is ErrorCode.INVALID_PRODUCER_EPOCH, version
    assert commits(wire, fenced, group, place) == {ErrorCode.INVALID_PRODUCER_EPOCH}
    assert wire.init(expected=fenced).error is ErrorCode.PRODUCER_FENCED
    assert wire.init(expected=fenced, version=3).error is ErrorCode.INVALID_PRODUCER_EPOCH


def test_an_epoch_that_was_given_to_nobody_is_refused_as_an_old_one_is(
    wire: TransactionWire, plain: Place, group: str
) -> None:
    producer = wire.started()
    ahead = producer._replace(epoch=producer.epoch + 1)
    assert wire.add_group(producer, group) is ErrorCode.NONE

    assert commits(wire, ahead, group, plain) == {ErrorCode.INVALID_PRODUCER_EPOCH}


def commits(
    wire: TransactionWire, producer: ProducerId, group: str, place: Place
) -> set[ErrorCode]:
    """What the versions of TxnOffsetCommit are told."""
    return {
        wire.commit_offset(producer, group, place, 1, version=version)
        for version in range(_JOINING_COMMIT + 1)
    }


def test_a_producer_that_goes_on_after_an_error_may_ask_again(
    wire: TransactionWire,
) -> None:
    """KIP-360: it says who it was, and is not fenced by its own first try."""
    first = wire.started()
    second = wire.init(expected=first)
    again = wire.init(expected=first)

    assert second.producer == first._replace(epoch=first.epoch + 1)
    assert again == second
    # Whoever takes over is not one who goes on.
    assert wire.started().epoch == second.producer.epoch + 1
    assert wire.init(expected=first).error is ErrorCode.PRODUCER_FENCED


# ---------------------------------------------------------------- what takes part


def test_a_partition_that_was_not_added_takes_no_records(
    wire: TransactionWire, place: Place
) -> None:
    producer = wire.started()

    for version, expected in (
        (9, ErrorCode.INVALID_TXN_STATE),
        (10, ErrorCode.INVALID_TXN_STATE),
        (11, ErrorCode.TRANSACTION_ABORTABLE),
    ):
        written = wire.write(producer, place, b"not added", 0, version=version)
        assert written.error is expected, version
    assert wire.read_all(place[0]) == []
    assert wire.write(producer, place, b"a", 0, version=12).error is ErrorCode.NONE


@pytest.mark.parametrize("version", [9, 10, 11])
def test_a_partition_that_never_heard_of_them_refuses_strangers_and_zombies_by_name(
    wire: TransactionWire, plain: Place, version: int
) -> None:
    zombie = wire.started()
    stranger = wire.new_producer_id()
    current = wire.started()

    assert [
        wire.write(producer, plain, b"", 0, version=version).error
        for producer in (stranger, zombie)
    ] == [ErrorCode.INVALID_PRODUCER_ID_MAPPING, ErrorCode.INVALID_PRODUCER_EPOCH]
    assert wire.add(current, plain) == [ErrorCode.NONE]
    assert wire.write(current, plain, b"", 0, version=version).error is ErrorCode.NONE


def test_a_transactional_batch_needs_the_transactional_id(
    wire: TransactionWire, plain: Place
) -> None:
    producer = wire.started()
    assert wire.add(producer, plain) == [ErrorCode.NONE]

    refused = wire.write(producer, plain, b"", 0, names_id=False)

    assert refused.error is ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED


def test_partitions_that_do_not_exist_are_not_added_nor_those_beside_them(
    wire: TransactionWire, plain: Place
) -> None:
    producer = wire.started()

    assert wire.add(producer, ("no-such-topic", 0), plain) == [
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.OPERATION_NOT_ATTEMPTED,
    ]
    assert wire.add(producer, (plain[0], 7)) == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
    assert wire.describe() == Described(ErrorCode.NONE, "Empty")


def test_a_group_that_was_not_added_commits_nothing(
    wire: TransactionWire, plain: Place, group: str
) -> None:
    producer = wire.started()
    assert wire.add(producer, plain) == [ErrorCode.NONE]

    for version, expected in (
        (3, ErrorCode.INVALID_TXN_STATE),
        (4, ErrorCode.TRANSACTION_ABORTABLE),
        (_JOINING_COMMIT, ErrorCode.NONE),
    ):
        found = wire.commit_offset(producer, group, plain, 5, version=version)
        assert found is expected, version
    assert wire.end(producer, commit=True).error is ErrorCode.NONE
    assert wire.committed(group, plain).offset == 5


def test_an_ended_transaction_takes_nothing_more(
    wire: TransactionWire, place: Place, group: str
) -> None:
    """What was under way when it ended opens nothing, which nobody would ever end."""
    producer = wire.started()
    assert wire.add(producer, place) == [ErrorCode.NONE]
    assert wire.add_group(producer, group) is ErrorCode.NONE
    assert wire.write(producer, place, b"in time", 0).error is ErrorCode.NONE
    assert wire.end(producer, commit=True).error is ErrorCode.NONE

    late = wire.write(producer, place, b"late", 1)
    late_offset = wire.commit_offset(producer, group, place, 1)

    assert late.error is ErrorCode.TRANSACTION_ABORTABLE
    assert late_offset is ErrorCode.INVALID_TXN_STATE
    assert wire.is_stable(place[0])
    assert wire.committed(group, place).offset == -1


def test_with_an_epoch_for_each_transaction_what_is_late_is_known_by_its_epoch(
    wire: TransactionWire, place: Place
) -> None:
    producer = wire.started()
    version = _JOINING_PRODUCE
    assert wire.write(producer, place, b"a", 0, version=version).error is ErrorCode.NONE
    following = wire.end(producer, commit=True, version=NEWER_END).producer
    assert following == producer._replace(epoch=producer.epoch + 1)
    assert wire.write(following, place, b"b", 0, version=version).error is ErrorCode.NONE

    late = wire.write(producer, place, b"late", 1, version=version)

    assert late.error is ErrorCode.INVALID_PRODUCER_EPOCH
    assert wire.end(following, commit=True, version=NEWER_END).error is ErrorCode.NONE
    values = [record.value for record in wire.read_all(place[0])]
    assert [value for value in values if value in (b"a", b"b", b"late")] == [b"a", b"b"]


# ---------------------------------------------------------------- how it ends


@pytest.mark.parametrize("commit", [True, False])
def test_an_end_may_be_repeated_but_not_turned_around(
    wire: TransactionWire, plain: Place, *, commit: bool
) -> None:
    producer = wire.started()
    assert wire.add(producer, plain) == [ErrorCode.NONE]
    assert wire.end(producer, commit=commit).error is ErrorCode.NONE

    assert wire.end(producer, commit=commit).error is ErrorCode.NONE
    assert wire.end(producer, commit=not commit).error is ErrorCode.INVALID_TXN_STATE
    assert wire.describe().state == ("CompleteCommit" if commit else "CompleteAbort")


@pytest.mark.parametrize("commit", [True, False])
def test_a_repeated_end_is_told_the_same_epoch_again(
    wire: TransactionWire, plain: Place, *, commit: bool
) -> None:
    producer = wire.started()
    assert wire.add(producer, plain) == [ErrorCode.NONE]
    ended = wire.end(producer, commit=commit, version=NEWER_END)
    assert ended == (ErrorCode.NONE, producer._replace(epoch=producer.epoch + 1))

    assert wire.end(producer, commit=commit, version=NEWER_END) == ended
    turned = wire.end(producer, commit=not commit, version=NEWER_END)
    assert turned.error is ErrorCode.INVALID_TXN_STATE


def test_what_never_began_cannot_be_committed(wire: TransactionWire) -> None:
    producer = wire.started()

    for version in (OLDER_END, NEWER_END):
        refused = wire.end(producer, commit=True, version=version)
        assert refused.error is ErrorCode.INVALID_TXN_STATE, version
    assert wire.end(producer, commit=False).error is ErrorCode.INVALID_TXN_STATE
    # A producer that joins by use may not know whether it has: it gets the next epoch.
    aborted = wire.end(producer, commit=False, version=NEWER_END)
    assert aborted == (ErrorCode.NONE, producer._replace(epoch=producer.epoch + 1))


# ---------------------------------------------------------------- sequences


def test_records_out_of_sequence_are_refused_and_the_transaction_goes_on(
    wire: TransactionWire, place: Place
) -> None:
    producer = wire.started()
    assert wire.add(producer, place) == [ErrorCode.NONE]
    first = wire.write(producer, place, b"0", 0)
    assert first.error is ErrorCode.NONE

    gap = wire.write(producer, place, b"2", 2)
    repeated = wire.write(producer, place, b"0", 0)
    following = wire.write(producer, place, b"1", 1)

    assert gap.error is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert repeated == first
    assert following.error is ErrorCode.NONE
    assert wire.end(producer, commit=True).error is ErrorCode.NONE
    # The last one is the marker.
    assert values_of(wire.read_all(place[0]))[:-1] == [b"0", b"1"]


def test_that_a_partition_was_not_added_is_told_before_a_gap(
    wire: TransactionWire, place: Place
) -> None:
    """Also where the partition knows the producer."""
    producer = wire.started()
    assert wire.add(producer, place) == [ErrorCode.NONE]
    assert wire.write(producer, place, b"0", 0).error is ErrorCode.NONE
    assert wire.end(producer, commit=True).error is ErrorCode.NONE

    late = [wire.write(producer, place, b"", 5, version=v).error for v in (9, 10, 11)]
    successor = wire.started()
    early = [wire.write(successor, place, b"", 5, version=v).error for v in (9, 10, 11)]

    not_added = ErrorCode.INVALID_TXN_STATE
    expected = [not_added, not_added, ErrorCode.TRANSACTION_ABORTABLE]
    assert (late, early) == (expected, expected)
    assert wire.add(successor, place) == [ErrorCode.NONE]
    gap = wire.write(successor, place, b"", 5)
    assert gap.error is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert wire.write(successor, place, b"0", 0).error is ErrorCode.NONE


@pytest.mark.parametrize("commit", [True, False])
def test_who_has_ended_a_transaction_without_records_begins_with_the_first_sequence(
    wire: TransactionWire, place: Place, *, commit: bool
) -> None:
    """What no transaction has touched takes any."""
    producer = wire.started()
    assert wire.add(producer, place) == [ErrorCode.NONE]
    assert wire.end(producer, commit=commit).error is ErrorCode.NONE
    assert wire.add(producer, place) == [ErrorCode.NONE]

    gap = wire.write(producer, place, b"3", 3)
    first = wire.write(producer, place, b"0", 0)

    assert gap.error is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert first.error is ErrorCode.NONE


def test_a_producer_has_no_records_outside_of_its_open_transaction(
    wire: TransactionWire, place: Place
) -> None:
    producer = wire.started()
    assert wire.add(producer, place) == [ErrorCode.NONE]
    assert wire.write(producer, place, b"0", 0).error is ErrorCode.NONE

    outside = wire.produce(
        place[0], batch_of([b"outside"], producer=producer, sequence=1), partition=0
    )

    assert outside.error is ErrorCode.INVALID_TXN_STATE


def test_a_producer_that_comes_back_after_its_state_has_expired_goes_on(
    start_korvet: StartKorvet, topic: str
) -> None:
    """As with Kafka, for which any sequence is right where it remembers none."""
    korvet = start_korvet(settings={"producer.id.expiration.ms": "20"})
    with WireClient(korvet.bootstrap) as wire:
        wire.create_topic(topic)
        producer = wire.new_producer_id()
        for sequence in range(3):
            batch = batch_of([b"%d" % sequence], producer=producer, sequence=sequence)
            assert wire.produce(topic, batch).error is ErrorCode.NONE
            # It is the passing of time that is tested.
            time.sleep(0.1)
        much_later = batch_of([b"7"], producer=producer, sequence=7)
        assert wire.produce(topic, much_later).error is ErrorCode.NONE

        assert values_of(wire.read_all(topic)) == [b"0", b"1", b"2", b"7"]
