"""What a read of topics comes to: asks storage for bounds and counts, and cuts by them."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from korvet.pipeline.failure import LakeError
from korvet.pipeline.planning import Gap, Range, first_records, group, shares, split
from korvet.pipeline.source_options import EARLIEST, LATEST, Bound, SourceOptions
from korvet.pipeline.storage_link import StorageLink, TopicInfo


class Counted(NamedTuple):
    """Ranges with their records, and what of them the log does not have any more."""

    parts: list[Range]
    gaps: list[Gap]


def selected_topics(link: StorageLink, options: SourceOptions) -> list[TopicInfo]:
    """The topics that there are of those that were asked for; named ones must be there."""
    if options.pattern is not None:
        return [each for each in link.topics() if options.selects(each.name)]
    found = [(name, link.topic(name)) for name in options.topics]
    for name, topic in found:
        if topic is None:
            raise LakeError(
                f"There is no topic {name}.", "`korvet topics list` shows those there are."
            )
    return [topic for _, topic in found if topic]


def positions(link: StorageLink, topic: TopicInfo, bound: Bound) -> dict[int, int]:
    """Partition -> offset, of all partitions; a time after the last record is the end."""
    partitions = range(topic.partitions)
    if bound.offsets is None:
        return _find(link, topic, partitions, bound.timestamp_ms)
    given = bound.offsets.get(topic.name, {})
    if strangers := sorted(set(given) - set(partitions)):
        raise LakeError(f"{topic.name} has no partition {strangers[0]}.")
    found = {each: offset for each, offset in given.items() if offset >= 0}
    for special in (EARLIEST, LATEST):
        asked = [each for each, offset in given.items() if offset == special]
        found |= _find(link, topic, asked, special)
    rest = [each for each in partitions if each not in given]
    return found | _find(link, topic, rest, bound.timestamp_ms)


def counted(
    link: StorageLink,
    topic: TopicInfo,
    starts: Mapping[int, int],
    ends: Mapping[int, int],
) -> Counted:
    """What is there between the positions, without partitions that have nothing."""
    wanted = [
        (partition, starts[partition], ends[partition])
        for partition in sorted(ends)
        if starts[partition] < ends[partition]
    ]
    parts: list[Range] = []
    gaps: list[Gap] = []
    for (partition, start, end), count in zip(
        wanted, link.count(topic, wanted), strict=True
    ):
        # A log that begins later has lost what was before: where it begins tells of what
        # was deleted, not of where its first record is.
        first = max(start, min(end, count.log_start_offset))
        if start < first:
            gaps.append(Gap(topic.name, partition, start, first))
        if first < end:
            parts.append(Range(topic.name, topic.id, partition, first, end, count.records))
    return Counted(parts, gaps)


def limited(link: StorageLink, parts: Sequence[Range], limit: int | None) -> list[Range]:
    """The ranges' first records, no more than the limit in all; fairly shared."""
    if limit is None or sum(part.records for part in parts) <= limit:
        return list(parts)
    taken = shares([part.records for part in parts], limit)
    chosen = [(part, share) for part, share in zip(parts, taken, strict=True) if share]
    return first_records(chosen, lambda asked: _count(link, asked))


def in_splits(
    link: StorageLink, parts: Sequence[Range], records_per_split: int
) -> list[list[Range]]:
    """What each task reads: about so many records, of one partition or of small ones."""
    pieces = split(parts, records_per_split, lambda asked: _count(link, asked))
    return group(pieces, records_per_split)


def _find(
    link: StorageLink, topic: TopicInfo, partitions: Iterable[int], timestamp_ms: int
) -> dict[int, int]:
    asked = list(partitions)
    found = {
        partition: each.offset
        for partition, each in link.find_offsets(topic, asked, timestamp_ms).items()
    }
    late = [partition for partition, offset in found.items() if offset < 0]
    if late and timestamp_ms != LATEST:
        found |= _find(link, topic, late, LATEST)
    return found


def _count(link: StorageLink, parts: Sequence[Range]) -> list[int]:
    """The records of ranges, which may be of several topics."""
    counts: dict[int, int] = {}
    by_topic: dict[bytes, list[int]] = {}
    for index, part in enumerate(parts):
        by_topic.setdefault(part.topic_id, []).append(index)
    for topic_id, indexes in by_topic.items():
        topic = TopicInfo(parts[indexes[0]].topic, topic_id, 0, ())
        asked = [(parts[at].partition, parts[at].start, parts[at].end) for at in indexes]
        counts |= zip(
            indexes, (each.records for each in link.count(topic, asked)), strict=True
        )
    return [counts[index] for index in range(len(parts))]
