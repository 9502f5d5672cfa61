"""Real clients whose transactions and reads are noted for the judge."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

from tests.support.client_contract import (
    Isolation,
    KafkaClient,
    NewRecord,
    Start,
    TransactionalProducer,
)
from tests.support.history import Partition
from tests.support.transaction_history import Reader, Transaction, TransactionHistory

Writes: TypeAlias = Mapping[Partition, Sequence[bytes]]


def write(producer: TransactionalProducer, noted: Transaction, writes: Writes) -> None:
    """Into the transaction that is open; return when all is acknowledged."""
    for partition, values in writes.items():
        for value in values:
            noted.write(partition, value)
        told = producer.send(
            partition.topic,
            [NewRecord(value, partition=partition.partition) for value in values],
        )
        for value, written in zip(values, told, strict=True):
            assert written.offset is not None
            noted.acknowledged(value, written.offset)


def begin(
    history: TransactionHistory, name: str, producer: TransactionalProducer, writes: Writes
) -> Transaction:
    """Open a transaction, and write to it."""
    noted = history.begin(name)
    producer.begin()
    write(producer, noted, writes)
    return noted


def commit(producer: TransactionalProducer, noted: Transaction) -> None:
    noted.ends()
    producer.commit()
    noted.committed()


def abort(producer: TransactionalProducer, noted: Transaction) -> None:
    noted.ends()
    producer.abort()
    noted.aborted()


def close_log(
    client: KafkaClient,
    bootstrap: str,
    history: TransactionHistory,
    partitions: Iterable[Partition],
) -> dict[Partition, bytes]:
    """Write a last record to each, outside of transactions: who reads it has all."""
    last: dict[Partition, bytes] = {}
    # They are there for everybody at once.
    noted = history.begin("outside of transactions")
    noted.ends()
    with client.producer(bootstrap) as producer:
        for partition in partitions:
            last[partition] = f"the end of {partition}".encode()
            noted.write(partition, last[partition])
            record = NewRecord(last[partition], partition=partition.partition)
            (written,) = producer.send(partition.topic, [record])
            noted.acknowledged(last[partition], written.offset or 0)
    noted.committed()
    return last


def read_to_end(
    client: KafkaClient,
    bootstrap: str,
    history: TransactionHistory,
    last: Mapping[Partition, bytes],
    isolation: Isolation,
) -> Reader:
    """Everything up to and with the records of `close_log`."""
    reader = history.reader(f"{client.name} with {isolation}", isolation)
    for topic in {partition.topic for partition in last}:
        waiting = {each for each in last if each.topic == topic}
        starts: dict[int, Start] = {each.partition: "earliest" for each in waiting}
        with client.consumer(bootstrap, topic, starts, isolation=isolation) as consumer:
            while waiting:
                records = consumer.read(1)
                assert records, f"{reader.name}: {waiting} end early"
                partition = Partition(topic, records[0].partition)
                value = records[0].value or b""
                reader.read(partition, records[0].offset, value)
                if value == last[partition]:
                    waiting.remove(partition)
    reader.finished()
    return reader


def judge(
    bootstrap: str,
    history: TransactionHistory,
    partitions: Sequence[Partition],
    *readers: KafkaClient,
) -> None:
    """Have each client read everything in each way, and see whether that is right."""
    last = close_log(readers[0], bootstrap, history, partitions)
    for reader in readers:
        for isolation in Isolation:
            read_to_end(reader, bootstrap, history, last, isolation)
    history.check()
