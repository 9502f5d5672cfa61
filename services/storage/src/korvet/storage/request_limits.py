"""PURE: how much one call may ask for.

The gateway's clients cannot name more partitions than that in one request; a gRPC client
could name tens of millions, each of which is several objects here.
"""

from collections.abc import Sized
from typing import Final

from korvet.redis.failures import InvalidRequestError
from korvet.storage.append_rules import MAX_DECOMPRESSED, Prepared
from korvet.storage.record_arguments import MAX_RECORDS

MAX_PARTITIONS: Final = 250_000

# An atomic append is one command, however many partitions it names. Redis 6.2 takes
# 1,048,576 words a command and hangs up on whoever sends more; and no Redis does anything
# else meanwhile. So all of it together may be what one partition's append may be.
MAX_WORDS: Final = 1_048_000
MAX_BYTES: Final = MAX_DECOMPRESSED
# Keys and arguments of a partition, besides what is appended (log_arguments.py).
WORDS_OF_A_PARTITION: Final = 28


def check_partitions(partitions: Sized) -> None:
    if len(partitions) > MAX_PARTITIONS:
        raise InvalidRequestError(
            f"at most {MAX_PARTITIONS} partitions at once, not {len(partitions)}"
        )


class AtomicSize:
    """Adds up an atomic append, so that no more of it is prepared than may be appended."""

    def __init__(self) -> None:
        self._words = 0
        self._bytes = 0
        self._entries = 0

    def add(self, prepared: Prepared) -> None:
        self._words += WORDS_OF_A_PARTITION + len(prepared.payload)
        self._bytes += prepared.size
        self._entries += prepared.entry_count

    @property
    def is_too_large(self) -> bool:
        return (
            self._words > MAX_WORDS
            or self._bytes > MAX_BYTES
            or self._entries > MAX_RECORDS
        )
