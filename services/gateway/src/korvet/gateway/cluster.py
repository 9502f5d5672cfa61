"""What this gateway knows of the cluster: topics, their leaders, and the live gateways.

A cache and nothing more: storage decides. Of two descriptions of a topic the one with the
higher version is true, whichever way and in whatever order they came; and a name or id that
is not here is asked for before a client hears that it does not exist.
"""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from hashlib import blake2b
from itertools import zip_longest
from typing import Final, NamedTuple, Protocol, TypeVar

from korvet.kafka.errors import ErrorCode, KafkaError
from korvet.proto.storage.v1 import storage_service_pb2 as pb

# Long enough that a client polling for a topic that is not there costs Redis nothing, short
# enough that nobody notices when the word of its creation is late.
_UNKNOWN_FOR_SECONDS: Final = 1.0
_MAX_UNKNOWN: Final = 10_000
_MAX_DELETED: Final = 10_000

_Key = TypeVar("_Key", str, bytes)


class Broker(NamedTuple):
    """A live gateway, as clients are to reach it."""

    node_id: int
    host: str
    port: int
    rack: str | None


class TopicView(NamedTuple):
    """A topic, as Metadata shows it."""

    name: str
    topic_id: bytes
    # One a partition, in order.
    leader_epochs: tuple[int, ...]
    version: int
    # Fetches of it are delivered to Redis consumer groups (group.delivery=redis).
    delivers_through_redis: bool = False


class TopicSource(Protocol):
    """Where the cluster asks for what it does not know."""

    async def describe_topics(
        self, request: pb.DescribeTopicsRequest
    ) -> pb.DescribeTopicsResponse: ...


