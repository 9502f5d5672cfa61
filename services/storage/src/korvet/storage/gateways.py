"""The registry of live gateways, which is what Metadata tells clients to connect to.

A registration lapses by Redis's own clock unless it is renewed. Two gateways with one
node id would send clients to the wrong one: the second is refused while the first lives,
unless it has the same address, and so must be the first one's next run.
"""

import json
import logging
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from typing import Final

from redis.asyncio import Redis

from korvet.kafka.errors import ErrorCode, KafkaError
from korvet.redis.keys import Keys
from korvet.storage.script_files import script

log = logging.getLogger(__name__)

_LONGEST_TTL_MS: Final = 10 * 60 * 1000
_LONGEST_TEXT: Final = 1000


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Gateway:
    node_id: int
    host: str
    port: int
    rack: str


class GatewayRegistry:
    """`live` is what this replica last heard of."""

    def __init__(self, redis: "Redis", keys: Keys) -> None:
        self._keys = keys
        self._register = script(redis, "register_gateway")
        self._unregister = script(redis, "unregister_gateway")
        self._live_gateways = script(redis, "live_gateways")
        self._listeners: list[Callable[[], None]] = []
        self.live: tuple[Gateway, ...] = ()

    def subscribe(self, listener: Callable[[], None]) -> None:
        """Call `listener` whenever `live` has changed."""
        self._listeners.append(listener)

    async def register(
        self, gateway: Gateway, *, incarnation: str, ttl_ms: int
    ) -> tuple[Gateway, ...]:
        """Register a gateway, or renew its registration; return all live ones."""
        _check(gateway, incarnation, ttl_ms)
        body = json.dumps(asdict(gateway) | {"incarnation": incarnation}, sort_keys=True)
        status, *bodies = await self._register(
            keys=[self._keys.gateways],
            args=[self._keys.changes, gateway.node_id, incarnation, ttl_ms, body],
        )
        if status == "DUPLICATE":
            [other] = _parse(bodies)
            raise KafkaError(
                ErrorCode.DUPLICATE_BROKER_REGISTRATION,
                f"Another live gateway has node id {gateway.node_id}: "
                f"{other.host}:{other.port}",
            )
        self._take(bodies)
        return self.live

    async def unregister(self, node_id: int, *, incarnation: str) -> None:
        """Withdraw a registration. One of another incarnation is left alone."""
        await self._unregister(
            keys=[self._keys.gateways], args=[self._keys.changes, node_id, incarnation]
        )
        await self.refresh()

    async def refresh(self) -> None:
        """Ask Redis who is live: the only way in which a lapse shows."""
        self._take(await self._live_gateways(keys=[self._keys.gateways]))

    def _take(self, bodies: Iterable[str]) -> None:
        live = tuple(sorted(_parse(bodies)))
        if live != self.live:
            self.live = live
            for listener in self._listeners:
                listener()


def _parse(bodies: Iterable[str]) -> list[Gateway]:
    gateways: list[Gateway] = []
    for body in bodies:
        try:
            fields = json.loads(body)
            # By name: a newer release may have written more than these.
            gateway = Gateway(
                node_id=int(fields["node_id"]),
                host=str(fields["host"]),
                port=int(fields["port"]),
                rack=str(fields["rack"]),
            )
        except (ValueError, TypeError, KeyError) as error:
            # What somebody has put there by hand must not stop the service.
            log.warning("%r does not describe a gateway: %r", body, error)
        else:
            gateways.append(gateway)
    return gateways


def _check(gateway: Gateway, incarnation: str, ttl_ms: int) -> None:
    problem = None
    if gateway.node_id < 0:
        problem = f"node id {gateway.node_id} is negative"
    elif not 0 < len(gateway.host) <= _LONGEST_TEXT or not 1 <= gateway.port <= 65535:
        problem = f"clients cannot connect to {gateway.host[:_LONGEST_TEXT]}:{gateway.port}"
    elif not 0 < len(incarnation) <= _LONGEST_TEXT or len(gateway.rack) > _LONGEST_TEXT:
        problem = "the incarnation is missing, or it or the rack is too long"
    elif not 1 <= ttl_ms <= _LONGEST_TTL_MS:
        problem = f"ttl_ms must be from 1 to {_LONGEST_TTL_MS}, not {ttl_ms}"
    if problem:
        raise KafkaError(ErrorCode.INVALID_REQUEST, problem)
