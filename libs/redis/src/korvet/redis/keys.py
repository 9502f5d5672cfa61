"""Every Redis key and channel there is, each spelled once.

A topic's name cannot hold a colon, and a group's is written with such characters escaped:
so no two keys collide.
"""

from dataclasses import dataclass
from typing import Final

# What a group's name must not bring into a key: separators, hash tags, the escape itself.
_ESCAPES: Final = {ord(character): f"%{ord(character):02X}" for character in ":{}%"}


def escaped(name: str) -> str:
    """A group's or transaction's name, as it stands in keys."""
    return name.translate(_ESCAPES)


@dataclass(frozen=True, slots=True)
class Keys:
    keyspace: str = "korvet"

    # --- the catalogue ---

    @property
    def topics(self) -> str:
        """Set: the names of all topics."""
        return f"{self.keyspace}:topics"

    @property
    def topic_ids(self) -> str:
        """Hash: topic id -> name."""
        return f"{self.keyspace}:topic-ids"

    def topic(self, name: str) -> str:
        """Hash: one topic's id, partitions and configs."""
        return f"{self.keyspace}:topic:{name}"

    @property
    def catalogue_version(self) -> str:
        """Counter: grows with every change of any topic."""
        return f"{self.keyspace}:catalogue-version"

    @property
    def deletions(self) -> str:
        """Hash: id of a deleted topic not cleaned up yet -> its partition count:name."""
        return f"{self.keyspace}:deletions"

    # --- one partition ---

    def stream(self, topic: str, partition: int) -> str:
        """Stream: the log itself."""
        return f"{self.keyspace}:stream:{topic}:{partition}"

    def partition_of_stream(self, stream: str) -> tuple[str, int]:
        """Topic and partition of a stream's key."""
        place = stream.removeprefix(f"{self.keyspace}:stream:")
        topic, _, partition = place.rpartition(":")
        return topic, int(partition)

    def partition(self, topic: str, partition: int) -> str:
        """Hash: the topic's id, last entry, log start, epochs, counters."""
        return f"{self.keyspace}:partition:{topic}:{partition}"

    def producers(self, topic: str, partition: int) -> str:
        """Hash: producer id -> its epoch and its last batches."""
        return f"{self.keyspace}:producers:{topic}:{partition}"

    def index(self, topic: str, partition: int) -> str:
        """Stream: the sparse index of the log."""
        return f"{self.keyspace}:index:{topic}:{partition}"

    def transactions(self, topic: str, partition: int) -> str:
        """Hash: producer id -> its last transaction in this partition."""
        return f"{self.keyspace}:transactions:{topic}:{partition}"

    def aborted(self, topic: str, partition: int) -> str:
        """Stream: the transactions that were aborted, under the ids of their markers."""
        return f"{self.keyspace}:aborted:{topic}:{partition}"

    def queues(self, topic: str, partition: int) -> str:
        """Hash: work queue -> which one of the name has the stream's consumer group."""
        return f"{self.keyspace}:queues:{topic}:{partition}"

    def of_partition(self, topic: str, partition: int) -> dict[str, str]:
        """Kind -> key, of everything that a partition has and deleting a topic retires."""
        return {
            "stream": self.stream(topic, partition),
            "partition": self.partition(topic, partition),
            "producers": self.producers(topic, partition),
            "index": self.index(topic, partition),
            "transactions": self.transactions(topic, partition),
            "aborted": self.aborted(topic, partition),
            "queues": self.queues(topic, partition),
        }

    def retired(self, topic_id: str, partition: int) -> dict[str, str]:
        """The same kinds under the names that they have once the topic is deleted."""
        kinds = self.of_partition("", partition)
        return {
            kind: f"{self.keyspace}:deleted:{topic_id}:{kind}:{partition}" for kind in kinds
        }

    # --- consumer groups ---

    @property
    def groups(self) -> str:
        """Set: the names of all groups."""
        return f"{self.keyspace}:groups"

    def group(self, group: str) -> str:
        """String: which kind of group it is, who owns it, and its state."""
        return f"{self.keyspace}:group:{escaped(group)}"

    def group_offsets(self, group: str) -> str:
        """Hash: stream key -> what was committed with the offset."""
        return f"{self.keyspace}:group:{escaped(group)}:offsets"

    def commit(self, stream: str, group: str) -> str:
        """String: the committed offset."""
        return f"{self.keyspace}:commit:{stream}:{escaped(group)}"

    def group_transactions(self, group: str) -> str:
        """Hash: producer id -> its last transaction with this group's offsets."""
        return f"{self.keyspace}:group:{escaped(group)}:transactions"

    def group_pending(self, group: str) -> str:
        """Hash: producer id, stream key -> an offset that its transaction will commit."""
        return f"{self.keyspace}:group:{escaped(group)}:pending"

    # --- transactions ---

    @property
    def transactional_ids(self) -> str:
        """Set: all transactional ids."""
        return f"{self.keyspace}:transactional-ids"

    def transaction(self, transactional_id: str) -> str:
        """String: who owns a transactional id, and its state."""
        return f"{self.keyspace}:transaction:{escaped(transactional_id)}"

    @property
    def coordinators(self) -> str:
        """Hash: address -> a live coordinator's incarnation and expiry."""
        return f"{self.keyspace}:coordinators"

    # --- the server ---

    @property
    def gateways(self) -> str:
        """Hash: node id -> a live gateway's addresses, incarnation and expiry."""
        return f"{self.keyspace}:gateways"

    @property
    def layout(self) -> str:
        return f"{self.keyspace}:layout"

    @property
    def cluster_id(self) -> str:
        return f"{self.keyspace}:cluster-id"

    @property
    def producer_ids(self) -> str:
        """Counter: the last producer id that was given away."""
        return f"{self.keyspace}:producer-ids"

    # --- channels ---

    @property
    def changes(self) -> str:
        """Channel: what changed in the catalogue or among the gateways."""
        return f"{self.keyspace}:changes"

    @property
    def confirmations(self) -> str:
        """Channel: what storage writes before it asks replicas whether they have it."""
        return f"{self.keyspace}:confirmations"

    def appended(self, topic: str, partition: int) -> str:
        """Channel: woken by every append to this partition."""
        return f"{self.keyspace}:appended:{topic}:{partition}"
