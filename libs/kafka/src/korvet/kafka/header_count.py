"""PURE: counts the headers of a batch's records before anything is made of them.

Two bytes are a header, so that a few hundred can decompress to millions of them. Only
counts and lengths are read; whether the rest makes sense is for the codec to find. Numbers
of one byte, which most are, are read in place: this must not take longer than the codec.
"""

from typing import Final

from korvet.kafka.errors import ErrorCode, KafkaError

# Java producers split what is too large for a broker, and no record needs so many.
_MAX_HEADERS: Final = 250_000
_MIN_HEADER_SIZE: Final = 2
# To count takes time too. Up to so many bytes, headers that a sender has paid for with
# bytes of its own cost no more than as many small records would.
_COUNTED_FROM: Final = 8 << 20
_COUNTED_RATIO: Final = 16


def check_headers(records: memoryview, count: int, sent_bytes: int) -> None:
    """Refuse more headers than are worth the time and memory to make them.

    `records` are so many, uncompressed; `sent_bytes` is what they took on the wire.
    """
    if len(records) <= _MAX_HEADERS * _MIN_HEADER_SIZE:
        return
    if len(records) <= min(_COUNTED_FROM, _COUNTED_RATIO * sent_bytes):
        return
    if _has_more_headers(records, count, _MAX_HEADERS):
        raise KafkaError(
            ErrorCode.MESSAGE_TOO_LARGE, f"more than {_MAX_HEADERS} headers in one batch"
        )


def _has_more_headers(records: memoryview, count: int, limit: int) -> bool:
    """Whether so many records have more headers than that; malformed ones count none."""
    position = total = 0
    try:
        for _ in range(count):
            length, position = _varint(records, position)
            end = position + length
            position += 1  # attributes
            for _ in range(2):  # timestamp delta, offset delta
                while records[position] >= 0x80:
                    position += 1
                position += 1
            for _ in range(2):  # key, value
                size = records[position]
                if size < 0x80:
                    position += 1 + (0 if size & 1 else size >> 1)
                else:
                    size, position = _varint(records, position)
                    position += max(size, 0)
            if records[position]:
                headers, position = _varint(records, position)
                total += max(headers, 0)
                if total > limit:
                    return True
            if end < position:
                # The codec goes no further than this record either.
                return False
            position = end
    except IndexError:
        return False
    return False


def _varint(data: memoryview, position: int) -> tuple[int, int]:
    """A zigzag varint, and where it ends."""
    value = shift = 0
    while True:
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return (value >> 1) ^ -(value & 1), position
        shift += 7
        if shift > 63:
            raise IndexError
