"""The markers that end transactions."""

import pytest
from aiokafka.record.control_record import ABORT_MARKER, COMMIT_MARKER, ControlRecord
from aiokafka.record.default_records import DefaultRecordBatch

from korvet.kafka.control_records import MARKER_SIZE, build_marker
from korvet.kafka.records import read_header, read_records


@pytest.mark.parametrize(
    ("commit", "expected"), [(True, COMMIT_MARKER), (False, ABORT_MARKER)]
)
def test_another_codec_reads_what_the_marker_says(
    commit: bool, expected: ControlRecord
) -> None:
    marker = build_marker(
        base_offset=77,
        leader_epoch=3,
        timestamp=1_700_000_000_000,
        producer_id=12,
        producer_epoch=5,
        coordinator_epoch=9,
        commit=commit,
    )

    header, (record,) = read_header(marker), read_records(marker, 1000)
    batch = DefaultRecordBatch(marker)
    assert batch.validate_crc()
    assert (batch.is_control_batch, batch.is_transactional) == (True, True)
    assert ControlRecord.parse(record.key) == expected
    assert record.value == b"\0\0\0\0\0\x09"
    assert (record.offset, record.timestamp) == (77, 1_700_000_000_000)
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (12, 5, -1)
    assert header.partition_leader_epoch == 3
    assert len(marker) == MARKER_SIZE
