"""A call that names far too many partitions is refused before it takes any memory."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from korvet.proto.storage.v1 import storage_service_pb2 as pb
from korvet.redis.failures import InvalidRequestError
from korvet.storage.append_calls import AppendCalls
from korvet.storage.lookup_calls import LookupCalls
from korvet.storage.read_calls import ReadCalls
from korvet.storage.request_limits import MAX_PARTITIONS

# What is refused at once reaches nothing that it would be carried out with.
NOTHING: Any = None
APPENDS = AppendCalls(NOTHING, NOTHING)
READS = ReadCalls(NOTHING, NOTHING, NOTHING)
LOOKUPS = LookupCalls(NOTHING, NOTHING, NOTHING, NOTHING)

TOO_MANY = MAX_PARTITIONS + 1
APPEND = pb.AppendRequest(partitions=[pb.PartitionAppend()] * TOO_MANY)
READ = pb.ReadRequest(partitions=[pb.PartitionRead()] * TOO_MANY)


async def only(frame: Any) -> AsyncIterator[Any]:
    yield frame


async def test_an_append_or_a_read_of_too_many_partitions_is_refused() -> None:
    with pytest.raises(InvalidRequestError):
        await APPENDS.append(APPEND)
    with pytest.raises(InvalidRequestError):
        await READS.read(READ)


async def test_on_a_stream_such_a_call_ends_the_stream() -> None:
    append = pb.AppendFrame(calls=[pb.AppendCall(call=1, request=APPEND)])
    with pytest.raises(InvalidRequestError):
        await APPENDS.append_stream(only(append), NOTHING)
    read = pb.ReadFrame(calls=[pb.ReadCall(call=1, request=READ)])
    with pytest.raises(InvalidRequestError):
        await READS.read_stream(only(read), NOTHING)


async def test_lookups_of_too_many_positions_are_refused() -> None:
    with pytest.raises(InvalidRequestError):
        await LOOKUPS.find_offsets(
            pb.FindOffsetsRequest(positions=[pb.FindOffsetsRequest.Position()] * TOO_MANY)
        )
    selection = pb.DescribeLogsRequest.Selection(partitions=[0] * TOO_MANY)
    with pytest.raises(InvalidRequestError):
        await LOOKUPS.describe_logs(pb.DescribeLogsRequest(topics=[selection]), ())
