"""What it costs a server that much else is there: topics, and connections without work."""

import asyncio
import time
import uuid
from dataclasses import dataclass
from statistics import median
from typing import Final

from bench.peer import Peer
from bench.processes import cpu_seconds, rss_mb
from bench.wire import Wire
from korvet.kafka.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from korvet.kafka.messages.metadata import MetadataRequest, MetadataResponse

# Of those that clients connect to, in either system.
_SERVERS: Final = ("gateway", "broker")
_METADATA_VERSION: Final = 9
_API_VERSIONS_VERSION: Final = 3
_ASKED: Final = 15
# Connections being opened at a time: a listener's queue is short.
_OPENING: Final = 50
_SETTLE_SECONDS: Final = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Metadata:
    """A request for all topics, from sent to the answer's last byte."""

    topics: int
    partitions: int
    answer_mb: float
    median_ms: float
    max_ms: float


@dataclass(frozen=True, slots=True, kw_only=True)
class IdleConnections:
    connections: int
    seconds: float
    # Of the process that clients connect to, more than before they came.
    server_mb: float
    # Of that process, while they did nothing, and of all by role.
    server_cores: float
    cores: dict[str, float]


def create_topics(
    peer: Peer, topics: int, partitions: int
) -> tuple[tuple[str, ...], float]:
    """So many topics, which end with their server; how long until clients are told."""
    names = tuple(f"crowd-{uuid.uuid4().hex[:12]}" for _ in range(topics))
    begun = time.perf_counter()
    peer.create(names, partitions)
    return names, time.perf_counter() - begun


def metadata(peer: Peer) -> Metadata:
    """Ask for all topics several times."""
    return asyncio.run(_metadata(peer.bootstrap))


async def _metadata(bootstrap: str) -> Metadata:
    everything = MetadataRequest(topics=None)
    wire = await Wire.open(bootstrap)
    try:
        seconds = []
        for _ in range(_ASKED):
            sent = time.perf_counter()
            answer = await wire.exchange(everything, _METADATA_VERSION)
            seconds.append(time.perf_counter() - sent)
        told = await wire.call(everything, MetadataResponse, _METADATA_VERSION)
    finally:
        wire.close()
    return Metadata(
        topics=len(told.topics),
        partitions=sum(len(topic.partitions) for topic in told.topics),
        answer_mb=len(answer) / 1e6,
        median_ms=median(seconds) * 1e3,
        max_ms=max(seconds) * 1e3,
    )


def idle_connections(peer: Peer, count: int, seconds: float) -> IdleConnections:
    """Open connections that ask for ApiVersions, as every client does, and then nothing."""
    return asyncio.run(_idle_connections(peer, count, seconds))


async def _idle_connections(peer: Peer, count: int, seconds: float) -> IdleConnections:
    (server,) = (role for role in _SERVERS if role in peer.roles)
    rss_before = rss_mb(peer.roles)[server]
    opening = asyncio.Semaphore(_OPENING)

    async def open_one() -> Wire:
        async with opening:
            wire = await Wire.open(peer.bootstrap)
            asked = ApiVersionsRequest(client_software_name="idle")
            await wire.call(asked, ApiVersionsResponse, _API_VERSIONS_VERSION)
            return wire

    wires = await asyncio.gather(*(open_one() for _ in range(count)))
    try:
        await asyncio.sleep(_SETTLE_SECONDS)
        before, begun = cpu_seconds(peer.roles), time.monotonic()
        await asyncio.sleep(seconds)
        after, ended = cpu_seconds(peer.roles), time.monotonic()
        rss_after = rss_mb(peer.roles)[server]
    finally:
        for wire in wires:
            wire.close()
    cores = {role: (after[role] - before[role]) / (ended - begun) for role in before}
    return IdleConnections(
        connections=len(wires),
        seconds=ended - begun,
        server_mb=rss_after - rss_before,
        server_cores=cores[server],
        cores=cores,
    )
