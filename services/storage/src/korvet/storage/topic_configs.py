"""PURE: a topic's configs: checked, laid over the defaults, altered, and written to Redis.

What is set on a topic lies over the server's defaults, and those over the built-in ones.
Configs that are fixed at creation are written with every topic, so that another default
later cannot change how an existing log is read.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple, TypeAlias

from korvet.kafka.errors import ErrorCode, KafkaError
from korvet.proto.storage.v1 import storage_service_pb2 as pb
from korvet.storage.config_values import AnyOf, ThrottledReplicas, split_list
from korvet.storage.offsets import DENSE, OffsetEncoding
from korvet.storage.topic_config_table import COARSE_NAMES, ROWS, Row

ConfigOperation: TypeAlias = "pb.ConfigOperation.ValueType"
ConfigSource: TypeAlias = "pb.ConfigSource.ValueType"

# The field of the topic's hash that tells configs which were set from written defaults.
OWN_NAMES_FIELD: Final = "configs"

_BY_SERVER_NAME: Final = {row.server_name: row for row in ROWS.values() if row.server_name}


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicConfig:
    """What the log reads of a topic's configs, parsed once."""

    retention_ms: int
    retention_bytes: int
    compacted: bool
    deletes: bool
    approximate_trimming: bool
    encoding: OffsetEncoding
    batch_format: bool
    # Fetches are delivered through Redis's own consumer groups.
    redis_delivery: bool
    storage_compression: str
    compression_type: str
    max_message_bytes: int
    min_insync_replicas: int
    acks_fsync: bool
    json_values: bool
    full_validation: bool
    log_append_time: bool
    message_timestamp_before_max_ms: int
    message_timestamp_after_max_ms: int

    @classmethod
    def parse(cls, values: Mapping[str, str]) -> "TopicConfig":
        """From the canonical text of every config."""
        policy = split_list(values["cleanup.policy"])
        return cls(
            retention_ms=int(values["retention.ms"]),
            retention_bytes=int(values["retention.bytes"]),
            compacted="compact" in policy,
            deletes="delete" in policy,
            approximate_trimming=values["approximate.trimming"] == "true",
            encoding=DENSE
            if values["offset.encoding"] == "dense"
            else OffsetEncoding(int(values["offset.sequence.bits"])),
            batch_format=values["storage.format"] == "batch",
            redis_delivery=values["group.delivery"] == "redis",
            storage_compression=values["storage.compression"],
            compression_type=values["compression.type"],
            max_message_bytes=int(values["max.message.bytes"]),
            min_insync_replicas=int(values["min.insync.replicas"]),
            acks_fsync=values["acks.fsync"] == "true",
            json_values=values["value.type"] == "JSON",
            full_validation=values["batch.validation"] == "full",
            log_append_time=values["message.timestamp.type"] == "LogAppendTime",
            message_timestamp_before_max_ms=int(values["message.timestamp.before.max.ms"]),
            message_timestamp_after_max_ms=int(values["message.timestamp.after.max.ms"]),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredConfigs:
    """What is kept of a topic's configs, in canonical text."""

    # Set on this topic.
    own: Mapping[str, str] = field(default_factory=dict)
    # What was in force at creation for those that are fixed then; may repeat `own`.
    fixed: Mapping[str, str] = field(default_factory=dict)


class ConfigChange(NamedTuple):
    name: str
    operation: ConfigOperation
    value: str = ""


class DescribedConfig(NamedTuple):
    row: Row
    value: str
    source: ConfigSource


class TopicConfigs:
    """All rules about topic configs, under one server's defaults.

    `server_defaults` may use the names of topic configs or Kafka's broker-wide ones
    (`retention.ms`, `log.retention.ms`, `log.retention.hours`).
    """

    def __init__(self, server_defaults: Mapping[str, str] | None = None) -> None:
        self._server = _server_defaults(server_defaults or {})
        self._defaults = {
            **{row.name: row.default for row in ROWS.values()},
            **self._server,
        }
        _check_together(self._defaults)

    def create(self, requested: Mapping[str, str]) -> StoredConfigs:
        """Check what a new topic is to have."""
        own = {name: _canonical(name, value) for name, value in requested.items()}
        in_force = {**self._defaults, **own}
        _check_together(in_force)
        fixed = {row.name: in_force[row.name] for row in ROWS.values() if row.fixed}
        return StoredConfigs(own=own, fixed=fixed)

    def alter(
        self, stored: StoredConfigs, changes: Iterable[ConfigChange], *, replace_all: bool
    ) -> StoredConfigs:
        """Apply changes, after setting everything back to its default if `replace_all`."""
        kept = (
            {name for name in stored.own if ROWS[name].fixed} if replace_all else stored.own
        )
        own = {name: value for name, value in stored.own.items() if name in kept}
        seen: set[str] = set()
        for change in changes:
            if change.name in seen:
                detail = f"{change.name} is given more than once"
                raise KafkaError(ErrorCode.INVALID_REQUEST, detail)
            seen.add(change.name)
            value = self._changed(_row(change.name), stored, change)
            if value is None:
                own.pop(change.name, None)
            else:
                own[change.name] = value
        _check_together({**self._defaults, **own})
        return StoredConfigs(own=own, fixed=stored.fixed)

    def values(self, stored: StoredConfigs) -> dict[str, str]:
        """Every config that is in force for a topic."""
        return {**self._defaults, **stored.fixed, **stored.own}

    def view(self, stored: StoredConfigs) -> TopicConfig:
        return TopicConfig.parse(self.values(stored))

    def describe(
        self, stored: StoredConfigs, *, only: Collection[str] = ROWS
    ) -> list[DescribedConfig]:
        """Every config in force, by name, with where its value comes from."""
        return [
            DescribedConfig(ROWS[name], value, self._source(name, value, stored))
            for name, value in sorted(self.values(stored).items())
            if name in only
        ]

    def server_settings(self) -> list[DescribedConfig]:
        """The defaults of those configs that have a broker-wide name."""
        return [
            DescribedConfig(
                row,
                self._defaults[row.name],
                pb.CONFIG_SOURCE_SERVER
                if row.name in self._server
                else pb.CONFIG_SOURCE_DEFAULT,
            )
            for row in _BY_SERVER_NAME.values()
        ]

    # --- as fields of the topic's hash ---

    def to_fields(self, stored: StoredConfigs) -> dict[str, str]:
        values = self.values(stored)
        fields = {
            row.field or name: values[name]
            for name, row in ROWS.items()
            if row.field or row.fixed or name in stored.own
        }
        fields[OWN_NAMES_FIELD] = ",".join(sorted(stored.own))
        return fields

    def from_fields(self, fields: Mapping[str, str]) -> StoredConfigs:
        """Read back what `to_fields` wrote.

        A value that somebody has made invalid by hand, or that a newer release knows and
        this one does not, counts as not set: one bad field must not take the topic away.
        """
        own = {
            name: value
            for name in split_list(fields.get(OWN_NAMES_FIELD, ""))
            if name in ROWS and (value := _read_field(ROWS[name], fields)) is not None
        }
        fixed = {
            row.name: value
            for row in ROWS.values()
            if row.fixed and (value := _read_field(row, fields)) is not None
        }
        return StoredConfigs(own=own, fixed=fixed)

    def _changed(self, row: Row, stored: StoredConfigs, change: ConfigChange) -> str | None:
        """The config's new value; None: it is no longer set."""
        current = self.values(stored)[row.name]
        if change.operation == pb.CONFIG_OPERATION_DELETE:
            if row.fixed and row.name in stored.own:
                raise _fixed(row, current)
            return None
        if change.operation == pb.CONFIG_OPERATION_SET:
            value = _canonical(row.name, change.value)
        elif not isinstance(row.kind, AnyOf | ThrottledReplicas):
            detail = (
                f"{row.name} is not a list: it cannot be appended to or subtracted from"
            )
            raise KafkaError(ErrorCode.INVALID_CONFIG, detail)
        elif change.operation == pb.CONFIG_OPERATION_APPEND:
            value = _canonical(row.name, f"{current},{change.value}")
        elif change.operation == pb.CONFIG_OPERATION_SUBTRACT:
            gone = split_list(_canonical(row.name, change.value))
            value = ",".join(item for item in split_list(current) if item not in gone)
        else:
            detail = f"unknown operation on {row.name}"
            raise KafkaError(ErrorCode.INVALID_REQUEST, detail)
        if row.fixed and value != current:
            raise _fixed(row, current)
        return value

    def _source(self, name: str, value: str, stored: StoredConfigs) -> ConfigSource:
        if name in stored.own:
            return pb.CONFIG_SOURCE_TOPIC
        if name in stored.fixed:
            # The server's default may be another one today.
            is_default = value == ROWS[name].default
            return pb.CONFIG_SOURCE_DEFAULT if is_default else pb.CONFIG_SOURCE_SERVER
        return pb.CONFIG_SOURCE_SERVER if name in self._server else pb.CONFIG_SOURCE_DEFAULT


def _server_defaults(given: Mapping[str, str]) -> dict[str, str]:
    defaults: dict[str, str] = {}
    # Kafka prefers the finer unit where both are set.
    for name in sorted(given, key=lambda name: name not in COARSE_NAMES):
        value = given[name]
        if name in COARSE_NAMES:
            name, unit_ms = COARSE_NAMES[name]
            value = str(int(value) * unit_ms) if value.strip().isdecimal() else value
        elif name in _BY_SERVER_NAME:
            name = _BY_SERVER_NAME[name].name
        defaults[name] = _canonical(name, value)
    return defaults


def _row(name: str) -> Row:
    if name not in ROWS:
        detail = f"Unknown topic config name: {name}. Known are: {', '.join(ROWS)}"
        raise KafkaError(ErrorCode.INVALID_CONFIG, detail)
    return ROWS[name]


def _canonical(name: str, text: str) -> str:
    row = _row(name)
    try:
        return row.kind.canonical(text)
    except ValueError:
        detail = f"Invalid value {text[:100]!r} for {name}: it must be {row.kind.allowed}"
        raise KafkaError(ErrorCode.INVALID_CONFIG, detail) from None


def _read_field(row: Row, fields: Mapping[str, str]) -> str | None:
    try:
        return row.kind.canonical(fields[row.field or row.name])
    except (KeyError, ValueError):
        return None


def _check_together(values: Mapping[str, str]) -> None:
    """What Kafka checks of several configs at once."""
    shortest, longest = values["min.compaction.lag.ms"], values["max.compaction.lag.ms"]
    if int(shortest) > int(longest):
        detail = (
            f"min.compaction.lag.ms ({shortest}) must not be above "
            f"max.compaction.lag.ms ({longest})"
        )
        raise KafkaError(ErrorCode.INVALID_CONFIG, detail)


def _fixed(row: Row, current: str) -> KafkaError:
    detail = f"{row.name} is fixed when a topic is created; it is {current} here"
    return KafkaError(ErrorCode.INVALID_CONFIG, detail)
