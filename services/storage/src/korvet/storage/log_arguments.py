"""What scripts that write to a log are told of it; `open_log` (appending.lua) reads it."""

from typing import Final

from korvet.redis.keys import Keys
from korvet.redis.lane import Lane
from korvet.storage.append_rules import Prepared
from korvet.storage.read_plan import BLOCK_BYTES, BLOCK_RECORDS
from korvet.storage.topic import Topic

# A block of the index spans no more time than this, nor more than a share of what
# retention keeps, so that retention by time is exact to that share.
_BLOCK_MS: Final = 60_000
_BLOCK_SHARE: Final = 8


def log_keys(keys: Keys, topic: str, partition: int) -> tuple[str, ...]:
    return (
        keys.partition(topic, partition),
        keys.stream(topic, partition),
        keys.producers(topic, partition),
        keys.index(topic, partition),
        keys.transactions(topic, partition),
        keys.aborted(topic, partition),
    )


def log_arguments(
    keys: Keys, lane: Lane, topic: Topic, partition: int
) -> tuple[str | int, ...]:
    config = topic.config
    retention_ms = config.retention_ms if config.deletes else -1
    return (
        topic.id_text,
        lane.history,
        topic.leader_epochs[partition],
        keys.appended(topic.name, partition),
        "batch" if config.batch_format else "record",
        "~" if config.approximate_trimming else "=",
        config.encoding.sequences,
        retention_ms,
        config.retention_bytes if config.deletes else -1,
        BLOCK_RECORDS,
        BLOCK_BYTES,
        _block_ms(retention_ms),
        int(config.log_append_time),
    )


def batch_arguments(
    prepared: Prepared, producer_expiry_ms: int
) -> tuple[bytes | str | int, ...]:
    """What comes after the log's, for `read_batch` (batches.lua)."""
    return (
        prepared.record_count,
        prepared.size,
        prepared.latest_timestamp,
        prepared.producer_id if prepared.producer_id >= 0 else "",
        prepared.producer_epoch,
        prepared.base_sequence,
        producer_expiry_ms,
        _transactional(prepared),
        *prepared.payload,
    )


def _transactional(prepared: Prepared) -> str:
    if not prepared.is_transactional:
        return ""
    return "own epoch" if prepared.epoch_per_transaction else "yes"


def _block_ms(retention_ms: int) -> int:
    return _BLOCK_MS if retention_ms < 0 else min(_BLOCK_MS, retention_ms // _BLOCK_SHARE)