class Cluster:
    def __init__(
        self,
        this_broker: Broker,
        source: TopicSource,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._this_broker = this_broker
        self._source = source
        self._clock = clock
        self._brokers: tuple[Broker, ...] = (this_broker,)
        self._topics: dict[str, TopicView] = {}
        self._names: dict[bytes, str] = {}
        self._redis_delivery: set[str] = set()
        # The version at which a name was deleted: older news of it are stale.
        self._deleted: dict[str, int] = {}
        # Names and ids that storage did not know, until when to believe it.
        self._unknown: dict[str | bytes, float] = {}
        self._leaders: dict[bytes, tuple[int, ...]] = {}
        self._cluster_id: str | None = None
        # Whether every change is heard of, and whether the topics were ever all known.
        self._is_current = False
        self._is_complete = False

    # ------------------------------------------------------------ gateways

    @property
    def cluster_id(self) -> str | None:
        """None until storage was reached for the first time."""
        return self._cluster_id

    @property
    def this_broker(self) -> Broker:
        return self._this_broker

    @property
    def brokers(self) -> tuple[Broker, ...]:
        """The live gateways by id; always with this one, which is alive to say so."""
        return self._brokers

    @property
    def controller_id(self) -> int:
        return self._brokers[0].node_id

    def set_gateways(self, gateways: Iterable[pb.Gateway]) -> None:
        live = {
            gateway.node_id: Broker(
                gateway.node_id, gateway.host, gateway.port, gateway.rack or None
            )
            for gateway in gateways
        }
        live[self._this_broker.node_id] = self._this_broker
        brokers = tuple(live[node_id] for node_id in sorted(live))
        if brokers != self._brokers:
            self._brokers = brokers
            self._leaders.clear()

    def leaders(self, topic: TopicView) -> tuple[int, ...]:
        """The node that each partition's clients are sent to.

        Every gateway computes the same. A gateway that comes or goes moves few partitions,
        and none gets more than its share of a topic.
        """
        count = len(topic.leader_epochs)
        leaders = self._leaders.get(topic.topic_id)
        if leaders is None or len(leaders) != count:
            nodes = [broker.node_id for broker in self._brokers]
            leaders = self._leaders[topic.topic_id] = spread(topic.topic_id, count, nodes)
        return leaders

    def coordinator(self, key: str) -> Broker:
        """The gateway that the clients of a group or a transactional id are sent to.

        Every gateway computes the same, from the same live ones.
        """
        name = key.encode()
        return max(self._brokers, key=lambda broker: _weight(name, 0, broker.node_id))

    # ------------------------------------------------------------ topics

    async def topics(self) -> list[TopicView]:
        """All topics by name; the last that were known where storage is away."""
        if not self._is_current:
            try:
                results = await self._ask(pb.DescribeTopicsRequest(all=True))
            except KafkaError:
                if not self._is_complete:
                    raise
            else:
                self._keep_only([result.topic for result in results])
        return [self._topics[name] for name in sorted(self._topics)]

    async def find_names(self, names: Iterable[str]) -> Mapping[str, TopicView | ErrorCode]:
        """Each name's topic, or UNKNOWN_TOPIC_OR_PARTITION, or why it cannot be told."""
        wanted = dict.fromkeys(names)
        missing = {
            name: pb.TopicRef(name=name)
            for name in wanted
            if name not in self._topics and self._must_ask(name)
        }
        failure = await self._learn(missing)
        absent = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        return {
            name: self._topics.get(name) or (failure if name in missing else None) or absent
            for name in wanted
        }

    async def find_ids(
        self, topic_ids: Iterable[bytes]
    ) -> Mapping[bytes, TopicView | ErrorCode]:
        """Each id's topic, or UNKNOWN_TOPIC_ID, or why it cannot be told."""
        wanted = dict.fromkeys(topic_ids)
        missing = {
            id_: pb.TopicRef(id=id_)
            for id_ in wanted
            if id_ not in self._names and self._must_ask(id_)
        }
        failure = await self._learn(missing)
        absent = ErrorCode.UNKNOWN_TOPIC_ID
        return {
            id_: self.cached_id(id_) or (failure if id_ in missing else None) or absent
            for id_ in wanted
        }

    @property
    def redis_delivery(self) -> Set[str]:
        """The known topics whose fetches are delivered to Redis consumer groups."""
        return self._redis_delivery

    def cached_id(self, topic_id: bytes) -> TopicView | None:
        name = self._names.get(topic_id)
        return None if name is None else self._topics[name]

    # ------------------------------------------------------------ news

    def apply_update(self, update: pb.ClusterUpdate) -> None:
        """Take in what WatchCluster sent."""
        if update.snapshot:
            self._keep_only(update.topics)
            self._unknown.clear()
            self._is_current = True
        if update.cluster_id:
            self._cluster_id = update.cluster_id
        for deletion in update.deletions:
            self.apply_deletion(deletion.name, deletion.version)
        self.apply_topics(update.topics)
        self.set_gateways(update.gateways)

    def apply_topics(self, topics: Iterable[pb.Topic]) -> None:
        """Take in descriptions of topics, from wherever they come."""
        for topic in topics:
            self._unknown.pop(topic.name, None)
            self._unknown.pop(topic.id, None)
            known = self._topics.get(topic.name)
            if topic.version <= self._deleted.get(topic.name, -1):
                continue
            epochs = tuple(topic.leader_epochs)
            if known is not None and known.topic_id == topic.id:
                # They only grow, and versions say nothing of them.
                epochs = tuple(
                    map(max, zip_longest(known.leader_epochs, epochs, fillvalue=0))
                )
            if known is not None and topic.version <= known.version:
                if known.topic_id == topic.id:
                    self._topics[topic.name] = known._replace(leader_epochs=epochs)
                continue
            if known is not None:
                self._remove(known)
            self._deleted.pop(topic.name, None)
            self._names[topic.id] = topic.name
            self._topics[topic.name] = TopicView(
                topic.name,
                topic.id,
                epochs,
                topic.version,
                topic.delivers_through_redis,
            )
            if topic.delivers_through_redis:
                self._redis_delivery.add(topic.name)

    def apply_deletion(self, name: str, version: int) -> None:
        """Take in that a topic was deleted; older news of the name no longer count."""
        known = self._topics.get(name)
        if known is not None:
            if known.version > version:
                return
            self._remove(known)
        if len(self._deleted) >= _MAX_DELETED:
            del self._deleted[next(iter(self._deleted))]
        self._deleted[name] = max(version, self._deleted.pop(name, -1))

    def lost_touch(self) -> None:
        """Note that changes may be missed from now on, until the next snapshot."""
        self._is_current = False

    def _keep_only(self, topics: Iterable[pb.Topic]) -> None:
        """Forget the topics that are not among all topics.

        News that overtook this list come again after it, so nothing is lost for good.
        """
        listed = {topic.name for topic in topics}
        for topic in list(self._topics.values()):
            if topic.name not in listed:
                self._remove(topic)
        self._is_complete = True

    def _remove(self, topic: TopicView) -> None:
        self._redis_delivery.discard(topic.name)
        del self._topics[topic.name]
        del self._names[topic.topic_id]
        self._leaders.pop(topic.topic_id, None)

    # ------------------------------------------------------------ asking

    def _must_ask(self, key: str | bytes) -> bool:
        return self._unknown.get(key, 0.0) <= self._clock()

    async def _learn(self, missing: Mapping[_Key, pb.TopicRef]) -> ErrorCode | None:
        """Ask for topics; return the code for those about which nothing could be learnt."""
        if not missing:
            return None
        try:
            results = await self._ask(pb.DescribeTopicsRequest(topics=missing.values()))
        except KafkaError as error:
            return error.code
        if len(self._unknown) + len(missing) > _MAX_UNKNOWN:
            self._unknown.clear()
        until = self._clock() + _UNKNOWN_FOR_SECONDS
        for key, result in zip(missing, results, strict=True):
            if result.error_code:
                self._unknown[key] = until
        return None

    async def _ask(self, request: pb.DescribeTopicsRequest) -> Sequence[pb.TopicResult]:
        response = await self._source.describe_topics(request)
        self.apply_topics(
            result.topic for result in response.topics if not result.error_code
        )
        return response.topics


def spread(topic_id: bytes, partitions: int, nodes: Sequence[int]) -> tuple[int, ...]:
    """Choose a node for each partition: rendezvous hashing, with a bound on each node."""
    share = -(-partitions // len(nodes))
    room = dict.fromkeys(nodes, share)
    chosen = []
    for partition in range(partitions):
        node = max(
            (node for node in nodes if room[node]),
            key=lambda node: _weight(topic_id, partition, node),
        )
        room[node] -= 1
        chosen.append(node)
    return tuple(chosen)


def _weight(name: bytes, partition: int, node: int) -> bytes:
    return blake2b(b"%b/%d/%d" % (name, partition, node), digest_size=8).digest()
