"""What the client takes and gives: plain frozen values, and their form in the contract."""

from base64 import urlsafe_b64encode
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import NamedTuple, TypeAlias

from korvet.proto.storage.v1 import storage_service_pb2 as pb

Headers: TypeAlias = Sequence[tuple[str, bytes | None]]


class Position(NamedTuple):
    """Where a record is."""

    partition: int
    offset: int


@dataclass(frozen=True, slots=True, kw_only=True)
class NewRecord:
    """A record to append. Without a timestamp it gets the time of the append."""

    value: bytes | None
    key: bytes | None = None
    headers: Headers = ()
    timestamp_ms: int | None = None

    def to_proto(self) -> pb.Record:
        return pb.Record(
            key=self.key,
            value=self.value,
            timestamp_ms=self.timestamp_ms,
            headers=[pb.Header(name=name, value=value) for name, value in self.headers],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """A record of the log. Without a value it is a tombstone."""

    topic: str
    partition: int
    offset: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...] = ()

    @property
    def time(self) -> datetime:
        return datetime.fromtimestamp(self.timestamp_ms / 1000, UTC)

    @classmethod
    def from_proto(cls, topic: str, partition: int, record: pb.Record) -> "Record":
        return cls(
            topic=topic,
            partition=partition,
            offset=record.offset,
            timestamp_ms=record.timestamp_ms,
            key=record.key if record.HasField("key") else None,
            value=record.value if record.HasField("value") else None,
            headers=tuple(
                (header.name, header.value if header.HasField("value") else None)
                for header in record.headers
            ),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadResult:
    """What one read found; iterate over it, and read on at `next_offset`."""

    records: tuple[Record, ...]
    next_offset: int
    high_watermark: int
    log_start_offset: int

    def __iter__(self) -> Iterator[Record]:
        return iter(self.records)

    def __len__(self) -> int:
        return len(self.records)


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """A config in force. `source` is "topic", "server" or "default"."""

    name: str
    value: str
    source: str
    documentation: str
    read_only: bool

    @classmethod
    def from_proto(cls, config: pb.Config) -> "Config":
        source = pb.ConfigSource.Name(config.source).removeprefix("CONFIG_SOURCE_").lower()
        return cls(
            name=config.name,
            value=config.value,
            source=source,
            documentation=config.documentation,
            read_only=config.read_only,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Topic:
    """A topic with every config in force, by name."""

    name: str
    # As Kafka's tools write it, and as it stands in Redis.
    id: str
    partitions: int
    configs: Mapping[str, Config] = field(default_factory=dict)

    @classmethod
    def from_proto(cls, topic: pb.Topic) -> "Topic":
        return cls(
            name=topic.name,
            id=urlsafe_b64encode(topic.id).rstrip(b"=").decode(),
            partitions=len(topic.leader_epochs),
            configs={config.name: Config.from_proto(config) for config in topic.configs},
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionLog:
    """What a partition holds now."""

    topic: str
    partition: int
    size_bytes: int
    record_count: int
    log_start_offset: int
    high_watermark: int
