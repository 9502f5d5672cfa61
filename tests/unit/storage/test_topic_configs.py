"""Topic configs: their layers, their changes, their fields in Redis."""

import pytest

from korvet.kafka.errors import ErrorCode, KafkaError
from korvet.proto.storage.v1 import storage_service_pb2 as pb
from korvet.storage.config_values import LONG_MAX
from korvet.storage.offsets import DENSE, OffsetEncoding
from korvet.storage.topic_config_table import COARSE_NAMES, ROWS
from korvet.storage.topic_configs import (
    ConfigChange,
    DescribedConfig,
    StoredConfigs,
    TopicConfigs,
)

SET = pb.CONFIG_OPERATION_SET
DELETE = pb.CONFIG_OPERATION_DELETE
APPEND = pb.CONFIG_OPERATION_APPEND
SUBTRACT = pb.CONFIG_OPERATION_SUBTRACT


def described(configs: TopicConfigs, stored: StoredConfigs, name: str) -> DescribedConfig:
    return next(c for c in configs.describe(stored) if c.row.name == name)


# --- what is in force ---


def test_without_anything_set_the_defaults_of_the_design_are_in_force() -> None:
    configs = TopicConfigs()

    view = configs.view(configs.create({}))

    assert view.retention_ms == 604800000
    assert view.retention_bytes == -1
    assert view.compression_type == "none"
    assert view.storage_compression == "lz4"
    assert view.max_message_bytes == 1048588
    assert view.min_insync_replicas == 1
    assert view.encoding == OffsetEncoding(10)
    assert view.deletes
    assert not any(
        (
            view.compacted,
            view.acks_fsync,
            view.approximate_trimming,
            view.batch_format,
            view.json_values,
            view.full_validation,
            view.log_append_time,
        )
    )
    assert view.message_timestamp_before_max_ms == LONG_MAX
    assert view.message_timestamp_after_max_ms == 3600000


def test_what_is_set_on_the_topic_is_in_its_view() -> None:
    configs = TopicConfigs()

    view = configs.view(
        configs.create(
            {
                "retention.ms": "1",
                "retention.bytes": "2",
                "compression.type": "uncompressed",
                "storage.compression": "zstd",
                "approximate.trimming": "true",
                "max.message.bytes": "3",
                "cleanup.policy": "compact",
                "message.timestamp.type": "LogAppendTime",
                "message.timestamp.before.max.ms": "4",
                "message.timestamp.after.max.ms": "5",
                "min.insync.replicas": "2",
                "acks.fsync": "true",
                "value.type": "JSON",
                "offset.encoding": "dense",
                "storage.format": "batch",
                "batch.validation": "full",
            }
        )
    )

    assert (view.retention_ms, view.retention_bytes, view.max_message_bytes) == (1, 2, 3)
    assert (view.compression_type, view.storage_compression) == ("uncompressed", "zstd")
    assert (view.compacted, view.deletes) == (True, False)
    assert (
        view.message_timestamp_before_max_ms,
        view.message_timestamp_after_max_ms,
        view.min_insync_replicas,
    ) == (4, 5, 2)
    assert view.encoding is DENSE
    assert all(
        (
            view.acks_fsync,
            view.approximate_trimming,
            view.log_append_time,
            view.json_values,
            view.batch_format,
            view.full_validation,
        )
    )


def test_a_topic_can_be_neither_deleted_from_nor_compacted() -> None:
    configs = TopicConfigs()

    view = configs.view(configs.create({"cleanup.policy": ""}))

    assert (view.compacted, view.deletes) == (False, False)


def test_topic_values_lie_over_server_defaults_and_those_over_built_in_ones() -> None:
    configs = TopicConfigs({"retention.ms": "10", "retention.bytes": "20"})
    stored = configs.create({"retention.ms": "30"})

    time = described(configs, stored, "retention.ms")
    size = described(configs, stored, "retention.bytes")
    rest = described(configs, stored, "segment.ms")

    assert (time.value, time.source) == ("30", pb.CONFIG_SOURCE_TOPIC)
    assert (size.value, size.source) == ("20", pb.CONFIG_SOURCE_SERVER)
    assert (rest.value, rest.source) == ("604800000", pb.CONFIG_SOURCE_DEFAULT)


def test_every_config_is_described_by_name() -> None:
    configs = TopicConfigs()

    names = [config.row.name for config in configs.describe(configs.create({}))]

    assert names == sorted(ROWS)


