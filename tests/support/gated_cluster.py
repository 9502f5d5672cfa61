"""A Korvet with gates, so that its processes can be killed between any two steps."""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from korvet.cli.plan import free_port
from tests.support.gate import Gate, gate_before
from tests.support.korvet_process import KorvetCluster


@dataclass(frozen=True, slots=True, kw_only=True)
class GatedCluster:
    """One of each, and a second gateway, which has no gate."""

    korvet: KorvetCluster
    # Each on the way from it to Redis.
    storage_gate: Gate
    coordinator_gate: Gate
    # From the first one to storage.
    gateway_gate: Gate

    def open(self) -> None:
        for gate in (self.storage_gate, self.coordinator_gate, self.gateway_gate):
            gate.open()

    def restart(self, *kinds: str) -> None:
        """As by kill -9: all dead at once, before the first one is back."""
        victims = [getattr(self.korvet, kind)[0] for kind in kinds]
        for victim in victims:
            victim.kill()
        for victim in victims:
            victim.start()


@contextlib.contextmanager
def gated_cluster(folder: Path) -> Iterator[GatedCluster]:
    korvet = KorvetCluster(folder, gateways=2)
    (storage,), (coordinator,) = korvet.storages, korvet.coordinators
    stream_port = free_port()
    storage.environ["KORVET_STORAGE_STREAM_PORT"] = str(stream_port)
    to_storage = "KORVET_GATEWAY_STORAGE_ADDRESS"
    with (
        gate_before(storage, "KORVET_STORAGE_REDIS_URL") as storage_gate,
        gate_before(coordinator, "KORVET_COORDINATOR_REDIS_URL") as coordinator_gate,
        gate_before(
            korvet.gateways[0], to_storage, stream_port=stream_port
        ) as gateway_gate,
        korvet,
    ):
        yield GatedCluster(
            korvet=korvet,
            storage_gate=storage_gate,
            coordinator_gate=coordinator_gate,
            gateway_gate=gateway_gate,
        )
