"""Where in a topic a moment is: its first record, its end, or a point in time."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final, Literal, TypeAlias

from korvet.client.connection import CALL_DEADLINE, Connection
from korvet.client.errors import ErrorCode, refusal
from korvet.proto.storage.v1 import storage_service_pb2 as pb

# A datetime without a time zone is local time, as everywhere in Python.
Moment: TypeAlias = Literal["earliest", "latest"] | datetime

_EARLIEST: Final = -2
_LATEST: Final = -1


def timestamp_ms(at: Moment) -> int:
    """The moment as the contract has it."""
    if isinstance(at, datetime):
        return int(at.timestamp() * 1000)
    return _EARLIEST if at == "earliest" else _LATEST


async def find_starts(
    connection: Connection, topic: pb.TopicRef, partitions: Sequence[int], start: Moment
) -> dict[int, int]:
    """The offset in each partition from which on everything is as late as that."""
    found = await find_offsets(connection, topic, partitions, start)
    if any(offset < 0 for offset in found):
        # No record is as late as that yet, so the first to come is the first wanted.
        ends = await find_offsets(connection, topic, partitions, "latest")
        found = [end if at < 0 else at for at, end in zip(found, ends, strict=True)]
    return dict(zip(partitions, found, strict=True))


async def find_offsets(
    connection: Connection, topic: pb.TopicRef, partitions: Sequence[int], at: Moment
) -> list[int]:
    """The first offset in each partition that is as late as that; -1: there is none."""
    request = pb.FindOffsetsRequest(
        positions=[
            pb.FindOffsetsRequest.Position(
                topic=topic,
                partition=partition,
                timestamp_ms=timestamp_ms(at),
            )
            for partition in partitions
        ]
    )
    answer = await connection.ask(
        lambda stub: stub.FindOffsets(request, timeout=CALL_DEADLINE)
    )
    for each in answer.found:
        if each.error_code != ErrorCode.NONE:
            raise refusal(topic.name, each.error_code, each.error_message)
    return [each.offset for each in answer.found]
