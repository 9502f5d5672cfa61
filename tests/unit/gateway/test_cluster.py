import pytest

from korvet.gateway.cluster import Broker, Cluster, TopicView, spread
from korvet.kafka.errors import ErrorCode, KafkaError
from korvet.proto.storage.v1 import storage_service_pb2 as pb
from tests.support.fake_storage import FakeStorage

THIS = Broker(2, "here", 9092, None)


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def topic(
    name: str, version: int, *, partitions: int = 1, id_: int | None = None
) -> pb.Topic:
    return pb.Topic(
        name=name,
        id=(id_ or version).to_bytes(16, "big"),
        leader_epochs=[0] * partitions,
        version=version,
    )


def gateway(node_id: int) -> pb.Gateway:
    return pb.Gateway(node_id=node_id, host=f"host-{node_id}", port=9092, rack="")


def snapshot(*topics: pb.Topic) -> pb.ClusterUpdate:
    return pb.ClusterUpdate(snapshot=True, cluster_id="cluster", topics=topics)


async def names(cluster: Cluster) -> list[str]:
    return [topic.name for topic in await cluster.topics()]


@pytest.fixture
def storage() -> FakeStorage:
    return FakeStorage()


@pytest.fixture
def cluster(storage: FakeStorage) -> Cluster:
    return Cluster(THIS, storage)


async def test_a_snapshot_replaces_what_was_known(cluster: Cluster) -> None:
    cluster.apply_update(snapshot(topic("a", 1), topic("b", 2)))

    cluster.apply_update(snapshot(topic("b", 2), topic("c", 3)))

    assert await names(cluster) == ["b", "c"]
    assert cluster.cluster_id == "cluster"


async def test_changes_follow_a_snapshot(cluster: Cluster) -> None:
    cluster.apply_update(snapshot(topic("a", 1)))

    cluster.apply_update(
        pb.ClusterUpdate(topics=[topic("b", 2), topic("a", 3, partitions=4)])
    )
    cluster.apply_update(
        pb.ClusterUpdate(deletions=[pb.ClusterUpdate.Deletion(name="b", version=4)])
    )

    assert await names(cluster) == ["a"]
    assert len((await cluster.topics())[0].leader_epochs) == 4


async def test_the_higher_version_wins_whatever_comes_first(cluster: Cluster) -> None:
    cluster.apply_update(snapshot())
    cluster.apply_topics([topic("a", 5, partitions=5)])

    cluster.apply_topics([topic("a", 4, partitions=4)])

    assert len((await cluster.topics())[0].leader_epochs) == 5


async def test_a_deletion_is_not_undone_by_older_news(cluster: Cluster) -> None:
    cluster.apply_update(snapshot(topic("a", 1)))

    cluster.apply_deletion("a", 3)
    cluster.apply_topics([topic("a", 2)])
    assert await names(cluster) == []
    cluster.apply_topics([topic("a", 4)])

    assert await names(cluster) == ["a"]


async def test_a_deletion_does_not_touch_a_topic_made_again_since(cluster: Cluster) -> None:
    cluster.apply_update(snapshot(topic("a", 5)))

    cluster.apply_deletion("a", 3)

    assert await names(cluster) == ["a"]


async def test_a_topic_made_again_is_found_by_its_new_id_only(cluster: Cluster) -> None:
    cluster.apply_update(snapshot(topic("a", 1)))

    cluster.apply_topics([topic("a", 2)])

    old, new = topic("a", 1).id, topic("a", 2).id
    found = await cluster.find_ids([old, new])
    assert found[old] is ErrorCode.UNKNOWN_TOPIC_ID
    assert isinstance(found[new], TopicView)


async def test_a_name_that_is_not_known_is_asked_for(
    cluster: Cluster, storage: FakeStorage
) -> None:
    cluster.apply_update(snapshot())
    added = storage.add_topic("new", 2)

    found = await cluster.find_names(["new", "nowhere"])

    assert found["new"] == TopicView("new", added.id, (0, 0), added.version)
    assert found["nowhere"] is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert len(storage.requests) == 1


async def test_an_id_that_is_not_known_is_asked_for(
    cluster: Cluster, storage: FakeStorage
) -> None:
    added = storage.add_topic("new")

    found = await cluster.find_ids([added.id, b"x" * 16])

    assert found[added.id] == TopicView("new", added.id, (0,), added.version)
    assert found[b"x" * 16] is ErrorCode.UNKNOWN_TOPIC_ID


async def test_a_name_that_does_not_exist_is_asked_for_once_a_second(
    storage: FakeStorage,
) -> None:
    clock = Clock()
    cluster = Cluster(THIS, storage, clock=clock)

    for _ in range(10):
        await cluster.find_names(["nowhere"])
        clock.now += 0.05
    assert len(storage.requests) == 1
    clock.now += 1
    storage.add_topic("nowhere")
    found = await cluster.find_names(["nowhere"])

    assert isinstance(found["nowhere"], TopicView)


