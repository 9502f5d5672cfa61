"""Transactions by real clients: all of one or nothing, for who reads what is committed.

What each did goes into a history, which the judge looks at; see transaction_history.py.
"""

import uuid
from collections.abc import Iterator
from functools import partial
from typing import Final

import pytest

from korvet.kafka.errors import ErrorCode
from tests.support.client_contract import Isolation, KafkaClient, NewRecord, RefusedError
from tests.support.eventually import eventually_true
from tests.support.group_wire import GroupWire
from tests.support.history import Partition
from tests.support.kafka_clients import CLIENTS
from tests.support.korvet_process import KorvetCluster
from tests.support.layouts import LAYOUTS
from tests.support.noted_transactions import (
    abort,
    begin,
    commit,
    judge,
    write,
)
from tests.support.topic_admin import create_topic, delete_records
from tests.support.transaction_history import TransactionHistory
from tests.support.wire_client import LATEST

pytestmark = pytest.mark.e2e

# The older name of the error, and the newer one (KIP-588).
_FENCED: Final = frozenset({ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.PRODUCER_FENCED})


@pytest.fixture
def transactional_id() -> str:
    """One that no other test has."""
    return f"transactional-{uuid.uuid4().hex[:12]}"


@pytest.fixture
def group() -> str:
    return f"group-{uuid.uuid4().hex[:12]}"


@pytest.fixture
def partitions(korvet: KorvetCluster, topic: str) -> list[Partition]:
    """Two of a topic of each layout, so that transactions go over all of them."""
    for layout, configs in LAYOUTS.items():
        create_topic(korvet.bootstrap, f"{topic}-{layout}", partitions=2, configs=configs)
    return [Partition(f"{topic}-{layout}", part) for layout in LAYOUTS for part in range(2)]


@pytest.fixture
def wire(korvet: KorvetCluster) -> Iterator[GroupWire]:
    with GroupWire(korvet.bootstrap) as wire:
        yield wire


def test_transactions_over_partitions_of_topics_are_read_whole_or_not_at_all(
    korvet: KorvetCluster,
    client: KafkaClient,
    partitions: list[Partition],
    transactional_id: str,
) -> None:
    history = TransactionHistory()
    with client.transactional(korvet.bootstrap, transactional_id) as producer:
        for number, end in enumerate((commit, abort, abort, commit, commit, abort)):
            # Some write to all partitions, some to one, and what comes first changes.
            chosen = partitions[number:] if number % 2 else partitions
            values = [b"%d-%d %s" % (number, each, b"x" * 50) for each in range(3)]
            noted = begin(
                history,
                client.name,
                producer,
                {
                    each: [f"{index} ".encode() + value for value in values]
                    for index, each in enumerate(chosen)
                },
            )
            end(producer, noted)

    judge(korvet.bootstrap, history, partitions, *CLIENTS)


def test_transactions_of_several_producers_interleave(
    korvet: KorvetCluster,
    client: KafkaClient,
    log: str,
    transactional_id: str,
) -> None:
    """A reader waits for the oldest open one, whatever has been committed after it."""
    history = TransactionHistory()
    first = Partition(log, 0)
    with (
        client.transactional(korvet.bootstrap, f"{transactional_id}-1") as slow,
        client.transactional(korvet.bootstrap, f"{transactional_id}-2") as quick,
        client.consumer(
            korvet.bootstrap, first.topic, isolation=Isolation.COMMITTED
        ) as consumer,
    ):
        reader = history.reader("while they are open", Isolation.COMMITTED)

        def read(count: int) -> None:
            for record in consumer.read(count):
                reader.read(first, record.offset, record.value or b"")

        commit(quick, begin(history, "quick", quick, {first: [b"0"]}))
        read(1)
        waiting = begin(history, "slow", slow, {first: [b"1"]})
        commit(quick, begin(history, "quick", quick, {first: [b"2"]}))
        abort(quick, begin(history, "quick", quick, {first: [b"3"]}))
        # What is there is held back, so that this ends only with its time.
        assert consumer.read(1, within=0.3) == []
        write(slow, waiting, {first: [b"4"]})
        commit(slow, waiting)
        read(3)

    assert [each.value for each in reader.reads[first]] == [b"0", b"1", b"2", b"4"]
    judge(korvet.bootstrap, history, [first], client)


