"""One face for every Kafka client, so that a test says what it wants once for all of them.

All calls block, whatever the client is inside; records and errors are the same values for
each. A consumer here has its partitions assigned, never a group.
"""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from enum import StrEnum
from typing import Final, Literal, NamedTuple, Protocol, TypeAlias

Headers: TypeAlias = tuple[tuple[str, bytes | None], ...]
Codec: TypeAlias = Literal["none", "gzip", "snappy", "lz4", "zstd"]
Acks: TypeAlias = Literal["0", "1", "all"]
Start: TypeAlias = int | Literal["earliest", "latest"]
# What to do about an offset that is out of range.
Reset: TypeAlias = Literal["earliest", "latest", "refuse"]

CODECS: Final[tuple[Codec, ...]] = ("none", "gzip", "snappy", "lz4", "zstd")
# Long enough for a busy machine; a test that passes never waits for it.
PATIENCE: Final = 20.0


class Isolation(StrEnum):
    """By the names that clients take."""

    COMMITTED = "read_committed"
    UNCOMMITTED = "read_uncommitted"


class NewRecord(NamedTuple):
    """A record to produce. Without a timestamp the client gives it one."""

    value: bytes | None
    key: bytes | None = None
    headers: Headers = ()
    timestamp_ms: int | None = None
    # None: the client's own partitioner chooses.
    partition: int | None = 0


class Written(NamedTuple):
    """What the client was told about a record. With acks=0 that is no offset."""

    partition: int
    offset: int | None


class ReadRecord(NamedTuple):
    partition: int
    offset: int
    timestamp_ms: int
    is_append_time: bool
    key: bytes | None
    value: bytes | None
    headers: Headers


class RefusedError(Exception):
    """A Kafka error code that the client handed on to its user."""

    def __init__(self, code: int, detail: str = "") -> None:
        super().__init__(f"{code}: {detail}")
        self.code = code


class Producer(Protocol):
    def send(self, topic: str, records: Sequence[NewRecord]) -> list[Written]:
        """Hand all records to the client, then wait until every one is answered."""


class TransactionalProducer(Producer, Protocol):
    """Sends in transactions only. What Kafka refuses is a RefusedError."""

    def begin(self) -> None: ...

    def send_offset(self, group: str, topic: str, offset: int) -> None:
        """Let a group without members commit an offset of partition 0 with it."""

    def commit(self) -> None: ...

    def abort(self) -> None: ...


class Consumer(Protocol):
    def read(self, count: int, within: float = PATIENCE) -> list[ReadRecord]:
        """The next records; fewer where the time is up."""

    def seek(self, partition: int, start: Start) -> None: ...

    def beginning(self, partition: int = 0) -> int: ...

    def end(self, partition: int = 0) -> int: ...

    def at_time(self, timestamp_ms: int, partition: int = 0) -> int | None:
        """The first offset at or after a time; None where there is no such record."""


class KafkaClient(Protocol):
    @property
    def name(self) -> str: ...

    def producer(
        self,
        bootstrap: str,
        *,
        codec: Codec = "none",
        acks: Acks = "all",
        idempotent: bool = False,
        linger: float = 0.005,
        batch_bytes: int = 1 << 20,
        max_bytes: int = 1 << 20,
    ) -> AbstractContextManager[Producer]: ...

    def transactional(
        self, bootstrap: str, transactional_id: str, *, timeout: float = 60.0
    ) -> AbstractContextManager[TransactionalProducer]:
        """One that has its producer id. Transactions are aborted after the time-out."""

    def consumer(
        self,
        bootstrap: str,
        topic: str,
        starts: Mapping[int, Start] | Start = "earliest",
        *,
        reset: Reset = "refuse",
        max_wait: float = 0.05,
        isolation: Isolation = Isolation.UNCOMMITTED,
    ) -> AbstractContextManager[Consumer]:
        """`starts` by partition; a single one is of partition 0."""


def by_partition(starts: Mapping[int, Start] | Start) -> Mapping[int, Start]:
    return starts if isinstance(starts, Mapping) else {0: starts}
