"""One read of one partition, and what transactions let it see."""

from korvet.client.connection import CALL_DEADLINE, Connection
from korvet.client.errors import ErrorCode, KorvetError
from korvet.client.model import ReadResult, Record
from korvet.proto.storage.v1 import storage_service_pb2 as pb


def isolation_level(committed: bool) -> "pb.IsolationLevel.ValueType":
    if committed:
        return pb.ISOLATION_LEVEL_READ_COMMITTED
    return pb.ISOLATION_LEVEL_READ_UNCOMMITTED


async def read(
    connection: Connection,
    wanted: pb.PartitionRead,
    *,
    max_wait: float,
    committed: bool,
) -> ReadResult:
    request = pb.ReadRequest(
        partitions=[wanted],
        max_wait_ms=int(max_wait * 1000),
        min_bytes=1,
        max_bytes=wanted.max_bytes,
        decoded=True,
        isolation_level=isolation_level(committed),
    )
    answer = await connection.ask(
        lambda stub: stub.Read(request, timeout=CALL_DEADLINE + max_wait)
    )
    (found,) = answer.partitions
    if found.error_code != ErrorCode.NONE:
        raise KorvetError(found.error_code, found.error_message)
    topic, partition = wanted.topic.name, wanted.partition
    return ReadResult(
        records=tuple(Record.from_proto(topic, partition, r) for r in found.records),
        next_offset=found.next_offset,
        high_watermark=found.high_watermark,
        log_start_offset=found.log_start_offset,
    )
