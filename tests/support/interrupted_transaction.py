"""A transaction of bare requests that a test interrupts, and what has come of it.

It goes over partitions of both formats, whose order is that of their names, and a group.
What was sent, and what the producer may take for granted, is in a `TransactionHistory`.
"""

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Final, TypeVar

from korvet.coordinator.transaction import State
from korvet.coordinator.transaction_codec import StoredTransaction, decode
from korvet.kafka.errors import ErrorCode
from korvet.redis.keys import Keys
from tests.support.confluent_client import ConfluentClient
from tests.support.eventually import eventually_true
from tests.support.history import Partition
from tests.support.korvet_process import KorvetCluster
from tests.support.layouts import LAYOUTS
from tests.support.noted_transactions import judge
from tests.support.traffic import PATIENCE
from tests.support.transaction_history import Transaction, TransactionHistory
from tests.support.transaction_wire import TransactionWire, insist
from tests.support.wire_client import ProducerId

KEYS: Final = Keys()
OFFSET: Final = 7
# An answer may have been lost.
_CREATED: Final = (ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS)

_Answer = TypeVar("_Answer")


class InterruptedTransaction:
    """Its producer talks to one gateway; the topic's name is that of id and group, too."""

    def __init__(self, korvet: KorvetCluster, wire: TransactionWire, topic: str) -> None:
        self.korvet = korvet
        self.wire = wire
        self.history = TransactionHistory()
        self.targets = [
            Partition(f"{topic}-{number}", 0) for number, _ in enumerate(LAYOUTS)
        ]
        for target, configs in zip(self.targets, LAYOUTS.values(), strict=True):
            # The services may have been started just now.
            eventually_true(partial(self._is_created, target.topic, configs), PATIENCE)
        self.group = wire.transactional_id = topic
        self.producer = ProducerId(-1, -1)
        self._noted: Transaction | None = None
        self._sequences = dict.fromkeys(self.targets, 0)

    def _is_created(self, topic: str, configs: Mapping[str, str]) -> bool:
        return self.wire.create_topic(topic, configs) in _CREATED

    def start(self, *, timeout_ms: int = 60_000) -> None:
        insist(lambda: self.wire.init(timeout_ms=timeout_ms).error)
        self.producer = self.wire.started(timeout_ms=timeout_ms)
        self.begin()

    def begin(self) -> None:
        self._noted = self.history.begin("wire")

    @property
    def noted(self) -> Transaction:
        assert self._noted is not None
        return self._noted

    def add(self, targets: Sequence[Partition] | None = None) -> ErrorCode:
        """The first refusal, if there is one."""
        codes = self.wire.add(self.producer, *(targets or self.targets))
        return next((code for code in codes if code), ErrorCode.NONE)

    def write(self, target: Partition, value: bytes) -> None:
        self.noted.write(target, value)
        sequence = self._sequences[target]
        insist(lambda: self.wire.write(self.producer, target, value, sequence).error)
        self._sequences[target] += 1

    def write_to_all(self, value: bytes) -> None:
        for target in self.targets:
            self.write(target, b"%s to %s" % (value, target.topic.encode()))

    def add_group(self) -> ErrorCode:
        return self.wire.add_group(self.producer, self.group)

    def commit_offset(self) -> ErrorCode:
        return self.wire.commit_offset(self.producer, self.group, self.targets[0], OFFSET)

    def end(self, *, is_commit: bool) -> None:
        """And have it carried out."""
        self.noted.ends()
        insist(lambda: self.wire.end(self.producer, commit=is_commit).error)
        self.has_ended(is_commit=is_commit)

    def has_ended(self, *, is_commit: bool) -> None:
        """Wait until it has, as it was decided."""
        ended = State.COMPLETE_COMMIT if is_commit else State.COMPLETE_ABORT
        eventually_true(lambda: self.state is ended, PATIENCE)
        if is_commit:
            self.noted.committed()
        else:
            self.noted.aborted()

    # --- what there is ---

    @property
    def stored(self) -> StoredTransaction:
        with self.korvet.redis.client() as client:
            value = client.get(KEYS.transaction(self.wire.transactional_id))
        assert value is not None
        return decode(self.wire.transactional_id, value)

    @property
    def state(self) -> State:
        return self.stored.transaction.state

    def comes_to(self, *expected: int) -> None:
        """Wait until the partitions have so many entries: their one record, and markers."""
        entries: list[int] = []

        def is_there() -> bool:
            with self.korvet.redis.client() as client:
                entries[:] = [client.xlen(KEYS.stream(*each)) for each in self.targets]
            return entries == list(expected)

        with contextlib.suppress(TimeoutError):
            eventually_true(is_there)
        assert entries == list(expected), entries

    def committed_offset(self) -> tuple[int, ErrorCode]:
        # Its coordinator may have been started just now.
        eventually_true(lambda: self.wire.is_found(self.group), PATIENCE)
        found = self.wire.committed(self.group, self.targets[0])
        return found.offset, found.error

    def judge(self) -> None:
        """Have a real client read everything in each way, and see whether that is right."""
        judge(self.korvet.bootstrap, self.history, self.targets, ConfluentClient())


@contextlib.contextmanager
def under_way(call: Callable[[], _Answer]) -> Iterator[Future[_Answer]]:
    """A call that is answered, or fails, by the end of the block."""
    with ThreadPoolExecutor(1) as pool:
        yield pool.submit(call)
