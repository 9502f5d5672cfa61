"""Keeps this gateway among the live ones, and its view of the cluster up to date.

Two loops that outlive any storage replica: one follows the cluster's changes, one renews
this gateway's registration before it lapses.
"""

import asyncio
import logging
import uuid
from collections.abc import AsyncIterator, Iterable
from typing import Final, Protocol

from korvet.gateway.cluster import Broker, Cluster
from korvet.kafka.errors import ErrorCode, KafkaError
from korvet.proto.storage.v1 import storage_service_pb2 as pb

log = logging.getLogger(__name__)

_PAUSE: Final = 0.5
# A storage that is just starting is waited for; one that stays away is not.
_FIRST_PAUSE: Final = 0.1
_FIRST_ATTEMPTS: Final = 50
_RENEWALS_PER_SESSION: Final = 3


class Registry(Protocol):
    """What membership uses of StorageService."""

    def watch_cluster(self) -> AsyncIterator[pb.ClusterUpdate]: ...

    async def register_gateway(
        self, request: pb.RegisterGatewayRequest
    ) -> pb.RegisterGatewayResponse: ...

    async def unregister_gateway(
        self, request: pb.UnregisterGatewayRequest
    ) -> pb.UnregisterGatewayResponse: ...


class NodeIdTakenError(Exception):
    """Another live gateway has this node id."""


class Membership:
    def __init__(
        self,
        registry: Registry,
        cluster: Cluster,
        broker: Broker,
        *,
        session_timeout: float,
        incarnation: str | None = None,
    ) -> None:
        self._registry = registry
        self._cluster = cluster
        self._broker = broker
        self._session_timeout = session_timeout
        self._incarnation = incarnation or str(uuid.uuid4())
        # Why the last attempt failed; empty where it did not.
        self._failure = ""

    async def join(self) -> None:
        """Register for the first time, or raise NodeIdTakenError.

        A storage that cannot be reached does not keep a gateway from starting: it answers
        what it can, and is registered as soon as that is possible.
        """
        for _ in range(_FIRST_ATTEMPTS):
            if await self._register():
                return
            await asyncio.sleep(_FIRST_PAUSE)
        log.warning("this gateway starts without being registered: %s", self._failure)

    async def stay(self) -> None:
        """Renew the registration until cancelled."""
        while True:
            await asyncio.sleep(
                _PAUSE if self._failure else self._session_timeout / _RENEWALS_PER_SESSION
            )
            failure_before = self._failure
            try:
                await self._register()
            except NodeIdTakenError as error:
                # It took the id while this gateway could not renew its registration.
                self._failure = str(error)
            if self._failure and not failure_before:
                log.warning("this gateway is not registered any more: %s", self._failure)
            elif failure_before and not self._failure:
                log.info("this gateway is registered")

    async def leave(self) -> None:
        """Withdraw the registration, so that clients are no longer sent here."""
        try:
            await self._registry.unregister_gateway(
                pb.UnregisterGatewayRequest(
                    node_id=self._broker.node_id, incarnation=self._incarnation
                )
            )
        except KafkaError as error:
            log.warning("the registration stays until it lapses: %s", error)

    async def follow(self) -> None:
        """Keep the cluster's view up to date until cancelled."""
        while True:
            try:
                async for update in self._registry.watch_cluster():
                    self._cluster.apply_update(update)
            except KafkaError as error:
                log.debug("the cluster cannot be followed: %s", error)
            self._cluster.lost_touch()
            await asyncio.sleep(_PAUSE)

    async def _register(self) -> bool:
        broker = self._broker
        try:
            answer = await self._registry.register_gateway(
                pb.RegisterGatewayRequest(
                    gateway=pb.Gateway(
                        node_id=broker.node_id,
                        host=broker.host,
                        port=broker.port,
                        rack=broker.rack or "",
                    ),
                    incarnation=self._incarnation,
                    ttl_ms=int(self._session_timeout * 1000),
                )
            )
        except KafkaError as error:
            self._failure = str(error)
            return False
        self._failure = ""
        if answer.error_code == ErrorCode.DUPLICATE_BROKER_REGISTRATION:
            raise self._taken(answer.gateways)
        if answer.error_code:
            self._failure = answer.error_message or ErrorCode(answer.error_code).name
            return False
        self._cluster.set_gateways(answer.gateways)
        return True

    def _taken(self, gateways: Iterable[pb.Gateway]) -> NodeIdTakenError:
        node_id = self._broker.node_id
        holders = [
            f"at {gateway.host}:{gateway.port}, "
            for gateway in gateways
            if gateway.node_id == node_id
        ]
        return NodeIdTakenError(
            f"another live gateway, {''.join(holders)}has node id {node_id}; "
            "give this one another (KORVET_GATEWAY_NODE_ID), "
            f"or wait {self._session_timeout:.0f} s if that one was just stopped"
        )
