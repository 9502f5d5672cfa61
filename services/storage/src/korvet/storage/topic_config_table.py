"""PURE: every config that a topic has, one row each: Kafka 4.1's and ours.

This table is the only list of them. Validation, what DescribeConfigs answers, the names in
Redis and Kafka's broker-wide names for the defaults are all read from it. Configs of Kafka
that mean nothing on Redis are still here, so that tools which set them work.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from korvet.proto.storage.v1 import storage_service_pb2 as pb
from korvet.storage.config_values import (
    LONG_MAX,
    AnyOf,
    Flag,
    OneOf,
    Share,
    ThrottledReplicas,
    ValueKind,
    integer,
    long,
)

# 64 MiB: what one entry may hold, with room to spare below Redis's own 512 MB.
MAX_MESSAGE_BYTES: Final = 64 * 1024 * 1024

_DAY_MS: Final = 24 * 60 * 60 * 1000
_CODECS: Final = ("none", "gzip", "snappy", "lz4", "zstd")
_KEPT: Final = "Kept for Kafka's tools; it has no effect on a log in Redis."
_COMPACTION: Final = "For compacted topics. Kept and described; compaction is not run yet."


@dataclass(frozen=True, slots=True)
class Row:
    name: str
    default: str
    kind: ValueKind
    documentation: str
    # Kafka's broker-wide name for the default of this config; None: it has none.
    server_name: str | None = None
    # The field in the topic's hash, where it is not the config's own name. These fields are
    # always there, with what is in force.
    field: str | None = None
    # Given when the topic is created and never changed: the log is written by it.
    fixed: bool = False


_ROWS: Final = (
    # --- how the log is kept ---
    Row(
        "cleanup.policy",
        "delete",
        AnyOf(("compact", "delete")),
        "delete: records go by retention.ms and retention.bytes. compact: each key's "
        "newest record stays, and records without a key are refused. Compaction is not run "
        "yet: a topic that is only compacted keeps everything.",
        "log.cleanup.policy",
    ),
    Row(
        "retention.ms",
        str(7 * _DAY_MS),
        long(-1),
        "How long records are kept after they were appended; -1: for ever.",
        "log.retention.ms",
        field="retentionTime",
    ),
    Row(
        "retention.bytes",
        "-1",
        long(-1),
        "How large a partition may grow before its oldest records go; -1: without limit.",
        "log.retention.bytes",
        field="retentionBytes",
    ),
    Row(
        "approximate.trimming",
        "false",
        Flag(),
        "Retention deletes whole blocks of the index only, up to 512 records or 256 KiB, "
        "which costs less; so much more may be kept. On dense topics retention.ms always "
        "does so.",
        "approximate.trimming",
    ),
    Row(
        "offset.encoding",
        "time",
        OneOf(("time", "dense")),
        "time: an offset is a stream id, milliseconds and sequence. dense: 0, 1, 2 …",
        "offset.encoding",
        fixed=True,
    ),
    Row(
        "offset.sequence.bits",
        "10",
        integer(1, 20),
        "With offset.encoding=time, how many bits of an offset are the sequence's.",
        "offset.sequence.bits",
        field="offsetSequenceBits",
        fixed=True,
    ),
    Row(
        "storage.format",
        "record",
        OneOf(("record", "batch")),
        "record: one stream entry a record, readable by any Redis client. batch: one entry "
        "a record batch, as the producer sent it, which is faster.",
        "storage.format",
        fixed=True,
    ),
    Row(
        "storage.compression",
        "lz4",
        OneOf(_CODECS),
        "How large values are compressed in Redis on topics with storage.format=record; "
        "none for direct readers.",
        "storage.compression",
    ),
    Row(
        "large.message.threshold",
        "1048576",
        integer(1024),
        "The size from which on payloads are to be kept beside the log. Kept and "
        "described; as yet all payloads are in the log.",
        "large.message.threshold",
    ),
    # --- what a producer may send, and what a consumer gets ---
    Row(
        "max.message.bytes",
        "1048588",
        integer(0, MAX_MESSAGE_BYTES),
        "The largest record batch that is taken.",
        "message.max.bytes",
    ),
    Row(
        "min.insync.replicas",
        "1",
        integer(1),
        "How many Redis servers, the master and its replicas, must have a record before "
        "acks=all is answered.",
        "min.insync.replicas",
    ),
    Row(
        "acks.fsync",
        "false",
        Flag(),
        "acks=all is answered once the record is on disk: in the append-only file of "
        "Redis, and with min.insync.replicas above 1 in that of so many servers. Needs "
        "Redis 7.2, or Valkey, with appendonly yes; elsewhere such appends are refused.",
        "acks.fsync",
    ),
    Row(
        "compression.type",
        "none",
        OneOf((*_CODECS, "uncompressed", "producer")),
        "The codec of what consumers get. none and producer: batches as they were sent, "
        "records uncompressed; uncompressed: both without a codec.",
        "compression.type",
        field="compression",
    ),
    Row(
        "compression.gzip.level",
        "-1",
        integer(1, 9, also=-1),
        _KEPT,
        "compression.gzip.level",
    ),
    Row("compression.lz4.level", "9", integer(1, 17), _KEPT, "compression.lz4.level"),
    Row(
        "compression.zstd.level", "3", integer(-131072, 22), _KEPT, "compression.zstd.level"
    ),
    Row(
        "value.type",
        "BYTES",
        OneOf(("BYTES", "JSON")),
        "JSON: values that are not valid JSON are refused.",
        "value.type",
        field="valueType",
    ),
    Row(
        "batch.validation",
        "header",
        OneOf(("header", "full")),
        "With storage.format=batch: check a batch's header and CRC, or each record in it.",
        "batch.validation",
    ),
    Row(
        "message.timestamp.type",
        "CreateTime",
        OneOf(("CreateTime", "LogAppendTime")),
        "Whether a record's timestamp is the producer's or the time of its append.",
        "log.message.timestamp.type",
    ),
    Row(
        "message.timestamp.before.max.ms",
        str(LONG_MAX),
        long(0),
        "How far a record's timestamp may lie in the past.",
        "log.message.timestamp.before.max.ms",
    ),
    Row(
        "message.timestamp.after.max.ms",
        "3600000",
        long(0),
        "How far a record's timestamp may lie in the future.",
        "log.message.timestamp.after.max.ms",
    ),
    Row(
        "group.delivery",
        "commit",
        OneOf(("commit", "redis")),
        "commit: a commit moves the Redis consumer group. redis: fetches are delivered "
        "through it, and a commit acknowledges. With storage.format=record.",
        "group.delivery",
    ),
    # --- compaction ---
    Row(
        "delete.retention.ms",
        str(_DAY_MS),
        long(0),
        _COMPACTION,
        "log.cleaner.delete.retention.ms",
    ),
    Row(
        "min.compaction.lag.ms",
        "0",
        long(0),
        _COMPACTION,
        "log.cleaner.min.compaction.lag.ms",
    ),
    Row(
        "max.compaction.lag.ms",
        str(LONG_MAX),
        long(1),
        _COMPACTION,
        "log.cleaner.max.compaction.lag.ms",
    ),
    Row(
        "min.cleanable.dirty.ratio",
        "0.5",
        Share(),
        _COMPACTION,
        "log.cleaner.min.cleanable.ratio",
    ),
    # --- files, replicas and tiers that Kafka has and Redis has not ---
    Row("segment.bytes", "1073741824", integer(1024 * 1024), _KEPT, "log.segment.bytes"),
    Row("segment.ms", str(7 * _DAY_MS), long(1), _KEPT, "log.roll.ms"),
    Row("segment.jitter.ms", "0", long(0), _KEPT, "log.roll.jitter.ms"),
    Row("segment.index.bytes", "10485760", integer(4), _KEPT, "log.index.size.max.bytes"),
    Row("index.interval.bytes", "4096", integer(0), _KEPT, "log.index.interval.bytes"),
    Row("flush.messages", str(LONG_MAX), long(1), _KEPT, "log.flush.interval.messages"),
    Row("flush.ms", str(LONG_MAX), long(0), _KEPT, "log.flush.interval.ms"),
    Row("file.delete.delay.ms", "60000", long(0), _KEPT, "log.segment.delete.delay.ms"),
    Row("preallocate", "false", Flag(), _KEPT, "log.preallocate"),
    Row("message.downconversion.enable", "true", Flag(), _KEPT),
    Row(
        "unclean.leader.election.enable",
        "false",
        Flag(),
        _KEPT,
        "unclean.leader.election.enable",
    ),
    Row("leader.replication.throttled.replicas", "", ThrottledReplicas(), _KEPT),
    Row("follower.replication.throttled.replicas", "", ThrottledReplicas(), _KEPT),
    Row(
        "remote.storage.enable",
        "false",
        OneOf(("false",), pb.CONFIG_TYPE_BOOLEAN),
        "There is no tiered storage: only false is taken, as by a Kafka without it.",
    ),
    Row("remote.log.copy.disable", "false", Flag(), _KEPT),
    Row("remote.log.delete.on.disable", "false", Flag(), _KEPT),
    Row("local.retention.ms", "-2", long(-2), _KEPT, "log.local.retention.ms"),
    Row("local.retention.bytes", "-2", long(-2), _KEPT, "log.local.retention.bytes"),
)

ROWS: Final[Mapping[str, Row]] = {
    row.name: row for row in sorted(_ROWS, key=lambda r: r.name)
}

# Broker-wide names that Kafka has beside `server_name`: the config and the unit in ms.
COARSE_NAMES: Final[Mapping[str, tuple[str, int]]] = {
    "log.retention.minutes": ("retention.ms", 60 * 1000),
    "log.retention.hours": ("retention.ms", 60 * 60 * 1000),
    "log.roll.hours": ("segment.ms", 60 * 60 * 1000),
    "log.roll.jitter.hours": ("segment.jitter.ms", 60 * 60 * 1000),
}
