"""Counts the records between two offsets of a log, exactly (counting.lua)."""

from typing import NamedTuple

from korvet.kafka.errors import ErrorCode, KafkaError
from korvet.redis.keys import Keys
from korvet.redis.lane import Lane
from korvet.storage.scripts import COUNT_RECORDS
from korvet.storage.topic import Topic


class Count(NamedTuple):
    records: int
    start_offset: int
    end_offset: int


async def count_records(
    lane: Lane,
    keys: Keys,
    topic: Topic,
    partition: int,
    offset: int,
    end_offset: int | None = None,
) -> Count:
    """The records from an offset on; with an end, only those before it."""
    encoding = topic.config.encoding
    verdict, *answer = await lane.send(
        "EVALSHA",
        COUNT_RECORDS.digest,
        3,
        keys.partition(topic.name, partition),
        keys.stream(topic.name, partition),
        keys.index(topic.name, partition),
        topic.id_text,
        encoding.sequences,
        "batch" if topic.config.batch_format else "record",
        encoding.entry_id(max(0, offset)),
        *(() if end_offset is None else (encoding.entry_id(max(0, end_offset)),)),
    )
    if verdict != b"OK":
        raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    records, start, last = answer
    return Count(
        int(records),
        encoding.offset(start) if start else 0,
        encoding.offset(last) + 1 if last else 0,
    )
