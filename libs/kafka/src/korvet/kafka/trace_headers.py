"""Finds the trace contexts that producers put into the headers of records (W3C's).

Records are not decoded for that: a header of this name and length has one spelling only.
What merely looks like one is a wrong hint, and does no harm.
"""

import re
from collections.abc import Iterable
from typing import Final

from korvet.kafka.compression import CODEC_NAMES, decompress
from korvet.kafka.errors import DecodeError, KafkaError
from korvet.kafka.primitives import Buffer
from korvet.kafka.records import HEADER_SIZE, split_batches

HEADER: Final = "traceparent"

# Lengths are zigzag varints: 11 is 0x16 and 55 is 0x6e.
_HEADER: Final = re.compile(
    rb"\x16traceparent\x6e(00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2})"
)
# What is looked through, decompressed. Larger batches are not opened.
_MAX_BYTES: Final = 1 << 20


def find_traceparents(batches: Iterable[Buffer], limit: int) -> list[str]:
    """The first different ones in record batches, `limit` at most."""
    found: dict[str, None] = {}
    room = _MAX_BYTES
    for data in batches:
        for plain in _plain(data, room):
            for match in _HEADER.finditer(plain):
                found[match[1].decode()] = None
                if len(found) == limit:
                    return list(found)
            room -= len(plain)
            if room <= 0:
                return list(found)
    return list(found)


def _plain(data: Buffer, limit: int) -> Iterable[Buffer]:
    """The records of each batch, uncompressed, as far as they can be had."""
    try:
        for header, batch in split_batches(data):
            records = batch[HEADER_SIZE:]
            if header.codec == 0:
                yield records[:limit]
            elif header.codec < len(CODEC_NAMES):
                yield decompress(header.codec, records, limit, 0, 0)
    except (DecodeError, KafkaError):
        # Whoever must understand it will say what is wrong.
        return
