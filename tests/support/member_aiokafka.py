"""aiokafka as a member of a group, on a loop of its own, so that it lives while we wait."""

import asyncio
import logging
import threading
from collections.abc import Coroutine, Iterable
from typing import Any, Final, TypeVar

from aiokafka import AIOKafkaConsumer, ConsumerRebalanceListener, TopicPartition
from aiokafka.coordinator.assignors.range import RangePartitionAssignor
from aiokafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
from aiokafka.errors import KafkaError

from tests.support.group_member import MemberOptions, Report, Taken, positions_after

_ASSIGNORS: Final = {
    "range": RangePartitionAssignor,
    "roundrobin": RoundRobinPartitionAssignor,
}
_MAX_RECORDS: Final = 100
_WAIT_MS: Final = 50
_T = TypeVar("_T")


class AiokafkaMember:
    def __init__(self, options: MemberOptions, report: Report) -> None:
        self._report = report
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._loop.run_forever, daemon=True).start()
        self._wait(self._start(options))

    def step(self) -> None:
        self._wait(self._step())

    def close(self) -> None:
        self._wait(self._consumer.stop())

    def _wait(self, work: Coroutine[Any, Any, _T]) -> _T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    async def _start(self, options: MemberOptions) -> None:
        # Rebalances are a task beside ours, and must not come between reading and commit.
        self._committing = asyncio.Lock()
        self._consumer: Any = AIOKafkaConsumer(
            bootstrap_servers=options.bootstrap,
            group_id=options.group,
            group_instance_id=options.instance or None,
            partition_assignment_strategy=[_ASSIGNORS[options.assignor]],
            session_timeout_ms=round(options.session_timeout * 1000),
            heartbeat_interval_ms=round(options.heartbeat_interval * 1000),
            max_poll_interval_ms=round(options.max_poll_interval * 1000),
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            fetch_max_wait_ms=100,
            metadata_max_age_ms=500,
            retry_backoff_ms=20,
        )
        self._consumer.subscribe(
            options.topics, listener=_Listener(self._report, self._committing)
        )
        await self._consumer.start()

    async def _step(self) -> None:
        try:
            found = await self._consumer.getmany(
                timeout_ms=_WAIT_MS, max_records=_MAX_RECORDS
            )
            taken = [
                Taken(each.topic, each.partition, each.offset, each.value.decode())
                for records in found.values()
                for each in records
            ]
            if taken:
                async with self._committing:
                    await self._finish(taken)
        except KafkaError as error:
            self._report.told(repr(error))

    async def _finish(self, taken: list[Taken]) -> None:
        self._report.read(taken)
        wanted = positions_after(taken)
        await self._consumer.commit(
            {TopicPartition(*place): at for place, at in wanted.items()}
        )
        self._report.committed(wanted)


class _Listener(ConsumerRebalanceListener):  # type: ignore[misc]  # untyped
    def __init__(self, report: Report, committing: asyncio.Lock) -> None:
        self._report = report
        self._committing = committing

    async def on_partitions_revoked(self, revoked: Iterable[Any]) -> None:
        async with self._committing:
            self._report.revoked((each.topic, each.partition) for each in revoked)

    async def on_partitions_assigned(self, assigned: Iterable[Any]) -> None:
        self._report.assigned((each.topic, each.partition) for each in assigned)


def start(options: MemberOptions, report: Report) -> AiokafkaMember:
    logging.getLogger("aiokafka").setLevel(logging.CRITICAL + 1)
    return AiokafkaMember(options, report)
