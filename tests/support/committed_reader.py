"""Reads a partition as Kafka's consumers with isolation.level=read_committed do."""

from collections.abc import Iterable

from korvet.kafka.errors import ErrorCode
from korvet.kafka.records import Record, read_records, split_batches
from korvet.proto.storage.v1 import storage_service_pb2 as pb
from tests.support.log_replica import LogReplica

_ABORT_KEY = b"\0\0\0\0"


def visible(
    batches: bytes, aborted: Iterable[pb.AbortedTransaction], from_offset: int
) -> list[Record]:
    """What such a consumer hands out of a fetch's answer."""
    waiting = sorted(aborted, key=lambda each: each.first_offset)
    aborting: set[int] = set()
    records: list[Record] = []
    for header, view in split_batches(batches):
        while waiting and waiting[0].first_offset <= header.last_offset:
            aborting.add(waiting.pop(0).producer_id)
        found = read_records(bytes(view), 1 << 30)
        if header.is_control:
            if found[0].key == _ABORT_KEY:
                aborting.discard(header.producer_id)
        elif not (header.is_transactional and header.producer_id in aborting):
            records += [record for record in found if record.offset >= from_offset]
    return records


async def read_committed(
    replica: LogReplica, offset: int = 0, *, partition: int = 0, max_bytes: int = 1 << 20
) -> list[Record]:
    """Everything from an offset to the last stable one, fetch by fetch."""
    records: list[Record] = []
    while True:
        data = await replica.read(
            offset, partition=partition, max_bytes=max_bytes, committed=True
        )
        assert data.error_code == ErrorCode.NONE, data
        if not data.batches:
            return records
        records += visible(data.batches, data.aborted_transactions, offset)
        assert offset < data.next_offset <= data.last_stable_offset
        offset = data.next_offset