def test_a_group_commits_with_a_transaction_or_not_at_all(
    korvet: KorvetCluster,
    client: KafkaClient,
    topic: str,
    transactional_id: str,
    group: str,
    wire: GroupWire,
) -> None:
    create_topic(korvet.bootstrap, topic)
    place = (topic, 0)
    with client.transactional(korvet.bootstrap, transactional_id) as producer:
        producer.begin()
        producer.send(topic, [NewRecord(b"aborted")])
        producer.send_offset(group, topic, 5)
        assert wire.committed(group, place).error is ErrorCode.UNSTABLE_OFFSET_COMMIT
        assert wire.committed(group, place, stable=False).offset == -1
        producer.abort()
        eventually_true(lambda: wire.committed(group, place).error is ErrorCode.NONE)
        assert wire.committed(group, place).offset == -1

        for offset in (7, 9):
            producer.begin()
            producer.send_offset(group, topic, offset)
            producer.send(topic, [NewRecord(b"committed")])
            pending = wire.committed(group, place)
            assert pending.error is ErrorCode.UNSTABLE_OFFSET_COMMIT
            producer.commit()
            eventually_true(lambda: wire.committed(group, place).error is ErrorCode.NONE)
            assert wire.committed(group, place).offset == offset


def test_a_zombie_is_fenced_and_what_it_had_open_is_aborted(
    korvet: KorvetCluster,
    client: KafkaClient,
    partitions: list[Partition],
    transactional_id: str,
) -> None:
    history = TransactionHistory()
    with client.transactional(korvet.bootstrap, transactional_id) as zombie:
        commit(zombie, begin(history, "zombie", zombie, {partitions[0]: [b"before"]}))
        left = begin(
            history,
            "zombie",
            zombie,
            {each: [b"left %d" % index] for index, each in enumerate(partitions)},
        )
        left.ends()
        with client.transactional(korvet.bootstrap, transactional_id) as successor:
            left.aborted()
            begun = begin(
                history, "successor", successor, {partitions[0]: [b"of the successor"]}
            )
            with pytest.raises(RefusedError) as refused:
                zombie.commit()
            write(successor, begun, {partitions[1]: [b"after"]})
            commit(successor, begun)

    assert refused.value.code in _FENCED
    judge(korvet.bootstrap, history, partitions, client)


def test_a_transaction_that_lasts_too_long_is_aborted(
    korvet: KorvetCluster,
    client: KafkaClient,
    partitions: list[Partition],
    transactional_id: str,
    wire: GroupWire,
) -> None:
    history = TransactionHistory()
    with client.transactional(korvet.bootstrap, transactional_id, timeout=3.0) as producer:
        left = begin(
            history,
            client.name,
            producer,
            {each: [b"%d" % index] for index, each in enumerate(partitions)},
        )
        left.ends()
        # A last stable offset is past what is open only when that has ended.
        for topic, partition in partitions:
            eventually_true(partial(wire.is_stable, topic, partition))
        left.aborted()
        with pytest.raises(RefusedError) as refused:
            producer.commit()

    assert refused.value.code in _FENCED
    judge(korvet.bootstrap, history, partitions, client)


def test_a_topic_that_is_deleted_meanwhile_holds_up_no_transaction(
    korvet: KorvetCluster,
    client: KafkaClient,
    partitions: list[Partition],
    transactional_id: str,
    wire: GroupWire,
) -> None:
    history = TransactionHistory()
    *kept, _, gone = partitions
    with client.transactional(korvet.bootstrap, transactional_id) as producer:
        writes = {each: [b"%d" % index] for index, each in enumerate(kept[:6])}
        begun = begin(history, client.name, producer, writes)
        producer.send(gone.topic, [NewRecord(b"lost with it")])
        assert wire.delete_topic(gone.topic) is ErrorCode.NONE
        commit(producer, begun)
        create_topic(korvet.bootstrap, gone.topic)
        # Another topic of that name has no part in what is over.
        eventually_true(partial(wire.is_stable, gone.topic))
        next_ = begin(history, client.name, producer, {Partition(gone.topic, 0): [b"new"]})
        commit(producer, next_)

    judge(korvet.bootstrap, history, [*kept[:6], Partition(gone.topic, 0)], client)


def test_what_is_deleted_of_an_open_transaction_holds_up_no_reader(
    korvet: KorvetCluster,
    client: KafkaClient,
    log: str,
    transactional_id: str,
    wire: GroupWire,
) -> None:
    with client.transactional(korvet.bootstrap, transactional_id) as producer:
        producer.begin()
        producer.send(log, [NewRecord(b"deleted")])
        beginning = delete_records(korvet.bootstrap, log, before=-1)
        assert wire.find_offset(log, LATEST, committed=True).offset == beginning
        (kept,) = producer.send(log, [NewRecord(b"kept")])
        assert wire.find_offset(log, LATEST, committed=True).offset == beginning
        producer.commit()
        eventually_true(partial(wire.is_stable, log))

    with client.consumer(korvet.bootstrap, log, isolation=Isolation.COMMITTED) as consumer:
        (found,) = consumer.read(1)
    assert (found.offset, found.value) == (kept.offset, b"kept")
