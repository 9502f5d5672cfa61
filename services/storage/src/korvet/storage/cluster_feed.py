"""Tells watchers of the cluster what changes: topics and live gateways.

A watcher that is slower than the changes costs no more than one that is not: changes of
one topic become one, and too many of them become a fresh snapshot.
"""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from typing import Final

from korvet.proto.storage.v1 import storage_service_pb2 as pb
from korvet.storage.catalogue import Catalogue
from korvet.storage.gateways import GatewayRegistry
from korvet.storage.messages import deletion_message, gateway_messages, topic_message
from korvet.storage.topic import Deletion, Topic
from korvet.storage.topic_cache import Change

_MAX_PENDING: Final = 1000


class Watcher:
    """What one watcher has not been told yet."""

    def __init__(self) -> None:
        self._snapshot = True
        self._topics: dict[bytes, Topic] = {}
        self._deletions: dict[bytes, Deletion] = {}
        self._news = asyncio.Event()
        self._news.set()
        self.closed = False

    def add(self, changes: Sequence[Change]) -> None:
        if not self._snapshot:
            for change in changes:
                if isinstance(change, Topic):
                    self._topics[change.id] = change
                else:
                    self._topics.pop(change.id, None)
                    self._deletions[change.id] = change
            if len(self._topics) + len(self._deletions) > _MAX_PENDING:
                self.start_over()
        self._news.set()

    def start_over(self) -> None:
        """Everything may have changed: a snapshot says it all."""
        self._snapshot = True
        self._topics.clear()
        self._deletions.clear()
        self._news.set()

    def close(self) -> None:
        self.closed = True
        self._news.set()

    async def wait(self) -> None:
        await self._news.wait()

    def take(self) -> tuple[bool, list[Topic], list[Deletion]]:
        """Whether a snapshot is due, and what else is new; it counts as told."""
        taken = self._snapshot, [*self._topics.values()], [*self._deletions.values()]
        self._snapshot = False
        self._topics.clear()
        self._deletions.clear()
        self._news.clear()
        return taken


class ClusterFeed:
    def __init__(self, catalogue: Catalogue, gateways: GatewayRegistry) -> None:
        self._catalogue = catalogue
        self._gateways = gateways
        self._watchers: set[Watcher] = set()
        self._opened = asyncio.Event()
        self._is_closed = False
        self._cluster_id = ""
        catalogue.subscribe(self._topics_changed)
        gateways.subscribe(self._gateways_changed)

    def open(self, cluster_id: str) -> None:
        """Begin to tell: from now on what is known here is what there is."""
        self._cluster_id = cluster_id
        self._opened.set()

    def close(self) -> None:
        """End what every watcher hears, so that a stopping server need not wait.

        Whoever comes after this, before the server refuses calls, hears nothing at all.
        """
        self._is_closed = True
        self._opened.set()
        for watcher in self._watchers:
            watcher.close()

    async def updates(self) -> AsyncGenerator[pb.ClusterUpdate, None]:
        """A snapshot first, as soon as there is one, then changes until `close`."""
        if self._is_closed:
            return
        watcher = Watcher()
        self._watchers.add(watcher)
        try:
            await self._opened.wait()
            while not watcher.closed:
                await watcher.wait()
                if not watcher.closed:
                    yield self._update(watcher)
        finally:
            self._watchers.discard(watcher)

    def _update(self, watcher: Watcher) -> pb.ClusterUpdate:
        snapshot, changed, deleted = watcher.take()
        topics = self._catalogue.topics() if snapshot else changed
        return pb.ClusterUpdate(
            snapshot=snapshot,
            cluster_id=self._cluster_id,
            topics=[topic_message(topic) for topic in topics],
            deletions=[deletion_message(deletion) for deletion in deleted],
            gateways=gateway_messages(self._gateways.live),
        )

    def _topics_changed(self, changes: Sequence[Change] | None) -> None:
        for watcher in self._watchers:
            if changes is None:
                watcher.start_over()
            else:
                watcher.add(changes)

    def _gateways_changed(self) -> None:
        # Every update carries all live gateways.
        for watcher in self._watchers:
            watcher.add(())