def test_another_server_default_changes_topics_but_not_what_is_fixed() -> None:
    before = TopicConfigs({"retention.ms": "1", "storage.format": "batch"})
    stored = before.create({})

    after = TopicConfigs({"retention.ms": "2", "offset.encoding": "dense"})

    assert after.view(stored).retention_ms == 2
    assert after.view(stored).batch_format
    assert after.view(stored).encoding == OffsetEncoding(10)
    source = described(after, stored, "storage.format").source
    assert source == pb.CONFIG_SOURCE_SERVER
    source = described(after, stored, "offset.encoding").source
    assert source == pb.CONFIG_SOURCE_DEFAULT


# --- server defaults under Kafka's broker-wide names ---


@pytest.mark.parametrize(
    ("name", "value", "config", "in_force"),
    [
        ("log.retention.ms", "5", "retention.ms", "5"),
        ("log.retention.minutes", "2", "retention.ms", "120000"),
        ("log.retention.hours", "1", "retention.ms", "3600000"),
        ("log.roll.hours", "1", "segment.ms", "3600000"),
        ("message.max.bytes", "7", "max.message.bytes", "7"),
        ("log.cleanup.policy", "compact", "cleanup.policy", "compact"),
        ("min.insync.replicas", "2", "min.insync.replicas", "2"),
        ("storage.format", "batch", "storage.format", "batch"),
    ],
)
def test_a_broker_wide_name_sets_the_default(
    name: str, value: str, config: str, in_force: str
) -> None:
    configs = TopicConfigs({name: value})

    assert configs.values(configs.create({}))[config] == in_force


def test_the_finer_unit_wins_as_in_kafka() -> None:
    configs = TopicConfigs({"log.retention.ms": "5", "log.retention.hours": "1"})

    assert configs.view(configs.create({})).retention_ms == 5


@pytest.mark.parametrize(
    "defaults",
    [
        {"retention": "1"},
        {"retention.ms": "x"},
        {"log.retention.hours": "x"},
        {"log.retention.hours": "-5"},
        {"log.retention.hours": "9" * 30},
        {"num.partitions": "3"},
        {"log.cleaner.min.compaction.lag.ms": "2", "max.compaction.lag.ms": "1"},
    ],
)
def test_an_invalid_server_default_is_refused(defaults: dict[str, str]) -> None:
    with pytest.raises(KafkaError) as refused:
        TopicConfigs(defaults)

    assert refused.value.code is ErrorCode.INVALID_CONFIG


def test_no_two_configs_share_a_broker_wide_name_or_a_field() -> None:
    server_names = [row.server_name for row in ROWS.values() if row.server_name]
    fields = [row.field or row.name for row in ROWS.values()]

    assert len(server_names) == len(set(server_names))
    assert len(fields) == len(set(fields))
    assert not COARSE_NAMES.keys() & {*server_names, *ROWS}


def test_server_settings_list_the_defaults_under_broker_wide_names() -> None:
    settings = TopicConfigs({"log.retention.ms": "5"}).server_settings()

    found = {c.row.server_name: (c.value, c.source) for c in settings}

    assert found["log.retention.ms"] == ("5", pb.CONFIG_SOURCE_SERVER)
    assert found["message.max.bytes"] == ("1048588", pb.CONFIG_SOURCE_DEFAULT)


# --- changes ---


def altered(
    own: dict[str, str], *changes: ConfigChange, replace_all: bool = False
) -> dict[str, str]:
    configs = TopicConfigs()
    stored = configs.create(own)
    return dict(configs.alter(stored, changes, replace_all=replace_all).own)


def test_a_set_value_replaces_the_one_before_and_leaves_the_others() -> None:
    own = {"retention.ms": "1", "retention.bytes": "2"}

    assert altered(own, ConfigChange("retention.ms", SET, "3")) == {
        "retention.ms": "3",
        "retention.bytes": "2",
    }


def test_a_deleted_value_falls_back_to_the_default() -> None:
    assert altered({"retention.ms": "1"}, ConfigChange("retention.ms", DELETE)) == {}
    assert altered({}, ConfigChange("retention.ms", DELETE)) == {}


def test_replace_all_drops_what_is_not_given_again() -> None:
    own = {"retention.ms": "1", "retention.bytes": "2"}

    changed = altered(own, ConfigChange("retention.ms", SET, "3"), replace_all=True)

    assert changed == {"retention.ms": "3"}


