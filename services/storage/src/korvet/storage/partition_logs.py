"""All partition logs of this replica: the connections they share, and the parts on top.

Appends and reads have lanes of their own, so that a large reply never holds up an
acknowledgement. Everything that must go on in the background does so in `run`.
"""

import asyncio
from collections.abc import Sequence
from typing import Final

from korvet.redis.keys import Keys
from korvet.redis.lane import Lane
from korvet.runtime.sampling import Sampler
from korvet.storage import log_metrics
from korvet.storage.appender import Appender
from korvet.storage.catalogue import Catalogue
from korvet.storage.histories import Histories
from korvet.storage.log_sizes import LogSizes
from korvet.storage.parked_reads import ParkedReads
from korvet.storage.partition_transactions import PartitionTransactions
from korvet.storage.primary_watch import PrimaryWatch
from korvet.storage.reader import Reader
from korvet.storage.redis_groups import RedisGroups
from korvet.storage.redis_memory import MemoryWatch
from korvet.storage.replicas import Replicas
from korvet.storage.scripts import ALL, OF_GROUPS, scripts_of_lane
from korvet.storage.storage_rights import storage_rights
from korvet.storage.topic_cache import Change
from korvet.storage.topic_lookup import TopicLookup
from korvet.storage.trimmer import Sweeper, Trimmer
from korvet.storage.wakeups import Wakeups

_APPEND_LANES: Final = 2
_READ_LANES: Final = 4


class PartitionLogs:
    def __init__(
        self,
        redis_url: str,
        keys: Keys,
        catalogue: Catalogue,
        *,
        producer_expiry: float,
        sweep_interval: float,
        memory_interval: float = 1.0,
    ) -> None:
        self.keys = keys
        self.catalogue = catalogue
        rights = storage_rights(keys)
        append_lanes = [
            Lane(redis_url, name, scripts=scripts_of_lane(name), rights=rights)
            for name in (f"append-{n}" for n in range(_APPEND_LANES))
        ]
        read_lanes = [
            Lane(redis_url, f"read-{n}", scripts=ALL, rights=rights)
            for n in range(_READ_LANES)
        ]
        # For everything that is neither: few and small.
        self.lane = Lane(
            redis_url, "lookup", scripts=ALL, rights=rights, on_connect=self._connected
        )
        # What work queues take from it may be large, like what is read.
        self.group_lane = Lane(redis_url, "groups", scripts=OF_GROUPS, rights=rights)
        self._replicas = Replicas(
            redis_url, keys.confirmations, self.lane, self._needs_replicas
        )
        self._lanes = (
            *append_lanes,
            *read_lanes,
            self.lane,
            self.group_lane,
        )
        self._primary = PrimaryWatch(redis_url, self._lanes)
        self.wakeups = Wakeups(redis_url)
        self.lookup = TopicLookup(catalogue)
        self._memory = MemoryWatch(self.lane, memory_interval)
        self.appender = Appender(
            append_lanes, self._replicas, self._memory, keys, producer_expiry
        )
        self.transactions = PartitionTransactions(self.lane, self.appender, keys)
        self.reads = ParkedReads(Reader(read_lanes, keys), self.wakeups, keys)
        self.groups = RedisGroups(self.group_lane, keys)
        self.trimmer = Trimmer(self.lane, keys)
        self._histories = Histories(self.lane, keys, catalogue.topics, catalogue.set_epochs)
        catalogue.subscribe(self._topics_changed)
        catalogue.subscribe(log_metrics.topics_changed)
        sizes = LogSizes(self.lane, keys, catalogue.topics)
        self._sizes = Sampler(sizes.sample, sizes.forget)
        self._sweeper = Sweeper(
            self.trimmer,
            catalogue.topics,
            interval=sweep_interval,
            producer_expiry=producer_expiry,
        )

    def _connected(self) -> None:
        self._histories.look()

    def _topics_changed(self, changes: Sequence[Change] | None) -> None:
        # A new topic has no history yet; after a reload any topic may have an old one.
        if changes is None:
            self._histories.look()

    def _needs_replicas(self) -> bool:
        return any(
            topic.config.min_insync_replicas > 1 or topic.config.acks_fsync
            for topic in self.catalogue.topics()
        )

    async def run(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            for lane in self._lanes:
                tasks.create_task(lane.run())
            tasks.create_task(self._primary.run())
            tasks.create_task(self._replicas.run())
            tasks.create_task(self._memory.run())
            tasks.create_task(self.wakeups.run())
            tasks.create_task(self._histories.run())
            tasks.create_task(self._sweeper.run())
            tasks.create_task(self._sizes.run())

    @property
    def connected(self) -> bool:
        return all(lane.connected for lane in (*self._lanes, self._primary.lane))
