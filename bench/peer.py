"""What the load is aimed at: an address that speaks Kafka, and the processes behind it."""

import asyncio
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from bench.processes import Roles
from bench.wire import Wire
from korvet.kafka.messages.metadata import MetadataRequest, MetadataResponse

_DEADLINE = 30.0
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
        new = NewTopic(
            name,
            num_partitions=partitions,
            replication_factor=1,
            config=dict(self.topic_config),
        )
        # Held in a variable: a client that is collected fails what it has under way.
        admin = _admin(self.bootstrap)
        made = admin.create_topics([new], request_timeout=_DEADLINE)
        made[name].result(_DEADLINE)
        try:
            yield name
        finally:
            gone = admin.delete_topics([name], request_timeout=_DEADLINE)
            gone[name].result(_DEADLINE)


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
            return bool((await wire.call(no_topics, MetadataResponse, 9)).brokers)
    finally:
        wire.close()


def _admin(bootstrap: str) -> AdminClient:
    # Its complaints about a server that is still starting are expected.
    return AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
