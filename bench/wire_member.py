"""Group members as light as they can be: bare requests on an asyncio connection each.

A client library's threads and buffers, two thousand times, would measure the client. These
join, sync, send heartbeats and join again when told; what the leader assigns means nothing.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Final

from bench.wire import Wire
from korvet.kafka.errors import ErrorCode
from korvet.kafka.messages.find_coordinator import (
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from korvet.kafka.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from korvet.kafka.messages.join_group import JoinGroupRequest, JoinGroupResponse
from korvet.kafka.messages.sync_group import SyncGroupRequest, SyncGroupResponse

HEARTBEAT_SECONDS: Final = 3.0
# As clients have it by default.
_SESSION_MS: Final = 45_000
_REBALANCE_MS: Final = 60_000
_SETTLE_DEADLINE: Final = 120.0
# Connections being opened at a time: a listener's queue is short.
_OPENING: Final = 50
_RETRY_AFTER: Final = 0.1
_JOIN_AGAIN: Final = (ErrorCode.REBALANCE_IN_PROGRESS, ErrorCode.ILLEGAL_GENERATION)
_NOT_YET: Final = (
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
)


class Member:
    """One member. `generation` is 0 while it has no part in one."""

    def __init__(self, wire: Wire, group: str, synced: asyncio.Event) -> None:
        self._wire = wire
        # Set each time it has found its place in a generation.
        self._synced = synced
        self.group = group
        self.member_id = ""
        self.generation = 0
        # How many the leader was told of; 0 at the others.
        self.led = 0
        self.joins = 0

    async def live(self, delay: float) -> None:
        """Join, then send heartbeats until cancelled."""
        loop = asyncio.get_running_loop()
        await self._join()
        due = loop.time() + delay
        while True:
            await asyncio.sleep(due - loop.time())
            due = max(due + HEARTBEAT_SECONDS, loop.time())
            beat = HeartbeatRequest(
                group_id=self.group,
                generation_id=self.generation,
                member_id=self.member_id,
            )
            response = await self._wire.call(beat, HeartbeatResponse, 4)
            code = ErrorCode(response.error_code)
            if code in _JOIN_AGAIN:
                await self._join()
            elif code is not ErrorCode.NONE:
                raise RuntimeError(f"{self.group}: a heartbeat was answered {code!r}")

    async def _join(self) -> None:
        self.generation = 0
        code = ErrorCode.REBALANCE_IN_PROGRESS
        while code is not ErrorCode.NONE:
            code = await self._join_once()
            if code in _NOT_YET:
                await asyncio.sleep(_RETRY_AFTER)
            elif code not in (*_JOIN_AGAIN, ErrorCode.NONE, ErrorCode.MEMBER_ID_REQUIRED):
                raise RuntimeError(f"{self.group}: joining was answered {code!r}")

    async def _join_once(self) -> ErrorCode:
        self.joins += 1
        protocol = JoinGroupRequest.JoinGroupRequestProtocol(name="range")
        join = JoinGroupRequest(
            group_id=self.group,
            session_timeout_ms=_SESSION_MS,
            rebalance_timeout_ms=_REBALANCE_MS,
            member_id=self.member_id,
            protocol_type="consumer",
            protocols=[protocol],
        )
        joined = await self._wire.call(join, JoinGroupResponse, 5)
        self.member_id = joined.member_id or self.member_id
        if joined.error_code:
            return ErrorCode(joined.error_code)
        self.led = len(joined.members)
        sync = SyncGroupRequest(
            group_id=self.group,
            generation_id=joined.generation_id,
            member_id=self.member_id,
            assignments=[
                SyncGroupRequest.SyncGroupRequestAssignment(
                    member_id=one.member_id, assignment=b"yours"
                )
                for one in joined.members
            ],
        )
        synced = await self._wire.call(sync, SyncGroupResponse, 3)
        if not synced.error_code:
            self.generation = joined.generation_id
            self._synced.set()
        return ErrorCode(synced.error_code)


@asynccontextmanager
async def settled_members(
    bootstrap: str, groups: Sequence[str], size: int
) -> AsyncIterator[list[Member]]:
    """Members of these groups, each group whole in one generation, all kept alive."""
    await _find_coordinators(bootstrap, groups)
    opening = asyncio.Semaphore(_OPENING)

    async def open_one() -> Wire:
        async with opening:
            return await Wire.open(bootstrap)

    count = len(groups) * size
    wires = await asyncio.gather(*(open_one() for _ in range(count)))
    synced = asyncio.Event()
    members = [Member(wire, groups[n // size], synced) for n, wire in enumerate(wires)]
    try:
        async with asyncio.TaskGroup() as tasks:
            lives = [
                tasks.create_task(member.live(number / count * HEARTBEAT_SECONDS))
                for number, member in enumerate(members)
            ]
            async with asyncio.timeout(_SETTLE_DEADLINE):
                while not _are_settled(members, size):
                    await synced.wait()
                    synced.clear()
            yield members
            for life in lives:
                life.cancel()
    finally:
        for wire in wires:
            wire.close()


def _are_settled(members: Sequence[Member], size: int) -> bool:
    for first in range(0, len(members), size):
        group = members[first : first + size]
        if len({member.generation for member in group}) > 1 or not group[0].generation:
            return False
        if max(member.led for member in group) < size:
            return False
    return True


async def _find_coordinators(bootstrap: str, groups: Sequence[str]) -> None:
    """As every client does first; Kafka then creates its topic of offsets."""
    wire = await Wire.open(bootstrap)
    try:
        async with asyncio.timeout(_SETTLE_DEADLINE):
            for group in groups:
                while True:
                    request = FindCoordinatorRequest(key=group)
                    found = await wire.call(request, FindCoordinatorResponse, 3)
                    if not found.error_code:
                        break
                    await asyncio.sleep(_RETRY_AFTER)
    finally:
        wire.close()
