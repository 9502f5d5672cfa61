"""Every topic config: which values are taken, which are refused, and with what words."""

import pytest

from korvet.kafka.errors import ErrorCode, KafkaError
from korvet.storage.config_values import LONG_MAX
from korvet.storage.topic_config_table import ROWS
from korvet.storage.topic_configs import TopicConfigs

# Those of TopicConfig in kafka-clients 4.1.0, and the two that its brokers add.
KAFKAS_NAMES = """
    cleanup.policy compression.gzip.level compression.lz4.level compression.type
    compression.zstd.level delete.retention.ms file.delete.delay.ms flush.messages flush.ms
    follower.replication.throttled.replicas index.interval.bytes
    leader.replication.throttled.replicas local.retention.bytes local.retention.ms
    max.compaction.lag.ms max.message.bytes message.downconversion.enable
    message.timestamp.after.max.ms message.timestamp.before.max.ms message.timestamp.type
    min.cleanable.dirty.ratio min.compaction.lag.ms min.insync.replicas preallocate
    remote.log.copy.disable remote.log.delete.on.disable remote.storage.enable
    retention.bytes retention.ms segment.bytes segment.index.bytes segment.jitter.ms
    segment.ms unclean.leader.election.enable
"""

OUR_NAMES = """
    acks.fsync approximate.trimming batch.validation group.delivery
    large.message.threshold offset.encoding offset.sequence.bits storage.compression
    storage.format value.type
"""

# For each config: values that are taken, as they are then written; and values refused.
TAKEN = {
    "acks.fsync": {"true": "true", "false": "false"},
    "approximate.trimming": {"true": "true", " FALSE ": "false"},
    "batch.validation": {"header": "header", "full": "full"},
    "cleanup.policy": {
        "delete": "delete",
        "compact": "compact",
        " compact , delete ": "compact,delete",
        "delete,delete": "delete",
        "": "",
    },
    "compression.gzip.level": {"-1": "-1", "1": "1", "9": "9"},
    "compression.lz4.level": {"1": "1", "17": "17"},
    "compression.type": {
        name: name
        for name in ("none", "uncompressed", "producer", "gzip", "snappy", "lz4", "zstd")
    },
    "compression.zstd.level": {"-131072": "-131072", "22": "22"},
    "delete.retention.ms": {"0": "0"},
    "file.delete.delay.ms": {"0": "0"},
    "flush.messages": {"1": "1"},
    "flush.ms": {"0": "0"},
    "follower.replication.throttled.replicas": {"*": "*", "": "", "0:1, 1:2": "0:1,1:2"},
    "group.delivery": {"commit": "commit", "redis": "redis"},
    "index.interval.bytes": {"0": "0"},
    "large.message.threshold": {"1024": "1024"},
    "leader.replication.throttled.replicas": {"*": "*", "3:4": "3:4"},
    "local.retention.bytes": {"-2": "-2", "-1": "-1", "5": "5"},
    "local.retention.ms": {"-2": "-2", "-1": "-1", "5": "5"},
    "max.compaction.lag.ms": {"1": "1", str(LONG_MAX): str(LONG_MAX)},
    "max.message.bytes": {"0": "0", "67108864": "67108864"},
    "message.downconversion.enable": {"false": "false"},
    "message.timestamp.after.max.ms": {"0": "0"},
    "message.timestamp.before.max.ms": {"0": "0"},
    "message.timestamp.type": {
        "CreateTime": "CreateTime",
        "LogAppendTime": "LogAppendTime",
    },
    "min.cleanable.dirty.ratio": {"0": "0.0", "1": "1.0", ".25": "0.25", "5e-1": "0.5"},
    "min.compaction.lag.ms": {"0": "0"},
    "min.insync.replicas": {"1": "1", "3": "3"},
    "offset.encoding": {"time": "time", "dense": "dense"},
    "offset.sequence.bits": {"1": "1", "20": "20"},
    "preallocate": {"True": "true"},
    "remote.log.copy.disable": {"true": "true"},
    "remote.log.delete.on.disable": {"true": "true"},
    "remote.storage.enable": {"false": "false"},
    "retention.bytes": {"-1": "-1", "0": "0", "+5": "5"},
    "retention.ms": {"-1": "-1", " 86400000 ": "86400000", "007": "7"},
    "segment.bytes": {"1048576": "1048576"},
    "segment.index.bytes": {"4": "4"},
    "segment.jitter.ms": {"0": "0"},
    "segment.ms": {"1": "1"},
    "storage.compression": {n: n for n in ("none", "gzip", "snappy", "lz4", "zstd")},
    "storage.format": {"record": "record", "batch": "batch"},
    "unclean.leader.election.enable": {"true": "true"},
    "value.type": {"BYTES": "BYTES", "JSON": "JSON"},
}
_NO_FLAG = ["", "yes", "1", "tru"]
_NO_NUMBER = ["", "x", "1.5", "1e3", "0x10", "1_000", "\u0661", "9" * 19 + "9", "9" * 400]
REFUSED = {
    "acks.fsync": _NO_FLAG,
    "approximate.trimming": _NO_FLAG,
    "batch.validation": ["", "FULL"],
    "cleanup.policy": ["none", "delete;compact", "Delete"],
    "compression.gzip.level": ["0", "10", "-2", *_NO_NUMBER],
    "compression.lz4.level": ["0", "18", "-1"],
    "compression.type": ["", "brotli", "LZ4"],
    "compression.zstd.level": ["23", "-131073"],
    "delete.retention.ms": ["-1"],
    "file.delete.delay.ms": ["-1"],
    "flush.messages": ["0"],
    "flush.ms": ["-1"],
    "follower.replication.throttled.replicas": ["all", "1", "1:2:3", "*,1:2", "a:b"],
    "group.delivery": ["", "kafka"],
    "index.interval.bytes": ["-1", str(1 << 31)],
    "large.message.threshold": ["1023", "-1"],
    "leader.replication.throttled.replicas": ["0-1"],
    "local.retention.bytes": ["-3"],
    "local.retention.ms": ["-3"],
    "max.compaction.lag.ms": ["0", str(LONG_MAX + 1)],
    "max.message.bytes": ["-1", "67108865"],
    "message.downconversion.enable": _NO_FLAG,
    "message.timestamp.after.max.ms": ["-1"],
    "message.timestamp.before.max.ms": ["-1"],
    "message.timestamp.type": ["", "createtime", "AppendTime"],
    "min.cleanable.dirty.ratio": ["-0.1", "1.1", "nan", "inf", "", "1e999", "half"],
    "min.compaction.lag.ms": ["-1"],
    "min.insync.replicas": ["0", "-1"],
    "offset.encoding": ["", "sparse", "TIME"],
    "offset.sequence.bits": ["0", "21", "-1", *_NO_NUMBER],
    "preallocate": _NO_FLAG,
    "remote.log.copy.disable": _NO_FLAG,
    "remote.log.delete.on.disable": _NO_FLAG,
    "remote.storage.enable": ["true"],
    "retention.bytes": ["-2", *_NO_NUMBER],
    "retention.ms": ["-2", *_NO_NUMBER],
    "segment.bytes": ["1048575"],
    "segment.index.bytes": ["3"],
    "segment.jitter.ms": ["-1"],
    "segment.ms": ["0"],
    "storage.compression": ["", "producer", "uncompressed"],
    "storage.format": ["", "RECORD", "entry"],
    "unclean.leader.election.enable": _NO_FLAG,
    "value.type": ["", "json", "AVRO"],
}


