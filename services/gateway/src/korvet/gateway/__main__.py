"""Runs a gateway: settings, services, cluster, server; and all of it backwards at the end.

The only module that reads the environment.
"""

import asyncio
import logging
import os
import socket
import sys
from collections.abc import Sequence

from korvet.gateway.broker_configs import advertised, broker_configs
from korvet.gateway.cluster import Broker, Cluster
from korvet.gateway.connection import Limits
from korvet.gateway.coordinator_client import CoordinatorClient
from korvet.gateway.coordinator_link import CoordinatorLink
from korvet.gateway.handler import Node
from korvet.gateway.handlers import HANDLERS
from korvet.gateway.membership import Membership, NodeIdTakenError
from korvet.gateway.request_metrics import observing
from korvet.gateway.server import KafkaServer, bind
from korvet.gateway.service_links import ServiceLinks
from korvet.gateway.settings import GatewaySettings
from korvet.gateway.storage_client import StorageClient
from korvet.gateway.storage_link import StorageLink
from korvet.gateway.transaction_client import TransactionClient
from korvet.gateway.transaction_joins import TransactionJoins
from korvet.runtime import logs, process, telemetry
from korvet.runtime.grpc_server import ListenError
from korvet.runtime.metrics_server import with_metrics
from korvet.runtime.settings import load

log = logging.getLogger("korvet.gateway")


async def serve(
    settings: GatewaySettings, sockets: Sequence[socket.socket], stop: asyncio.Event
) -> None:
    """Run a gateway until `stop` is set, then let its clients finish."""
    port = sockets[0].getsockname()[1]
    host, advertised_port = advertised(settings, port)
    broker = Broker(settings.node_id, host, advertised_port, settings.rack or None)
    storages = ServiceLinks(settings.storage_address, StorageLink)
    storage = StorageClient(storages, deadline=settings.storage_deadline_seconds)
    coordinators = ServiceLinks(settings.coordinator_address, CoordinatorLink)
    coordinator = CoordinatorClient(
        coordinators, deadline=settings.coordinator_deadline_seconds
    )
    transactions = TransactionClient(
        coordinators, deadline=settings.coordinator_deadline_seconds
    )
    cluster = Cluster(broker, storage)
    membership = Membership(
        storage,
        cluster,
        broker,
        session_timeout=settings.broker_session_timeout_ms / 1000,
    )
    node = Node(
        node_id=settings.node_id,
        storage=storage,
        coordinator=coordinator,
        transactions=transactions,
        joins=TransactionJoins(transactions),
        cluster=cluster,
        auto_create_topics_enable=settings.auto_create_topics_enable,
        broker_configs=broker_configs(settings, port),
        apis=[handler.advertised for handler in HANDLERS],
    )
    server = KafkaServer(
        node=node,
        handlers=HANDLERS,
        limits=Limits(
            max_request_bytes=settings.max_request_bytes,
            max_requests_in_flight=settings.max_requests_in_flight,
            max_request_bytes_in_flight=settings.max_request_bytes_in_flight,
            fetch_max_bytes=settings.fetch_max_bytes,
        ),
        max_connections=settings.max_connections,
        max_idle=settings.connections_max_idle_ms / 1000,
        max_request_bytes=settings.queued_max_request_bytes,
        max_fetch_bytes=settings.max_fetch_bytes_in_memory,
    )
    async with asyncio.TaskGroup() as group:
        background = [
            group.create_task(storages.run()),
            group.create_task(coordinators.run()),
            group.create_task(membership.follow()),
            group.create_task(server.close_idle()),
        ]
        await membership.join()
        staying = group.create_task(membership.stay())
        await server.start(sockets)
        log.info(
            "listening on %s:%d as node %d, advertised as %s:%d",
            settings.listen_host,
            port,
            settings.node_id,
            host,
            advertised_port,
        )
        if not settings.coordinator_address:
            log.warning(
                "no coordinator address is set: there are neither groups nor transactions"
            )
        with observing(server, {"storage": storages, "coordinator": coordinators}):
            await stop.wait()
        log.info("draining")
        staying.cancel()
        await membership.leave()
        coordinator.stop_waiting()
        await server.drain(settings.drain_seconds)
        for task in background:
            task.cancel()
    log.info("stopped")


def main() -> None:
    settings = load(GatewaySettings, os.environ)
    logs.configure("gateway", style=settings.log_style, level=settings.log_level)
    try:
        sockets = bind(settings.listen_host, settings.listen_port)
    except OSError as error:
        where = f"{settings.listen_host}:{settings.listen_port}"
        sys.exit(f"cannot listen on {where}: {error.strerror}")
    refusal = ""
    try:
        with telemetry.exporting("gateway", os.environ):
            process.run(
                with_metrics(
                    settings.metrics_address, lambda stop: serve(settings, sockets, stop)
                )
            )
    except* (NodeIdTakenError, ListenError) as group:
        # Not left from here: older Pythons 3.11 put even SystemExit into a group.
        refusal = str(group.exceptions[0])
    if refusal:
        sys.exit(refusal)


if __name__ == "__main__":
    main()
