"""PURE: what entries.lua is passed to write records as stream entries.

Redis's time for a record grows with the words that it is passed. So what records share is
said once: most batches are of records with the same fields, and few different times.
"""

from collections.abc import Sequence
from itertools import chain, groupby
from typing import Any, Final, TypeAlias

from korvet.kafka.compression import CODEC_NAMES, compress
from korvet.kafka.errors import ErrorCode, KafkaError
from korvet.kafka.records import Headers, Record

Word: TypeAlias = bytes | str | int
_Column: TypeAlias = Sequence[bytes | int | None]

# Lua unpacks about 8,000 values at most, and a script that stops half-way has half-written.
_MAX_HEADERS: Final = 3_000
# Redis takes about a million arguments a command.
_MAX_ARGUMENTS: Final = 1_000_000
# Redis does nothing else while it writes them, and takes 2 to 4 µs for each.
MAX_RECORDS: Final = 50_000
_COMPRESS_FROM: Final = 1024


def to_arguments(records: Sequence[Record], codec: int) -> Sequence[Word]:
    """The payload of an append, for a topic whose large values are compressed so."""
    arguments = _alike(records, codec) or _any(records, codec)
    if len(arguments) > _MAX_ARGUMENTS:
        raise KafkaError(
            ErrorCode.MESSAGE_TOO_LARGE, f"{len(records)} records in one batch"
        )
    return arguments


def _alike(records: Sequence[Record], codec: int) -> Sequence[Word] | None:
    """Several records with the same fields; None where they are not that."""
    _, times, keys, values, headers = zip(*records, strict=True)
    keyless = keys.count(None)
    if len(records) == 1 or keyless not in (0, len(keys)) or None in values:
        return None
    if codec and max(map(len, values)) >= _COMPRESS_FROM:
        return None
    names = ["value"] if keyless else ["key", "value"]
    columns: list[_Column] = [values] if keyless else [keys, values]
    runs = [(time, len(list(run))) for time, run in groupby(times)]
    timed = len(names) + 1
    if 2 * len(runs) > len(times):
        # Then it is less to say each record's.
        columns.append(times)
        runs, timed = [], 0
    names.append("timestamp")
    if any(headers):
        header_names = [name for name, _ in headers[0]]
        header_columns = _header_columns(header_names, headers)
        if header_columns is None:
            return None
        names += (f"header.{name}" for name in header_names)
        columns += header_columns
    words: list[Any] = [None] * (len(records) * len(columns))
    for place, column in enumerate(columns):
        words[place :: len(columns)] = column
    return ["alike", len(names), timed, *names, len(runs), *chain(*runs), *words]


def _header_columns(
    names: Sequence[str], headers: Sequence[Headers]
) -> Sequence[_Column] | None:
    if not names or len(names) > _MAX_HEADERS or set(map(len, headers)) != {len(names)}:
        return None
    found = list(chain.from_iterable(headers))
    values = [value for _, value in found]
    if [name for name, _ in found] != [*names] * len(headers) or None in values:
        return None
    return [values[place :: len(names)] for place in range(len(names))]


def _any(records: Sequence[Record], codec: int) -> Sequence[Word]:
    arguments: list[Word] = ["any"]
    extend = arguments.extend
    for index, (_, timestamp, key, value, headers) in enumerate(records):
        if value is not None and codec and len(value) >= _COMPRESS_FROM:
            fields = _compressed(value, codec)
        elif value is not None:
            fields = ["value", value]
        else:
            fields = []
        if key is not None:
            fields = ["key", key, *fields]
        fields += ("timestamp", timestamp)
        if headers:
            if len(headers) > _MAX_HEADERS:
                raise KafkaError(
                    ErrorCode.INVALID_RECORD,
                    f"record {index} has more than {_MAX_HEADERS} headers",
                )
            for name, header in headers:
                if header is None:
                    fields += (f"nullheader.{name}", b"")
                else:
                    fields += (f"header.{name}", header)
        arguments.append(len(fields))
        extend(fields)
    return arguments


def _compressed(value: bytes, codec: int) -> list[Word]:
    smaller = compress(codec, value)
    if len(smaller) >= len(value):
        return ["value", value]
    return ["value", smaller, "codec", CODEC_NAMES[codec]]
