"""What members cost that do nothing but send heartbeats: CPU of the servers, in cores."""

import asyncio
import time
import uuid
from dataclasses import dataclass
from typing import Final

from bench.peer import Peer
from bench.processes import cpu_seconds
from bench.wire_member import HEARTBEAT_SECONDS, settled_members

# Those that serve groups, of either system.
_SERVERS: Final = ("gateway", "coordinator", "broker")


@dataclass(frozen=True, slots=True, kw_only=True)
class Idle:
    members: int
    seconds: float
    # By role, and of those together that serve groups.
    cores: dict[str, float]
    server_cores: float
    # Joins while it was measured: an idle group has none.
    joins: int


def idle(peer: Peer, groups: int, size: int, seconds: float) -> Idle:
    return asyncio.run(_idle(peer, groups, size, seconds))


async def _idle(peer: Peer, groups: int, size: int, seconds: float) -> Idle:
    names = [f"idle-{uuid.uuid4().hex[:12]}" for _ in range(groups)]
    async with settled_members(peer.bootstrap, names, size) as members:
        # What joining left to do is done, and everyone is in step.
        await asyncio.sleep(HEARTBEAT_SECONDS)
        joins = sum(member.joins for member in members)
        before, begun = cpu_seconds(peer.roles), time.monotonic()
        await asyncio.sleep(seconds)
        after, ended = cpu_seconds(peer.roles), time.monotonic()
        joins = sum(member.joins for member in members) - joins
    cores = {role: (after[role] - before[role]) / (ended - begun) for role in before}
    return Idle(
        members=len(members),
        seconds=ended - begun,
        cores=cores,
        server_cores=sum(cores.get(role, 0.0) for role in _SERVERS),
        joins=joins,
    )
