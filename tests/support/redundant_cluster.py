"""Two of every service, for tests that kill them under running clients."""

from pathlib import Path

from tests.support.korvet_process import KorvetCluster


def redundant_cluster(folder: Path) -> KorvetCluster:
    """Not started yet."""
    cluster = KorvetCluster(folder, storages=2, coordinators=2, gateways=2)
    for coordinator in cluster.coordinators:
        coordinator.environ["KORVET_COORDINATOR_LEASE_MS"] = "1000"
    for gateway in cluster.gateways:
        # A killed gateway is back before Metadata is without it. librdkafka, once it has
        # forgotten a broker, waits for ever for the coordinator that this was (its #5511).
        gateway.environ["KORVET_GATEWAY_BROKER_SESSION_TIMEOUT_MS"] = "30000"
        # So long do they wait for a coordinator that hangs.
        gateway.environ["KORVET_GATEWAY_COORDINATOR_DEADLINE_SECONDS"] = "1"
    return cluster
