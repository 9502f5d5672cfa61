"""What the load is aimed at: an address that speaks Kafka, and the processes behind it."""

import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from bench.processes import Roles

_DEADLINE = 30.0


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
        return bool(_admin(bootstrap).list_topics(timeout=2.0).brokers)
    except KafkaException:
        return False


def _admin(bootstrap: str) -> AdminClient:
    # Its complaints about a server that is still starting are expected.
    return AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
