"""PURE: which partition a key belongs to, as Kafka's Java clients decide it.

A record written through either front must land where the other would have put it, so this
is Kafka's 32-bit murmur2 with Kafka's seed, bit for bit.
"""

from typing import Final

_SEED: Final = 0x9747B28C
_MULTIPLIER: Final = 0x5BD1E995
_MASK: Final = 0xFFFFFFFF


def partition_for_key(key: bytes, partitions: int) -> int:
    # Java's toPositive: the sign bit is cleared, not the number negated.
    return (murmur2(key) & 0x7FFFFFFF) % partitions


def murmur2(data: bytes) -> int:
    """The hash as an unsigned number."""
    length = len(data)
    state = _SEED ^ length
    whole = length & ~3
    for start in range(0, whole, 4):
        word = int.from_bytes(data[start : start + 4], "little")
        word = (word * _MULTIPLIER) & _MASK
        word ^= word >> 24
        word = (word * _MULTIPLIER) & _MASK
        state = ((state * _MULTIPLIER) & _MASK) ^ word
    if length != whole:
        state ^= int.from_bytes(data[whole:], "little")
        state = (state * _MULTIPLIER) & _MASK
    state ^= state >> 13
    state = (state * _MULTIPLIER) & _MASK
    return state ^ (state >> 15)
