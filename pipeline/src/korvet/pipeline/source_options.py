"""What `spark.read.format("korvet")` and its stream can be told, checked at their start."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, TypeAlias

from korvet.client import DEFAULT_ADDRESS
from korvet.pipeline.failure import LakeError
from korvet.pipeline.planning import Range
from korvet.pipeline.storage_link import PATIENCE, Endpoint
from korvet.pipeline.topic_selection import check_pattern

EARLIEST: Final = -2
LATEST: Final = -1

# Of each topic, where its partitions begin or end; a word or a time is the same for all.
Offsets: TypeAlias = Mapping[str, Mapping[int, int]]

DEFAULT_RECORDS_PER_SPLIT: Final = 250_000

_NAMES: Final = (
    "endpoint", "topics", "topicPattern", "startingOffsets", "endingOffsets",
    "startingTimestamp", "endingTimestamp", "recordsPerTrigger", "recordsPerSplit",
    "failOnDataLoss", "tls", "tlsCa", "tlsCertificate", "tlsKey", "patience",
)  # fmt: skip
# What Spark adds by itself, and our own jobs, which have planned already.
_INTERNAL: Final = ("path", "splits")


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """Where to begin or to end: by offsets, by a time, or EARLIEST and LATEST."""

    timestamp_ms: int = LATEST
    offsets: Offsets | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceOptions:
    endpoint: Endpoint
    topics: tuple[str, ...]
    pattern: str | None
    start: Bound
    end: Bound
    records_per_trigger: int | None
    records_per_split: int
    fail_on_data_loss: bool
    # What each task is to read, where that is planned already.
    splits: list[list[Range]] | None = None

    def selects(self, topic: str) -> bool:
        if self.pattern is not None:
            return re.fullmatch(self.pattern, topic) is not None
        return topic in self.topics


def endpoint_of(options: Mapping[str, str]) -> Endpoint:
    return Endpoint(
        address=options.get("endpoint") or DEFAULT_ADDRESS,
        tls=_flag(options, "tls", default=False),
        ca=options.get("tlsCa"),
        certificate=options.get("tlsCertificate"),
        key=options.get("tlsKey"),
        patience=float(options.get("patience") or PATIENCE),
    )


def endpoint_options(endpoint: Endpoint) -> dict[str, str]:
    """The options that say the same as this endpoint."""
    given = {
        "endpoint": endpoint.address,
        "tls": str(endpoint.tls).lower(),
        "tlsCa": endpoint.ca,
        "tlsCertificate": endpoint.certificate,
        "tlsKey": endpoint.key,
        "patience": str(endpoint.patience),
    }
    return {name: value for name, value in given.items() if value is not None}


def splits_option(splits: Sequence[Sequence[Range]]) -> str:
    return json.dumps(
        [[[part.topic, part.topic_id.hex(), *part[2:]] for part in each] for each in splits]
    )


def parse_options(options: Mapping[str, str], *, streaming: bool) -> SourceOptions:
    known = {name.lower() for name in (*_NAMES, *_INTERNAL)}
    for name in options:
        if name.lower() not in known:
            raise LakeError(f"The korvet source has no option {name}.", _all_names())
    topics = tuple(each.strip() for each in options.get("topics", "").split(",") if each)
    pattern = options.get("topicPattern")
    if bool(topics) == bool(pattern):
        raise LakeError("Give either the option topics or the option topicPattern.")
    if pattern:
        check_pattern(pattern)
    if streaming and ("endingOffsets" in options or "endingTimestamp" in options):
        raise LakeError("A stream has no end: endingOffsets is for spark.read.")
    start = _bound(options, "starting", LATEST if streaming else EARLIEST)
    end = _bound(options, "ending", LATEST)
    if end.timestamp_ms == EARLIEST:
        raise LakeError("endingOffsets cannot be earliest.")
    if not streaming and start.timestamp_ms == LATEST and start.offsets is None:
        raise LakeError("startingOffsets cannot be latest, but for a stream.")
    return SourceOptions(
        endpoint=endpoint_of(options),
        topics=topics,
        pattern=pattern,
        start=start,
        end=end,
        records_per_trigger=_number(options, "recordsPerTrigger"),
        records_per_split=_number(options, "recordsPerSplit") or DEFAULT_RECORDS_PER_SPLIT,
        fail_on_data_loss=_flag(options, "failOnDataLoss", default=True),
        splits=_splits(options.get("splits")),
    )


def _splits(text: str | None) -> list[list[Range]] | None:
    if text is None:
        return None
    return [
        [Range(topic, bytes.fromhex(topic_id), *rest) for topic, topic_id, *rest in each]
        for each in json.loads(text)
    ]


def parse_time(text: str) -> int:
    """Milliseconds since 1970, from those or from ISO 8601; without a zone it is UTC."""
    if re.fullmatch(r"\d+(ms)?", text):
        return int(text.removesuffix("ms"))
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise LakeError(
            f"{text} is no time.",
            "Give it as 2026-11-19T06:00:00Z, or in milliseconds since 1970.",
        ) from None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return int(moment.timestamp() * 1000)


def _bound(options: Mapping[str, str], which: str, default: int) -> Bound:
    offsets, time = options.get(f"{which}Offsets"), options.get(f"{which}Timestamp")
    if offsets is not None and time is not None:
        raise LakeError(f"Give either {which}Offsets or {which}Timestamp.")
    if time is not None:
        return Bound(timestamp_ms=parse_time(time))
    if offsets is None:
        return Bound(timestamp_ms=default)
    words = {"earliest": EARLIEST, "latest": LATEST}
    if offsets.strip().lower() in words:
        return Bound(timestamp_ms=words[offsets.strip().lower()])
    found = _object(offsets, f"{which}Offsets")
    try:
        return Bound(
            timestamp_ms=default,
            offsets={
                topic: {int(partition): int(offset) for partition, offset in each.items()}
                for topic, each in found.items()
            },
        )
    except (AttributeError, TypeError, ValueError):
        raise _no_offsets(f"{which}Offsets") from None


def _object(text: str, name: str) -> dict[str, "dict[str, int]"]:
    try:
        found = json.loads(text)
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise _no_offsets(name)
    return found


def _no_offsets(name: str) -> LakeError:
    return LakeError(
        f"The option {name} is not what it should be.",
        'As in {"orders": {"0": 1200, "1": -2}}; -2 is the earliest, -1 the latest offset.',
    )


def _number(options: Mapping[str, str], name: str) -> int | None:
    text = options.get(name)
    if text is None:
        return None
    if not re.fullmatch(r"\d{1,15}", text) or int(text) < 1:
        raise LakeError(f"The option {name} must be a number of records, not {text}.")
    return int(text)


def _flag(options: Mapping[str, str], name: str, *, default: bool) -> bool:
    text = options.get(name, str(default)).lower()
    if text not in ("true", "false"):
        raise LakeError(f"The option {name} must be true or false, not {text}.")
    return text == "true"


def _all_names() -> str:
    return f"Its options are {', '.join(_NAMES)}."