def test_the_table_has_kafkas_configs_and_ours_and_no_others() -> None:
    assert sorted(ROWS) == sorted((KAFKAS_NAMES + OUR_NAMES).split())


def test_every_config_has_examples_here() -> None:
    assert TAKEN.keys() == REFUSED.keys() == ROWS.keys()


@pytest.mark.parametrize("name", ROWS)
def test_every_default_is_a_valid_value_as_it_is_written(name: str) -> None:
    row = ROWS[name]

    assert row.kind.canonical(row.default) == row.default
    assert row.documentation.endswith((".", "…"))


@pytest.mark.parametrize(
    ("name", "written", "given"),
    [(name, w, g) for name, values in TAKEN.items() for g, w in values.items()],
)
def test_a_valid_value_is_taken_and_written_in_one_way(
    name: str, written: str, given: str
) -> None:
    stored = TopicConfigs().create({name: given})

    assert stored.own == {name: written}


@pytest.mark.parametrize(
    ("name", "value"), [(name, v) for name, values in REFUSED.items() for v in values]
)
def test_an_invalid_value_is_refused_with_what_is_allowed(name: str, value: str) -> None:
    with pytest.raises(KafkaError) as refused:
        TopicConfigs().create({name: value})

    assert refused.value.code is ErrorCode.INVALID_CONFIG
    assert refused.value.detail.endswith(ROWS[name].kind.allowed)
    assert len(refused.value.detail) < 500


def test_an_unknown_name_is_refused_with_the_known_ones() -> None:
    with pytest.raises(KafkaError, match=r"retention\.sm.*retention\.ms") as refused:
        TopicConfigs().create({"retention.sm": "1"})

    assert refused.value.code is ErrorCode.INVALID_CONFIG


def test_configs_that_contradict_each_other_are_refused() -> None:
    with pytest.raises(KafkaError, match=r"min\.compaction\.lag\.ms") as refused:
        TopicConfigs().create({"min.compaction.lag.ms": "2", "max.compaction.lag.ms": "1"})

    assert refused.value.code is ErrorCode.INVALID_CONFIG


@pytest.mark.parametrize("name", ROWS)
def test_what_is_written_is_read_back(name: str) -> None:
    configs = TopicConfigs()
    for value in TAKEN[name]:
        stored = configs.create({name: value})

        assert configs.from_fields(configs.to_fields(stored)) == stored
