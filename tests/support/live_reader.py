"""A librdkafka consumer that reads while things break, for the judge of transactions."""

import threading
from collections.abc import Mapping, Sequence
from contextlib import closing
from typing import Self

from confluent_kafka import OFFSET_BEGINNING, Consumer, TopicPartition

from tests.support.client_contract import Isolation
from tests.support.history import Partition
from tests.support.traffic import PATIENCE, QUIET
from tests.support.transaction_history import TransactionHistory


class LiveReader:
    """Leaving the block ends it; after `read_to` it has read everything."""

    def __init__(
        self,
        bootstrap: str,
        history: TransactionHistory,
        partitions: Sequence[Partition],
        isolation: Isolation,
    ) -> None:
        self._reader = history.reader(f"a live reader with {isolation}", isolation)
        self._partitions = partitions
        self._ended = threading.Event()
        self._last: Mapping[Partition, bytes] = {}
        self._has_all = threading.Event()
        self._crashes: list[BaseException] = []
        self._thread = threading.Thread(target=self._guarded, daemon=True)
        self._consumer = Consumer(
            {
                "bootstrap.servers": bootstrap,
                # Required, although a group is never joined.
                "group.id": "unused",
                "enable.auto.commit": False,
                "isolation.level": str(isolation),
                # A position that is suddenly out of range must not pass unnoticed.
                "auto.offset.reset": "error",
                "fetch.error.backoff.ms": 20,
                "topic.metadata.refresh.interval.ms": 500,
                "reconnect.backoff.ms": 20,
                "reconnect.backoff.max.ms": 300,
                "fetch.wait.max.ms": 50,
                "logger": QUIET,
            }
        )

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join(PATIENCE)

    def read_to(self, last: Mapping[Partition, bytes]) -> None:
        """Wait until it has read these, which are the last there are."""
        self._last = last
        has_all = self._has_all.wait(PATIENCE)
        if self._crashes:
            raise self._crashes[0]
        assert has_all, f"{self._reader.name} has not come to the end"
        self._reader.finished()

    def _guarded(self) -> None:
        try:
            with closing(self._consumer):
                self._read()
        except BaseException as error:  # noqa: BLE001 - the test's thread raises it again
            self._crashes.append(error)
            self._has_all.set()

    def _read(self) -> None:
        self._consumer.assign(
            [TopicPartition(*each, OFFSET_BEGINNING) for each in self._partitions]
        )
        while not self._ended.is_set():
            for message in self._consumer.consume(500, 0.05):
                assert message.error() is None, message.error()
                topic, index, offset = (
                    message.topic(),
                    message.partition(),
                    message.offset(),
                )
                assert topic is not None
                assert index is not None
                assert offset is not None
                partition = Partition(topic, index)
                self._reader.read(partition, offset, message.value() or b"")
            reads = self._reader.reads
            if self._last and all(
                reads[each] and reads[each][-1].value == value
                for each, value in self._last.items()
            ):
                self._has_all.set()
