"""Follows partitions for as long as the caller listens, over lost connections too.

Each partition has a stream of its own, so that each can go on at its own next offset after
a break: no record is left out, and none comes twice. The topic goes by its id, so that one
made again under its name is not taken for it.
"""

import asyncio
from collections.abc import AsyncGenerator, Mapping
from typing import Final

import grpc

from korvet.client.connection import Connection, heed_cancellation
from korvet.client.errors import RETRIABLE, ErrorCode, KorvetError, refusal
from korvet.client.model import Record
from korvet.client.persistence import Persistence
from korvet.proto.storage.v1 import storage_service_pb2 as pb

# Batches of records that wait for a slow caller, all partitions together.
_WAITING_BATCHES: Final = 16
_PAUSE: Final = 0.2
# Statuses after which it is worth while to connect again.
BROKEN: Final = frozenset(
    {
        grpc.StatusCode.UNAVAILABLE,
        grpc.StatusCode.CANCELLED,
        grpc.StatusCode.INTERNAL,
        grpc.StatusCode.DEADLINE_EXCEEDED,
    }
)


async def follow(
    connection: Connection,
    wanted: pb.TailRequest,
    starts: Mapping[int, int],
    retry_for: float,
) -> AsyncGenerator[Record, None]:
    """Yield the records of each partition from its start offset on, as they come.

    `wanted` says of which topic, and what of transactions.
    """
    queue: asyncio.Queue[list[Record] | Exception] = asyncio.Queue(_WAITING_BATCHES)
    tasks = [
        asyncio.create_task(
            _follow_partition(connection, wanted, partition, offset, retry_for, queue)
        )
        for partition, offset in starts.items()
    ]
    try:
        while True:
            batch = await queue.get()
            if isinstance(batch, Exception):
                raise batch
            for record in batch:
                yield record
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _follow_partition(
    connection: Connection,
    wanted: pb.TailRequest,
    partition: int,
    offset: int,
    retry_for: float,
    queue: asyncio.Queue[list[Record] | Exception],
) -> None:
    topic = wanted.topic
    loop = asyncio.get_running_loop()
    persistence = Persistence(retry_for)
    failure: Exception
    while True:
        request = pb.TailRequest(partitions=[partition], offset=offset)
        request.MergeFrom(wanted)
        persistence.opened(loop.time())
        try:
            async for answer in connection.stub.Tail(request):
                if answer.error_code != ErrorCode.NONE:
                    raise refusal(topic.name, answer.error_code, answer.error_message)
                offset = answer.next_offset
                persistence.heard()
                records = [
                    Record.from_proto(topic.name, partition, r) for r in answer.records
                ]
                if records:
                    await queue.put(records)
            # A storage that is told to stop ends its streams in good order.
            failure = connection.unavailable()
        except KorvetError as error:
            failure = error
            if error.code not in RETRIABLE:
                break
        except grpc.aio.AioRpcError as error:
            heed_cancellation()
            failure = connection.unavailable(error)
            if error.code() not in BROKEN:
                break
            connection.avoid_unreachable()
        except asyncio.CancelledError:
            heed_cancellation()
            failure = connection.unavailable()
        except Exception as error:  # noqa: BLE001
            # The channel was closed, say. Whoever waits for records must hear of it.
            failure = error
            break
        if persistence.is_over(loop.time()):
            break
        await asyncio.sleep(_PAUSE)
    await queue.put(failure)
