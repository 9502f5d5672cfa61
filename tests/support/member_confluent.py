"""confluent-kafka (librdkafka) as a member of a group."""

import logging
from collections.abc import Sequence
from typing import Final

from confluent_kafka import Consumer, KafkaException, TopicPartition

from tests.support.group_member import MemberOptions, Report, Taken, positions_after

_MAX_RECORDS: Final = 100
_WAIT: Final = 0.05
# It tells of every lost connection, and losing them is what tests do.
_QUIET: Final = logging.Logger("librdkafka", logging.CRITICAL + 1)


class ConfluentMember:
    def __init__(self, options: MemberOptions, report: Report) -> None:
        self._report = report
        # Not yet reported: a rebalance in the middle of a step comes after them.
        self._taken: list[Taken] = []
        self._consumer = Consumer(
            {
                "bootstrap.servers": options.bootstrap,
                "group.id": options.group,
                "partition.assignment.strategy": options.assignor,
                **({"group.instance.id": options.instance} if options.instance else {}),
                "session.timeout.ms": round(options.session_timeout * 1000),
                "heartbeat.interval.ms": round(options.heartbeat_interval * 1000),
                "max.poll.interval.ms": round(options.max_poll_interval * 1000),
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
                "fetch.wait.max.ms": 100,
                "fetch.error.backoff.ms": 20,
                "topic.metadata.refresh.interval.ms": 500,
                "reconnect.backoff.ms": 20,
                "reconnect.backoff.max.ms": 300,
                "logger": _QUIET,
            }
        )
        self._consumer.subscribe(
            options.topics,
            on_assign=self._on_assign,
            on_revoke=self._on_revoke,
            on_lost=self._on_lost,
        )

    def step(self) -> None:
        wait = _WAIT
        for _ in range(_MAX_RECORDS):
            message = self._consumer.poll(wait)
            if message is None:
                break
            wait = 0.0
            if (error := message.error()) is not None:
                self._report.told(error)
            else:
                topic, partition = message.topic(), message.partition()
                offset, value = message.offset(), message.value()
                assert topic is not None
                assert partition is not None
                assert offset is not None
                self._taken.append(Taken(topic, partition, offset, (value or b"").decode()))
        self._finish_taken()

    def close(self) -> None:
        self._consumer.close()

    def _finish_taken(self) -> None:
        if not self._taken:
            return
        taken, self._taken = self._taken, []
        self._report.read(taken)
        wanted = [
            TopicPartition(*place, at) for place, at in positions_after(taken).items()
        ]
        try:
            answers = self._consumer.commit(offsets=wanted, asynchronous=False)
        except KafkaException as error:
            self._report.told(error)
            return
        for each in answers or ():
            if each.error is not None:
                self._report.told(each.error)
        self._report.committed(
            {(p.topic, p.partition): p.offset for p in answers or () if p.error is None}
        )

    def _on_assign(self, _: Consumer, partitions: Sequence[TopicPartition]) -> None:
        self._report.assigned((each.topic, each.partition) for each in partitions)

    def _on_revoke(self, _: Consumer, partitions: Sequence[TopicPartition]) -> None:
        self._finish_taken()
        self._report.revoked((each.topic, each.partition) for each in partitions)

    def _on_lost(self, _: Consumer, partitions: Sequence[TopicPartition]) -> None:
        # Others may own them by now: it has read these, but must not commit them.
        self._report.read(self._taken)
        self._taken = []
        self._report.revoked((each.topic, each.partition) for each in partitions)


def start(options: MemberOptions, report: Report) -> ConfluentMember:
    return ConfluentMember(options, report)
