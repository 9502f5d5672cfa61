import asyncio
from collections.abc import AsyncIterator

import pytest

from korvet.gateway.cluster import Broker, Cluster
from korvet.gateway.membership import Membership, NodeIdTakenError
from korvet.kafka.errors import ErrorCode, KafkaError
from korvet.proto.storage.v1 import storage_service_pb2 as pb
from tests.support.fake_storage import FakeStorage
from tests.support.kafka_client import settle

THIS = Broker(1, "here", 9092, "rack-a")


class FakeRegistry:
    """Storage's registry of gateways, with others in it as a test wants."""

    def __init__(self) -> None:
        self.registered: list[pb.RegisterGatewayRequest] = []
        self.unregistered: list[pb.UnregisterGatewayRequest] = []
        self.answer = pb.RegisterGatewayResponse()
        self.is_away = False
        self.updates: asyncio.Queue[pb.ClusterUpdate | KafkaError] = asyncio.Queue(10)
        self.watches = 0

    async def register_gateway(
        self, request: pb.RegisterGatewayRequest
    ) -> pb.RegisterGatewayResponse:
        self.registered.append(request)
        self._check()
        return self.answer

    async def unregister_gateway(
        self, request: pb.UnregisterGatewayRequest
    ) -> pb.UnregisterGatewayResponse:
        self._check()
        self.unregistered.append(request)
        return pb.UnregisterGatewayResponse()

    async def watch_cluster(self) -> AsyncIterator[pb.ClusterUpdate]:
        self.watches += 1
        while True:
            update = await self.updates.get()
            if isinstance(update, KafkaError):
                raise update
            yield update

    def _check(self) -> None:
        if self.is_away:
            raise KafkaError(ErrorCode.REQUEST_TIMED_OUT, "away")


@pytest.fixture
def registry() -> FakeRegistry:
    return FakeRegistry()


@pytest.fixture
def cluster() -> Cluster:
    return Cluster(THIS, FakeStorage())


@pytest.fixture
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Pauses take no time; the list has how long they would have been."""
    pauses: list[float] = []
    sleep = asyncio.sleep

    async def pause(seconds: float) -> None:
        if seconds:
            pauses.append(seconds)
        await sleep(0)

    monkeypatch.setattr("korvet.gateway.membership.asyncio.sleep", pause)
    return pauses


def membership(registry: FakeRegistry, cluster: Cluster) -> Membership:
    return Membership(registry, cluster, THIS, session_timeout=9.0)


async def test_a_gateway_registers_as_clients_reach_it(
    registry: FakeRegistry, cluster: Cluster
) -> None:
    registry.answer.gateways.add(node_id=7, host="other", port=9092)

    await membership(registry, cluster).join()

    request = registry.registered[0]
    assert request.gateway == pb.Gateway(node_id=1, host="here", port=9092, rack="rack-a")
    assert request.ttl_ms == 9000
    assert request.incarnation
    assert [broker.node_id for broker in cluster.brokers] == [1, 7]


async def test_another_live_gateway_with_the_id_is_a_reason_not_to_start(
    registry: FakeRegistry, cluster: Cluster
) -> None:
    registry.answer.error_code = ErrorCode.DUPLICATE_BROKER_REGISTRATION
    registry.answer.gateways.add(node_id=1, host="elsewhere", port=9092)

    with pytest.raises(NodeIdTakenError, match="elsewhere:9092, has node id 1"):
        await membership(registry, cluster).join()


async def test_a_storage_that_is_away_does_not_keep_a_gateway_from_starting(
    registry: FakeRegistry,
    cluster: Cluster,
    no_waiting: list[float],
    caplog: pytest.LogCaptureFixture,
) -> None:
    registry.is_away = True

    await membership(registry, cluster).join()

    assert sum(no_waiting) == pytest.approx(5)
    assert len(caplog.records) == 1


async def test_a_registration_is_renewed_in_time_and_sooner_after_a_failure(
    registry: FakeRegistry,
    cluster: Cluster,
    no_waiting: list[float],
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level("INFO")
    member = membership(registry, cluster)
    await member.join()

    staying = asyncio.create_task(member.stay())
    await settle()
    renewed_every = set(no_waiting)
    registry.is_away = True
    await settle()
    retried_every = set(no_waiting) - renewed_every
    registry.is_away = False
    await settle()
    staying.cancel()

    assert renewed_every == {3.0}
    assert retried_every == {0.5}
    assert len({request.incarnation for request in registry.registered}) == 1
    assert [record.levelname for record in caplog.records] == ["WARNING", "INFO"]


async def test_a_gateway_that_lost_its_id_says_so_and_goes_on(
    registry: FakeRegistry,
    cluster: Cluster,
    no_waiting: list[float],
    caplog: pytest.LogCaptureFixture,
) -> None:
    member = membership(registry, cluster)
    await member.join()
    registry.answer.error_code = ErrorCode.DUPLICATE_BROKER_REGISTRATION
    registry.answer.gateways.add(node_id=1, host="elsewhere", port=9092)

    staying = asyncio.create_task(member.stay())
    await settle()

    assert not staying.done()
    staying.cancel()
    assert len(caplog.records) == 1
    assert cluster.brokers == (THIS,)


async def test_a_gateway_that_leaves_withdraws_its_own_registration(
    registry: FakeRegistry, cluster: Cluster
) -> None:
    member = membership(registry, cluster)
    await member.join()

    await member.leave()

    gone = registry.unregistered[0]
    assert (gone.node_id, gone.incarnation) == (1, registry.registered[0].incarnation)


async def test_leaving_does_not_fail_without_storage(
    registry: FakeRegistry, cluster: Cluster
) -> None:
    registry.is_away = True

    await membership(registry, cluster).leave()


async def test_the_cluster_is_followed_again_after_a_loss(
    registry: FakeRegistry, cluster: Cluster, no_waiting: list[float]
) -> None:
    following = asyncio.create_task(membership(registry, cluster).follow())
    registry.updates.put_nowait(pb.ClusterUpdate(snapshot=True, cluster_id="one"))
    registry.updates.put_nowait(KafkaError(ErrorCode.LEADER_NOT_AVAILABLE))
    registry.updates.put_nowait(
        pb.ClusterUpdate(
            snapshot=True, topics=[pb.Topic(name="a", id=b"a" * 16, version=1)]
        )
    )
    await settle()
    following.cancel()

    assert registry.watches == 2
    assert cluster.cluster_id == "one"
    assert [topic.name for topic in await cluster.topics()] == ["a"]
