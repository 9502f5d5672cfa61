"""Offset commits a second: members that each commit, wait for the answer, commit the next.

The requests are one frame each with another offset written into it, and an answer is
compared with the first, so that the client costs as little as it can on cores that it
shares with the servers.
"""

import asyncio
import struct
import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from bench.paced import Latency, latency_of
from bench.peer import Peer
from bench.stopwatch import Stopwatch
from bench.wire import Wire
from bench.wire_member import Member, settled_members
from korvet.kafka.frames import decode_response, encode_request
from korvet.kafka.messages.offset_commit import OffsetCommitRequest, OffsetCommitResponse
from korvet.kafka.messages.offset_fetch import OffsetFetchRequest, OffsetFetchResponse

_VERSION: Final = 8
_FETCH_VERSION: Final = 8
# Where the frame has it, and nowhere else.
_PLACE: Final = struct.pack(">q", 0x5AFE_0FF5_E75A_FE00)
_FIRST: Final = 1000
_ANSWER_DEADLINE: Final = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Commits:
    members: int
    commits: int
    rate: float
    latency: Latency
    cpu_us: dict[str, float]
    client_busy: float
    # Partitions whose offset, read afterwards, is not the one acknowledged last.
    lost: int


def commit(peer: Peer, members: int, seconds: float) -> Commits:
    with peer.topic(members) as topic:
        return asyncio.run(_commit(peer, topic, members, seconds))


async def _commit(peer: Peer, topic: str, count: int, seconds: float) -> Commits:
    group = f"commits-{uuid.uuid4().hex[:12]}"
    async with settled_members(peer.bootstrap, [group], count) as members:
        committers = [
            _Committer(_frame(member, topic, number))
            for number, member in enumerate(members)
        ]
        for one in committers:
            await one.connect(peer.bootstrap)
        with Stopwatch(peer.roles) as watch:
            until = time.perf_counter() + seconds
            for one in committers:
                one.start(until)
            async with asyncio.timeout(seconds + _ANSWER_DEADLINE):
                await asyncio.gather(*(one.done for one in committers))
        found = await _committed(peer.bootstrap, group, topic, count)
    latencies = [each for one in committers for each in one.latencies]
    return Commits(
        members=count,
        commits=len(latencies),
        rate=len(latencies) / watch.seconds,
        latency=latency_of(latencies),
        cpu_us=watch.cpu_us(len(latencies)),
        client_busy=watch.client_busy,
        lost=sum(
            one.acknowledged != there for one, there in zip(committers, found, strict=True)
        ),
    )


class _Committer(asyncio.Protocol):
    """Commits 1000, 1001 … until its time is up, each after the answer to the last."""

    def __init__(self, frame: bytes) -> None:
        self._frame = bytearray(frame)
        self._place = frame.index(_PLACE)
        self._next = _FIRST
        self._until = 0.0
        self._sent = 0.0
        self._answer = b""
        self._expected = b""
        self._transport: asyncio.Transport | None = None
        self.latencies: list[float] = []
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    @property
    def acknowledged(self) -> int:
        return self._next - 1

    async def connect(self, bootstrap: str) -> None:
        host, _, port = bootstrap.rpartition(":")
        loop = asyncio.get_running_loop()
        await loop.create_connection(lambda: self, host, int(port))

    def start(self, until: float) -> None:
        self._until = until
        self._send()

    def _send(self) -> None:
        assert self._transport is not None
        struct.pack_into(">q", self._frame, self._place, self._next)
        self._sent = time.perf_counter()
        self._transport.write(bytes(self._frame))

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def connection_lost(self, error: Exception | None) -> None:
        if not self.done.done():
            self.done.set_exception(error or ConnectionError("hung up"))

    def data_received(self, data: bytes) -> None:
        now = time.perf_counter()
        self._answer += data
        if len(self._answer) < 4:
            return
        if len(self._answer) < 4 + int.from_bytes(self._answer[:4]):
            return
        if not self._expected:
            self._expected = _accepted(self._answer)
        if self._answer != self._expected:
            _accepted(self._answer)
        self._answer = b""
        self.latencies.append(now - self._sent)
        self._next += 1
        if now < self._until:
            self._send()
        else:
            self.done.set_result(None)
            assert self._transport is not None
            self._transport.close()


def _accepted(answer: bytes) -> bytes:
    """The answer, if it is one that says yes."""
    _, response = decode_response(answer[4:], OffsetCommitResponse, _VERSION)
    code = response.topics[0].partitions[0].error_code
    if code:
        raise RuntimeError(f"a commit was answered {code}")
    return answer


def _frame(member: Member, topic: str, partition: int) -> bytes:
    (place,) = struct.unpack(">q", _PLACE)
    request = OffsetCommitRequest(
        group_id=member.group,
        generation_id_or_member_epoch=member.generation,
        member_id=member.member_id,
        topics=[
            OffsetCommitRequest.OffsetCommitRequestTopic(
                name=topic,
                partitions=[
                    OffsetCommitRequest.OffsetCommitRequestPartition(
                        partition_index=partition, committed_offset=place
                    )
                ],
            )
        ],
    )
    return bytes(encode_request(1, request, _VERSION, "bench"))


async def _committed(bootstrap: str, group: str, topic: str, count: int) -> Sequence[int]:
    """What the group has committed, by partition."""
    wanted = OffsetFetchRequest.OffsetFetchRequestTopics(
        name=topic, partition_indexes=list(range(count))
    )
    request = OffsetFetchRequest(
        groups=[OffsetFetchRequest.OffsetFetchRequestGroup(group_id=group, topics=[wanted])]
    )
    wire = await Wire.open(bootstrap)
    try:
        response = await wire.call(request, OffsetFetchResponse, _FETCH_VERSION)
    finally:
        wire.close()
    partitions = response.groups[0].topics[0].partitions
    return [
        one.committed_offset for one in sorted(partitions, key=lambda p: p.partition_index)
    ]
