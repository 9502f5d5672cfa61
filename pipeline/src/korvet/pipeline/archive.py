"""The archive job: topics into their tables, once or for ever, several at a time."""

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from korvet.client.errors import KorvetError
from korvet.pipeline.failure import LakeError
from korvet.pipeline.lake import Lake
from korvet.pipeline.log_plan import positions
from korvet.pipeline.source_options import LATEST, Bound
from korvet.pipeline.spark_failure import reason
from korvet.pipeline.storage_link import StorageLink, TopicGoneError, TopicInfo
from korvet.pipeline.topic_archive import (
    ArchiveSettings,
    Done,
    OvertakenError,
    TopicArchive,
)

# Of many topics most of the time is Delta's, which waits; of few, Spark shares its tasks.
_TOPICS_AT_ONCE: Final = 4
# A job that fails is planned anew: what was deleted or made again meanwhile shows then.
_ATTEMPTS: Final = 3


class Archive:
    """Holds each topic's archive, and does a step of all that have something new."""

    def __init__(
        self,
        lake: Lake,
        link: StorageLink,
        settings: ArchiveSettings,
        *,
        on_done: Callable[[str, Done], None],
    ) -> None:
        self._lake = lake
        self._link = link
        self._settings = settings
        self._on_done = on_done
        self._archives: dict[str, TopicArchive] = {}

    def once(self, topics: Sequence[TopicInfo]) -> None:
        """Archive what these topics have at this moment."""
        with ThreadPoolExecutor(_TOPICS_AT_ONCE) as pool:
            for _ in pool.map(self._whole, topics):
                pass

    def follow(
        self,
        find: Callable[[], Sequence[TopicInfo]],
        interval: float,
        stopped: threading.Event,
    ) -> None:
        """Archive as it comes, whatever topics there are then, until it is stopped."""
        with ThreadPoolExecutor(_TOPICS_AT_ONCE) as pool:
            while not stopped.is_set():
                steps = list(pool.map(self._step, find()))
                if not any(step is not None and step.lag for step in steps):
                    stopped.wait(interval)

    def _whole(self, topic: TopicInfo) -> None:
        try:
            ends = positions(self._link, topic, Bound(timestamp_ms=LATEST))
        except TopicGoneError:
            return
        while self._step(topic, ends) is not None:
            pass

    def _step(self, topic: TopicInfo, ends: dict[int, int] | None = None) -> Done | None:
        for attempt in range(1, _ATTEMPTS + 1):
            archive = self._archives.get(topic.name)
            if archive is None:
                archive = TopicArchive(self._lake, self._link, topic.name, self._settings)
                self._archives[topic.name] = archive
            try:
                done = archive.step(topic, ends)
            except TopicGoneError:
                # Not an error of the archive's: what was there is in the lake.
                return None
            except OvertakenError:
                failure = LakeError(
                    f"Another archive writes {topic.name} into {self._lake.folder}.",
                    "One is enough: stop one of them.",
                )
            except (PySparkException, Py4JError, KorvetError) as error:
                failure = LakeError(f"Archiving {topic.name} failed: {reason(error)}")
            else:
                if done is not None:
                    self._on_done(topic.name, done)
                return done
            # What the table says is what counts.
            del self._archives[topic.name]
            if attempt == _ATTEMPTS:
                raise failure
        raise AssertionError
