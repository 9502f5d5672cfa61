"""How much of Redis's memory a record takes, as a multiple of its key, value and headers.

Batches of a chosen size are sent as bare requests, since a client's batches end where its
clock says. Redis's own count of the memory in use is read before and after, without the
buffers of its connections and of its append-only file.
"""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import psutil
from redis import Redis

from bench import records
from bench.peer import Peer
from bench.wire import Wire
from korvet.kafka.messages.produce import ProduceRequest, ProduceResponse
from korvet.kafka.records import Record, build_batch

_PRODUCE_VERSION: Final = 9
_SETTLE_DEADLINE: Final = 10.0
_LOOK_AGAIN: Final = 0.2
# What a record costs in a batch besides key and value, at most: to fill a batch to its size
# without ever passing it.
_RECORD_OVERHEAD: Final = 12
_BATCH_OVERHEAD: Final = 61
_TIMESTAMP: Final = 1_790_000_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Footprint:
    batch_bytes: int
    records_a_batch: int
    records: int
    payload_mb: float
    # Bytes in Redis for each byte of payload, and for each record.
    share: float
    bytes_a_record: float


def footprint(
    peer: Peer, batch_bytes: int, payload_bytes: int, size: int, key_size: int
) -> Footprint:
    """Send records in batches of just under `batch_bytes` to a topic of their own."""
    a_batch = (batch_bytes - _BATCH_OVERHEAD) // (size + key_size + _RECORD_OVERHEAD)
    batches = max(1, payload_bytes // (a_batch * (size + key_size)))
    count = a_batch * batches
    payload = count * (size + key_size)
    with Redis(port=_port(peer)) as redis, peer.topic() as topic:
        before = _settled_memory(redis)
        asyncio.run(_send(peer.bootstrap, topic, a_batch, batches, size, key_size))
        taken = _settled_memory(redis) - before
    return Footprint(
        batch_bytes=batch_bytes,
        records_a_batch=a_batch,
        records=count,
        payload_mb=payload / 1e6,
        share=taken / payload,
        bytes_a_record=taken / count,
    )


async def _send(
    bootstrap: str, topic: str, a_batch: int, batches: int, size: int, key_size: int
) -> None:
    wire = await Wire.open(bootstrap)
    try:
        for first in range(0, a_batch * batches, a_batch):
            numbers = range(first, first + a_batch)
            await _append(wire, topic, _batch(numbers, size, key_size))
    finally:
        wire.close()


def _batch(numbers: Sequence[int], size: int, key_size: int) -> bytes:
    made = [
        Record(
            place,
            _TIMESTAMP + place,
            records.key(number, key_size) if key_size else None,
            records.value(number, size),
            [],
        )
        for place, number in enumerate(numbers)
    ]
    return build_batch(made, base_offset=0, leader_epoch=-1, codec=0)


async def _append(wire: Wire, topic: str, batch: bytes) -> None:
    partition = ProduceRequest.PartitionProduceData(index=0, records=batch)
    request = ProduceRequest(
        acks=-1,
        timeout_ms=30_000,
        topic_data=[
            ProduceRequest.TopicProduceData(name=topic, partition_data=[partition])
        ],
    )
    response = await wire.call(request, ProduceResponse, _PRODUCE_VERSION)
    if code := response.responses[0].partition_responses[0].error_code:
        raise RuntimeError(f"a batch was answered {code}")


def _port(peer: Peer) -> int:
    """Where the embedded Redis listens for people."""
    (pid,) = peer.roles["redis"]
    return next(
        one.laddr.port
        for one in psutil.Process(pid).net_connections("inet4")
        if one.status == psutil.CONN_LISTEN
    )


def _settled_memory(redis: Redis) -> int:
    """What Redis holds once it holds the same at two looks."""
    deadline = time.monotonic() + _SETTLE_DEADLINE
    last = _memory(redis)
    while time.monotonic() < deadline:
        time.sleep(_LOOK_AGAIN)
        now = _memory(redis)
        if now == last:
            break
        last = now
    return last


def _memory(redis: Redis) -> int:
    info = redis.info("memory")
    return int(info["used_memory"] - info["mem_aof_buffer"] - info["mem_clients_normal"])
