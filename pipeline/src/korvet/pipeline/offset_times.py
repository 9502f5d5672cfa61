"""PURE: what an offset tells of when its record was appended.

On topics with offset.encoding=time an offset is the milliseconds of its append, shifted by
offset.sequence.bits. The lake does not say how a topic's offsets are encoded, and need not:
one bit more or less would be twice or half of the time since 1970.
"""

from typing import Final

# What a topic may have.
_MOST_BITS: Final = 20


def sequence_bits(offset: int, latest_ms: int) -> int | None:
    """How many bits count within a millisecond; None where the offset is no time.

    `latest_ms` is when it was appended at the latest, and it was in the half of the time
    since 1970 before that.
    """
    for bits in range(1, _MOST_BITS + 1):
        if latest_ms // 2 < offset >> bits <= latest_ms:
            return bits
    return None