def test_lists_are_appended_to_and_subtracted_from() -> None:
    policy = "cleanup.policy"

    assert altered({}, ConfigChange(policy, APPEND, "compact")) == {
        policy: "delete,compact"
    }
    assert altered({policy: "compact"}, ConfigChange(policy, APPEND, "compact")) == {
        policy: "compact"
    }
    assert altered(
        {policy: "compact,delete"}, ConfigChange(policy, SUBTRACT, "delete")
    ) == {policy: "compact"}
    assert altered({policy: "delete"}, ConfigChange(policy, SUBTRACT, "compact")) == {
        policy: "delete"
    }


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (ConfigChange("retention.ms", SET, "x"), ErrorCode.INVALID_CONFIG),
        (ConfigChange("no.such", SET, "x"), ErrorCode.INVALID_CONFIG),
        (ConfigChange("no.such", DELETE), ErrorCode.INVALID_CONFIG),
        (ConfigChange("retention.ms", APPEND, "1"), ErrorCode.INVALID_CONFIG),
        (ConfigChange("retention.ms", SUBTRACT, "1"), ErrorCode.INVALID_CONFIG),
        (ConfigChange("cleanup.policy", APPEND, "x"), ErrorCode.INVALID_CONFIG),
        (ConfigChange("cleanup.policy", SUBTRACT, "x"), ErrorCode.INVALID_CONFIG),
        (ConfigChange("min.compaction.lag.ms", SET, "6"), ErrorCode.INVALID_CONFIG),
        (
            ConfigChange("cleanup.policy", pb.CONFIG_OPERATION_UNSPECIFIED),
            ErrorCode.INVALID_REQUEST,
        ),
    ],
)
def test_an_impossible_change_is_refused(change: ConfigChange, code: ErrorCode) -> None:
    with pytest.raises(KafkaError) as refused:
        altered({"max.compaction.lag.ms": "5"}, change)

    assert refused.value.code is code


def test_one_config_twice_in_a_request_is_refused() -> None:
    with pytest.raises(KafkaError) as refused:
        altered(
            {},
            ConfigChange("retention.ms", SET, "1"),
            ConfigChange("retention.ms", DELETE),
        )

    assert refused.value.code is ErrorCode.INVALID_REQUEST


@pytest.mark.parametrize(
    ("name", "other"),
    [
        ("offset.encoding", "dense"),
        ("offset.sequence.bits", "11"),
        ("storage.format", "batch"),
    ],
)
def test_what_is_fixed_at_creation_cannot_be_changed_but_can_be_repeated(
    name: str, other: str
) -> None:
    default = ROWS[name].default

    with pytest.raises(KafkaError, match="fixed when a topic is created") as refused:
        altered({}, ConfigChange(name, SET, other))
    assert refused.value.code is ErrorCode.INVALID_CONFIG
    with pytest.raises(KafkaError, match="fixed when a topic is created"):
        altered({name: other}, ConfigChange(name, DELETE))

    assert altered({}, ConfigChange(name, SET, default)) == {name: default}
    assert altered({name: other}, replace_all=True) == {name: other}
    assert altered({}, ConfigChange(name, DELETE)) == {}


# --- fields in Redis ---


def test_the_hash_always_has_the_fields_of_the_seeds_and_what_is_fixed() -> None:
    configs = TopicConfigs({"retention.bytes": "9"})

    fields = configs.to_fields(configs.create({"retention.ms": "86400000"}))

    assert fields == {
        "retentionTime": "86400000",
        "retentionBytes": "9",
        "compression": "none",
        "valueType": "BYTES",
        "offsetSequenceBits": "10",
        "offset.encoding": "time",
        "storage.format": "record",
        "configs": "retention.ms",
    }


def test_other_configs_are_kept_under_their_own_names() -> None:
    configs = TopicConfigs()

    fields = configs.to_fields(configs.create({"segment.ms": "5", "flush.ms": "6"}))

    assert (fields["segment.ms"], fields["flush.ms"]) == ("5", "6")
    assert fields["configs"] == "flush.ms,segment.ms"


def test_a_written_default_is_not_taken_for_a_value_of_the_topic() -> None:
    configs = TopicConfigs()
    fields = configs.to_fields(configs.create({}))

    assert configs.from_fields(fields).own == {}


def test_fields_spoilt_by_hand_count_as_not_set() -> None:
    configs = TopicConfigs()
    fields = configs.to_fields(configs.create({"retention.ms": "1", "segment.ms": "2"}))

    spoilt = configs.from_fields(
        {**fields, "retentionTime": "soon", "configs": "retention.ms,segment.ms,new.one"}
    )

    assert spoilt.own == {"segment.ms": "2"}
    assert configs.view(spoilt).retention_ms == 604800000
    assert configs.from_fields({}).own == {}
    assert configs.view(configs.from_fields({})).encoding == OffsetEncoding(10)
