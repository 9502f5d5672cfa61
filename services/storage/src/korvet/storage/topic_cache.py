"""PURE: what this replica last heard of the topics.

Answers may arrive out of order: a question asked before a change can be answered after
the change was heard of. So each one comes with the catalogue's version at which it was
true, and an older one never replaces a newer one.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Final, TypeAlias

from korvet.storage.topic import Deletion, Topic

Change: TypeAlias = Topic | Deletion

# How many deleted names are remembered. What is forgotten could only come back by an
# answer that was under way during this many deletions.
_MAX_REMOVED: Final = 10_000


class TopicCache:
    def __init__(self) -> None:
        self._by_name: dict[str, Topic] = {}
        self._by_id: dict[bytes, Topic] = {}
        self._removed: dict[str, int] = {}
        # Leader epochs of topics that were known before `clear`: clients may know them too.
        self._epochs: dict[bytes, tuple[int, ...]] = {}
        # The newest version of the catalogue that was heard of.
        self.version = 0

    def by_name(self, name: str) -> Topic | None:
        return self._by_name.get(name)

    def by_id(self, topic_id: bytes) -> Topic | None:
        return self._by_id.get(topic_id)

    def all(self) -> Mapping[str, Topic]:
        return self._by_name

    def apply(self, name: str, topic: Topic | None, as_of: int) -> list[Change]:
        """Take what was true at version `as_of`; return what that changes."""
        self.version = max(self.version, as_of)
        current = self._by_name.get(name)
        known = current.version if current else self._removed.get(name, 0)
        if as_of < known:
            return []
        if topic is None:
            return [self._remove(current, as_of)] if current else []
        changes: list[Change] = []
        if current and current.id != topic.id:
            # The name was deleted and created again.
            changes.append(self._remove(current, as_of))
        # Epochs are also heard of from elsewhere, and they only grow.
        epochs = self._epochs.get(topic.id, ())
        if current and current.id == topic.id:
            epochs = current.leader_epochs
        if epochs:
            highest = (*epochs, *topic.leader_epochs[len(epochs) :])
            newest = tuple(map(max, topic.leader_epochs, highest))
            topic = replace(topic, leader_epochs=newest)
        self._put(topic)
        if current is None or topic != replace(current, version=topic.version):
            changes.append(topic)
        return changes

    def set_epochs(self, topic: Topic, epochs: Iterable[int]) -> list[Change]:
        """Take a topic's newest leader epochs, which Redis keeps without a version."""
        current = self._by_id.get(topic.id)
        if current is None:
            return []
        # The topic may have got more partitions meanwhile.
        known = tuple(epochs)[: current.partitions]
        newest = (*known, *current.leader_epochs[len(known) :])
        if newest == current.leader_epochs:
            return []
        changed = replace(current, leader_epochs=newest, version=current.version + 1)
        self._put(changed)
        return [changed]

    def clear(self) -> None:
        """Forget everything: versions have gone back, so that they decide nothing."""
        self._epochs |= {topic.id: topic.leader_epochs for topic in self._by_id.values()}
        self._by_name.clear()
        self._by_id.clear()
        self._removed.clear()
        self.version = 0

    def _put(self, topic: Topic) -> None:
        self._by_name[topic.name] = topic
        self._by_id[topic.id] = topic
        self._removed.pop(topic.name, None)

    def _remove(self, topic: Topic, version: int) -> Deletion:
        del self._by_name[topic.name]
        del self._by_id[topic.id]
        self._removed[topic.name] = version
        if len(self._removed) > _MAX_REMOVED:
            del self._removed[next(iter(self._removed))]
        return Deletion(name=topic.name, id=topic.id, version=version)
