"""What the load is aimed at: an address that speaks Kafka, and the processes behind it."""

import asyncio
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from bench.processes import Roles
from bench.wire import Wire
from korvet.kafka.messages.metadata import MetadataRequest, MetadataResponse

_DEADLINE = 120.0
_METADATA_VERSION = 9
_TOPICS_A_REQUEST = 100
_LOOK_AGAIN = 0.05
_ANSWER_DEADLINE = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Peer:
    """One running system. Picklable: the load runs in processes of its own."""

    name: str
    bootstrap: str
    roles: Roles
    topic_config: Mapping[str, str] = field(default_factory=dict)

    @contextmanager
    def topic(self, partitions: int = 1) -> Iterator[str]:
        """A fresh topic, deleted with the block: no ballast for the next."""
        name = f"bench-{uuid.uuid4().hex[:12]}"
        self.create([name], partitions)
        try:
            yield name
        finally:
            # Held in a variable: a client that is collected fails what it has under way.
            admin = _admin(self.bootstrap)
            gone = admin.delete_topics([name], request_timeout=_DEADLINE)
            gone[name].result(_DEADLINE)

    def create(self, names: Sequence[str], partitions: int) -> None:
        """Create topics; return when clients are told who leads their partitions.

        One that asks too early asks again after a pause of its own, which is not what is
        measured.
        """
        admin = _admin(self.bootstrap)
        for first in range(0, len(names), _TOPICS_A_REQUEST):
            new = [
                NewTopic(
                    name,
                    num_partitions=partitions,
                    replication_factor=1,
                    config=dict(self.topic_config),
                )
                for name in names[first : first + _TOPICS_A_REQUEST]
            ]
            for one in admin.create_topics(new, request_timeout=_DEADLINE).values():
                one.result(_DEADLINE)
        asyncio.run(_until_led(self.bootstrap, names, partitions))


async def _until_led(bootstrap: str, names: Sequence[str], partitions: int) -> None:
    wanted = [MetadataRequest.MetadataRequestTopic(name=name) for name in names]
    request = MetadataRequest(topics=wanted, allow_auto_topic_creation=False)
    wire = await Wire.open(bootstrap)
    try:
        async with asyncio.timeout(_DEADLINE):
            while True:
                told = await wire.call(request, MetadataResponse, _METADATA_VERSION)
                led = sum(one.leader_id >= 0 for it in told.topics for one in it.partitions)
                if led == len(names) * partitions:
                    return
                await asyncio.sleep(_LOOK_AGAIN)
    finally:
        wire.close()


def answers(bootstrap: str) -> bool:
    """Whether a Kafka client gets metadata there."""
    try:
        return asyncio.run(_has_brokers(bootstrap))
    except (OSError, EOFError, TimeoutError):
        return False


async def _has_brokers(bootstrap: str) -> bool:
    wire = await Wire.open(bootstrap)
    try:
        async with asyncio.timeout(_ANSWER_DEADLINE):
            no_topics = MetadataRequest(topics=[])
            told = await wire.call(no_topics, MetadataResponse, _METADATA_VERSION)
            return bool(told.brokers)
    finally:
        wire.close()


def _admin(bootstrap: str) -> AdminClient:
    # Its complaints about a server that is still starting are expected.
    return AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
