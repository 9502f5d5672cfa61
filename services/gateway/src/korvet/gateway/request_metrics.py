"""What a gateway tells of itself: its connections, memory, and links to other services."""

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any, Final

from korvet.gateway.server import KafkaServer
from korvet.gateway.service_links import ServiceLinks
from korvet.runtime import metrics, process_metrics

_connections: Final = metrics.gauge(
    "korvet.gateway.connections",
    unit="{connection}",
    description="Open connections of Kafka clients.",
)
_active: Final = metrics.gauge(
    "korvet.gateway.requests.active",
    unit="{request}",
    description="Requests under way, fetches and joins that wait included.",
)
_memory: Final = metrics.gauge(
    "korvet.gateway.memory",
    unit="By",
    description="Bytes that requests and answers have in memory: of requests under way"
    " (request), of those that have not wholly arrived (buffered), of fetches' answers"
    " (fetch).",
    attributes=("korvet.memory.kind",),
)
_links: Final = metrics.gauge(
    "korvet.gateway.links",
    unit="{replica}",
    description="Replicas of storage and coordinator to which a stream is live.",
    attributes=("korvet.service",),
)


@contextlib.contextmanager
def observing(
    server: KafkaServer, links: Mapping[str, ServiceLinks[Any]]
) -> Iterator[None]:
    """Have all of it told, for as long as the server serves."""

    def look() -> None:
        _connections.of().value = server.connections
        _active.of().value = server.requests_under_way
        _memory.of("request").value = server.request_bytes
        _memory.of("buffered").value = server.buffered_bytes
        _memory.of("fetch").value = server.fetch_bytes
        for service, replicas in links.items():
            live = sum(link.is_live for link in replicas.all)
            _links.of(service).value = live

    with metrics.REGISTRY.observing(look):
        process_metrics.set_ready(True)
        try:
            yield
        finally:
            process_metrics.set_ready(False)