async def test_news_of_a_name_end_its_being_unknown(
    cluster: Cluster, storage: FakeStorage
) -> None:
    await cluster.find_names(["a"])

    cluster.apply_topics([topic("a", 1)])
    cluster.apply_deletion("a", 2)
    await cluster.find_names(["a"])

    assert len(storage.requests) == 2


async def test_hostile_names_do_not_fill_the_memory(
    cluster: Cluster, storage: FakeStorage
) -> None:
    for start in range(0, 30_000, 1000):
        await cluster.find_names(f"name-{start + n}" for n in range(1000))

    assert len(cluster._unknown) <= 10_000


async def test_without_storage_the_cache_answers_and_the_rest_is_not_available(
    cluster: Cluster, storage: FakeStorage
) -> None:
    cluster.apply_update(snapshot(topic("a", 1)))
    cluster.lost_touch()
    storage.is_away_with = ErrorCode.LEADER_NOT_AVAILABLE

    found = await cluster.find_names(["a", "b"])

    assert await names(cluster) == ["a"]
    assert isinstance(found["a"], TopicView)
    assert found["b"] is ErrorCode.LEADER_NOT_AVAILABLE


async def test_all_topics_are_an_error_while_nothing_was_ever_heard(
    cluster: Cluster, storage: FakeStorage
) -> None:
    storage.is_away_with = ErrorCode.LEADER_NOT_AVAILABLE

    with pytest.raises(KafkaError):
        await cluster.topics()


async def test_all_topics_are_asked_for_while_changes_may_be_missed(
    cluster: Cluster, storage: FakeStorage
) -> None:
    cluster.apply_update(snapshot(topic("gone", 1)))
    cluster.lost_touch()
    storage.add_topic("new")

    assert await names(cluster) == ["new"]


def test_this_gateway_is_always_among_the_brokers(cluster: Cluster) -> None:
    assert cluster.brokers == (THIS,)

    cluster.set_gateways([gateway(3), gateway(1)])

    assert [broker.node_id for broker in cluster.brokers] == [1, 2, 3]
    assert THIS in cluster.brokers
    assert cluster.controller_id == 1


def test_leaders_follow_the_live_gateways(cluster: Cluster) -> None:
    cluster.apply_topics([topic("a", 1, partitions=6)])
    view = TopicView("a", topic("a", 1).id, (0,) * 6, 1)
    assert cluster.leaders(view) == (2,) * 6

    cluster.set_gateways([gateway(1), gateway(3)])
    assert sorted(cluster.leaders(view)) == [1, 1, 2, 2, 3, 3]
    cluster.set_gateways([])

    assert cluster.leaders(view) == (2,) * 6


@pytest.mark.parametrize("partitions", [1, 2, 3, 7, 12, 100])
def test_no_gateway_gets_more_than_its_share_of_a_topic(partitions: int) -> None:
    chosen = spread(b"t" * 16, partitions, [1, 2, 3])

    most = max(chosen.count(node) for node in (1, 2, 3))
    assert len(chosen) == partitions
    assert most <= -(-partitions // 3)


def test_a_gateway_that_leaves_moves_few_partitions() -> None:
    before = spread(b"t" * 16, 300, [1, 2, 3, 4])
    after = spread(b"t" * 16, 300, [1, 2, 3])

    moved = sum(a != b for a, b in zip(before, after, strict=True))
    assert moved < 120


def test_single_partition_topics_are_spread_too() -> None:
    leaders = [spread(bytes([n]) * 16, 1, [1, 2, 3])[0] for n in range(100)]

    assert all(leaders.count(node) > 15 for node in (1, 2, 3))


def test_every_gateway_names_the_same_one_for_a_group() -> None:
    nodes = [1, 2, 3]
    clusters = [
        Cluster(Broker(node, f"host-{node}", 9092, None), FakeStorage()) for node in nodes
    ]
    for cluster in clusters:
        cluster.set_gateways([gateway(node) for node in nodes])
    groups = [f"group-{number}" for number in range(100)]

    named = [[each.coordinator(group).node_id for group in groups] for each in clusters]

    assert named[0] == named[1] == named[2]
    assert all(named[0].count(node) > 15 for node in nodes)


def test_a_gateway_that_leaves_moves_its_own_groups_only(cluster: Cluster) -> None:
    groups = [f"group-{number}" for number in range(100)]
    cluster.set_gateways([gateway(1), gateway(3)])
    before = [cluster.coordinator(group).node_id for group in groups]

    cluster.set_gateways([gateway(1)])
    after = [cluster.coordinator(group).node_id for group in groups]

    assert 3 not in after
    assert all(now == was for was, now in zip(before, after, strict=True) if was != 3)


@pytest.mark.parametrize("newest_first", [True, False])
async def test_a_leader_epoch_never_goes_back_whatever_the_versions_say(
    newest_first: bool,
) -> None:
    cluster = Cluster(THIS, FakeStorage())
    cluster.apply_update(snapshot())
    before = topic("orders", 1000, id_=7)
    raised = topic("orders", 901, id_=7)
    raised.leader_epochs[:] = [1]

    cluster.apply_topics([raised, before] if newest_first else [before, raised])

    view = cluster.cached_id(before.id)
    assert view is not None
    assert view.leader_epochs == (1,)
