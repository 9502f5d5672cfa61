"""kafka-python as a member of a group."""

import logging
from collections.abc import Iterable
from typing import Any, Final

import kafka
import kafka.errors
from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor
from kafka.coordinator.assignors.range import RangePartitionAssignor
from kafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor

from tests.support.group_member import MemberOptions, Report, Taken, positions_after
from tests.support.kafka_python_defects import join_unhurriedly

_ASSIGNORS: Final = {
    "range": RangePartitionAssignor,
    "roundrobin": RoundRobinPartitionAssignor,
    "cooperative-sticky": CooperativeStickyAssignor,
}
_MAX_RECORDS: Final = 100
_WAIT_MS: Final = 50


class KafkaPythonMember:
    def __init__(self, options: MemberOptions, report: Report) -> None:
        self._report = report
        self._consumer: Any = kafka.KafkaConsumer(
            bootstrap_servers=options.bootstrap.split(","),
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
            reconnect_backoff_ms=20,
            reconnect_backoff_max_ms=300,
        )
        join_unhurriedly(self._consumer)
        self._consumer.subscribe(options.topics, listener=_Listener(report))

    def step(self) -> None:
        # Rebalances happen in here, before records are handed out.
        try:
            found = self._consumer.poll(timeout_ms=_WAIT_MS, max_records=_MAX_RECORDS)
        except kafka.errors.KafkaError as error:
            self._report.told(repr(error))
            return
        taken = [
            Taken(record.topic, record.partition, record.offset, record.value.decode())
            for records in found.values()
            for record in records
        ]
        if not taken:
            return
        self._report.read(taken)
        wanted = positions_after(taken)
        try:
            self._consumer.commit(
                {
                    kafka.TopicPartition(*place): kafka.OffsetAndMetadata(at, "", -1)
                    for place, at in wanted.items()
                }
            )
        except kafka.errors.KafkaError as error:
            self._report.told(repr(error))
        else:
            self._report.committed(wanted)

    def close(self) -> None:
        self._consumer.close(autocommit=False)


class _Listener(kafka.ConsumerRebalanceListener):  # type: ignore[misc]  # untyped
    def __init__(self, report: Report) -> None:
        self._report = report

    def on_partitions_assigned(self, assigned: Iterable[Any]) -> None:
        self._report.assigned((each.topic, each.partition) for each in assigned)

    def on_partitions_revoked(self, revoked: Iterable[Any]) -> None:
        self._report.revoked((each.topic, each.partition) for each in revoked)

    def on_partitions_lost(self, lost: Iterable[Any]) -> None:
        self._report.revoked((each.topic, each.partition) for each in lost)


def start(options: MemberOptions, report: Report) -> KafkaPythonMember:
    logging.getLogger("kafka").setLevel(logging.CRITICAL + 1)
    return KafkaPythonMember(options, report)
