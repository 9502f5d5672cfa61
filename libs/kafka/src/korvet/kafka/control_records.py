"""PURE: the control records that end transactions in a partition's log.

A marker is a batch of one record, with a key that says what it is and a value that says
which coordinator wrote it. Clients see it as a gap in the offsets.
"""

import struct
from typing import Final

from korvet.kafka.records import build_batch

_ABORT: Final = 0
_COMMIT: Final = 1
_KEY: Final = struct.Struct(">hh")
_VALUE: Final = struct.Struct(">hi")
_VERSION: Final = 0

# Of every marker, in bytes.
MARKER_SIZE: Final = 78


def build_marker(
    *,
    base_offset: int = 0,
    leader_epoch: int = -1,
    timestamp: int,
    producer_id: int,
    producer_epoch: int,
    coordinator_epoch: int,
    commit: bool,
) -> bytes:
    key = _KEY.pack(_VERSION, _COMMIT if commit else _ABORT)
    value = _VALUE.pack(_VERSION, coordinator_epoch)
    return build_batch(
        [(base_offset, timestamp, key, value, [])],
        base_offset=base_offset,
        leader_epoch=leader_epoch,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        transactional=True,
        control=True,
    )
