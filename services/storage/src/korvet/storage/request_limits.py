"""PURE: how many partitions one call may name.

The gateway's clients cannot name more than that in one request; a gRPC client could name
tens of millions, each of which is several objects here.
"""

from collections.abc import Sized
from typing import Final

from korvet.redis.failures import InvalidRequestError

MAX_PARTITIONS: Final = 250_000


def check_partitions(partitions: Sized) -> None:
    if len(partitions) > MAX_PARTITIONS:
        raise InvalidRequestError(
            f"at most {MAX_PARTITIONS} partitions at once, not {len(partitions)}"
        )
