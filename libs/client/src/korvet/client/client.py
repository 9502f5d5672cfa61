"""Korvet, as a Python program sees it: one object with a method for each thing to do."""

import asyncio
from collections import defaultdict
from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from contextlib import aclosing
from secrets import token_hex
from socket import gethostname
from types import TracebackType
from typing import Final, Self

import grpc

from korvet.client.appender import Appender, Place
from korvet.client.connection import CALL_DEADLINE, Connection
from korvet.client.errors import ErrorCode, KorvetError
from korvet.client.model import (
    Headers,
    NewRecord,
    PartitionLog,
    Position,
    ReadResult,
    Record,
    Topic,
)
from korvet.client.moments import Moment, find_offsets, find_starts
from korvet.client.moments import timestamp_ms as moment_ms
from korvet.client.partitioner import partition_for_key
from korvet.client.reading import isolation_level, read
from korvet.client.tailing import follow
from korvet.client.topics import Topics
from korvet.client.work_queue import Delivery, WorkQueue
from korvet.proto.storage.v1 import storage_service_pb2 as pb

DEFAULT_ADDRESS: Final = "127.0.0.1:50051"


class Korvet:
    """A connection to Korvet's log. Use it as an async context manager, or `close` it.

    `address` is HOST:PORT or unix:/path.sock, or several of them, separated by commas.
    Calls raise KorvetError where storage refuses, and UnavailableError where it cannot be
    asked. Appends are repeated for up to `retry_for` seconds, and never written twice. With
    `credentials`, as `grpc.ssl_channel_credentials` makes them, the connection is TLS.
    """

    def __init__(
        self,
        address: str = DEFAULT_ADDRESS,
        *,
        retry_for: float = 30.0,
        credentials: grpc.ChannelCredentials | None = None,
    ) -> None:
        self._retry_for = retry_for
        self._connection = Connection(address, credentials)
        self._appender = Appender(self._connection, retry_for)
        self._topics = Topics(self._connection, retry_for)
        self._next_keyless: defaultdict[str, int] = defaultdict(int)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """End the connection. Tails, work queues and calls under way fail."""
        await self._connection.close()

    # --- topics ---

    async def create_topic(
        self,
        name: str,
        *,
        partitions: int | None = None,
        configs: Mapping[str, str] | None = None,
    ) -> Topic:
        """Create a topic; without `partitions` it has the server's default number."""
        return await self._topics.create(name, partitions, configs or {})

    async def describe_topic(self, name: str) -> Topic:
        """The topic as it is now, with every config in force."""
        return await self._topics.describe(name)

    async def list_topics(self) -> list[Topic]:
        """All topics, by name."""
        return await self._topics.describe_all()

    async def alter_topic(
        self,
        name: str,
        *,
        configs: Mapping[str, str] | None = None,
        reset: Iterable[str] = (),
    ) -> Topic:
        """Set configs, and put those in `reset` back to their defaults."""
        return await self._topics.alter(name, configs or {}, tuple(reset))

    async def add_partitions(self, name: str, count: int) -> Topic:
        """Let the topic have `count` partitions in all."""
        return await self._topics.add_partitions(name, count)

    async def delete_topic(self, name: str) -> None:
        """Delete the topic with all its records; the name is free at once."""
        await self._topics.delete(name)

    async def describe_logs(self, *names: str) -> list[PartitionLog]:
        """Sizes and bounds of the partitions of some topics, or of all."""
        return await self._topics.describe_logs(names)

    # --- the log ---

    async def append(
        self,
        topic: str,
        value: bytes | None,
        *,
        key: bytes | None = None,
        headers: Headers = (),
        timestamp_ms: int | None = None,
        partition: int | None = None,
    ) -> Position:
        """Append one record; return where it is."""
        record = NewRecord(value=value, key=key, headers=headers, timestamp_ms=timestamp_ms)
        (position,) = await self.append_many(topic, [record], partition=partition)
        return position

    async def append_many(
        self, topic: str, records: Iterable[NewRecord], *, partition: int | None = None
    ) -> list[Position]:
        """Append records; return where each of them is, in the order given.

        A record with a key goes where every Kafka client would put it, those without one
        together to the next partition. Records of one partition are appended atomically;
        partitions succeed or fail one by one.
        """
        records = list(records)
        if partition is not None:
            groups = {partition: list(range(len(records)))}
            return await self._append_groups(topic, records, groups)
        while True:
            count, is_fresh = await self._topics.partition_count(topic)
            groups = self._grouped(topic, records, count)
            try:
                return await self._append_groups(topic, records, groups)
            except KorvetError as error:
                if error.code != ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
                    raise
                # Perhaps made again with fewer partitions since we asked. Where there was
                # but one append to refuse, it can safely go elsewhere.
                self._topics.forget(topic)
                if is_fresh or len(groups) > 1:
                    raise

    async def append_atomically(
        self, appends: Mapping[tuple[str, int], Iterable[NewRecord]]
    ) -> dict[tuple[str, int], list[Position]]:
        """Append records to several partitions, of any topics: to all of them or to none.

        Partitions go by topic and number. Return where each record is.
        """
        groups = {Place(*where): list(records) for where, records in appends.items()}
        first = await self._appender.append_atomically(groups)
        return {
            where: [
                Position(where.partition, first[where] + distance)
                for distance in range(len(records))
            ]
            for where, records in groups.items()
        }

    async def read(
        self,
        topic: str,
        *,
        offset: int,
        partition: int = 0,
        max_wait: float = 0.0,
        max_bytes: int = 1024 * 1024,
        committed: bool = False,
    ) -> ReadResult:
        """Read from an offset on; wait up to `max_wait` seconds for the first record.

        With `committed`, what transactions have aborted is left out, and what they may
        still abort is waited for.
        """
        wanted = pb.PartitionRead(
            topic=pb.TopicRef(name=topic),
            partition=partition,
            offset=offset,
            max_bytes=max_bytes,
        )
        return await read(self._connection, wanted, max_wait=max_wait, committed=committed)

    async def tail(
        self,
        topic: str,
        *,
        start: Moment | int = "latest",
        partitions: Sequence[int] | None = None,
        committed: bool = False,
    ) -> AsyncGenerator[Record, None]:
        """Follow a topic for as long as you iterate, over lost connections too.

        `start` is "earliest", "latest", a time, or an offset (then of a single partition).
        With `committed`, records of transactions come when those are committed, or never.
        Records of one partition come in order. The end is TopicDeletedError when the topic
        is deleted, even if another of its name is there by then.
        """
        followed = await self._topics.identify(topic)
        if partitions is None:
            partitions = range(followed.partitions)
        if isinstance(start, int):
            if len(partitions) != 1:
                raise ValueError("an offset is a start in one partition: name that one")
            starts = {partitions[0]: start}
        else:
            starts = await find_starts(self._connection, followed.ref, partitions, start)
        wanted = pb.TailRequest(
            topic=followed.ref, isolation_level=isolation_level(committed)
        )
        following = follow(self._connection, wanted, starts, self._retry_for)
        async with aclosing(following) as records:
            async for record in records:
                yield record

    async def consume(
        self,
        topic: str,
        *,
        group: str,
        consumer: str | None = None,
        max_in_flight: int = 100,
        redeliver_after: float = 30.0,
        start: Moment = "earliest",
        partitions: Sequence[int] | None = None,
    ) -> AsyncGenerator[Delivery, None]:
        """Take records from a work queue for as long as you iterate.

        Each record goes to one consumer of the group, which acknowledges it with `await
        delivery.ack()`; what is not acknowledged within `redeliver_after` seconds goes to
        another. No more than `max_in_flight` records are delivered and not acknowledged.
        A group that is new begins at `start`.

        `consumer` names this consumer to Redis (XPENDING). No two live ones of a group may
        share a name; one that comes back under its name gets at once what it had.
        """
        request = pb.ConsumeRequest.Start(
            topic=(await self._topics.identify(topic)).ref,
            partitions=partitions,
            group=group,
            consumer=consumer or f"{gethostname()}-{token_hex(4)}",
            max_in_flight=max_in_flight,
            redeliver_after_ms=int(redeliver_after * 1000),
            timestamp_ms=moment_ms(start),
        )
        queue = WorkQueue(self._connection, topic, request, self._retry_for)
        async with aclosing(queue.deliveries()) as deliveries:
            async for delivery in deliveries:
                yield delivery

    async def find_offset(
        self,
        topic: str,
        at: Moment,
        *,
        partition: int = 0,
    ) -> int | None:
        """The first offset, the one after the last, or the first at or after a time.

        None where no record is as late as that.
        """
        (found,) = await find_offsets(
            self._connection, pb.TopicRef(name=topic), [partition], at
        )
        return None if found < 0 else found

    async def delete_records(self, topic: str, *, partition: int, before: int) -> int:
        """Delete the records before an offset; return the first offset that is left."""
        cut = pb.DeleteRecordsRequest.Cut(
            topic=pb.TopicRef(name=topic), partition=partition, offset=before
        )
        request = pb.DeleteRecordsRequest(cuts=[cut])
        answer = await self._connection.ask(
            lambda stub: stub.DeleteRecords(request, timeout=CALL_DEADLINE)
        )
        (result,) = answer.results
        if result.error_code != ErrorCode.NONE:
            raise KorvetError(result.error_code, result.error_message)
        return result.low_watermark

    async def _append_groups(
        self, topic: str, records: Sequence[NewRecord], groups: Mapping[int, list[int]]
    ) -> list[Position]:
        appends = (
            self._appender.append(topic, partition, [records[i] for i in indexes])
            for partition, indexes in groups.items()
        )
        # Each to its end, whatever becomes of the others.
        outcomes = await asyncio.gather(*appends, return_exceptions=True)
        positions: dict[int, Position] = {}
        for (partition, indexes), first in zip(groups.items(), outcomes, strict=True):
            if isinstance(first, BaseException):
                raise first
            for distance, index in enumerate(indexes):
                positions[index] = Position(partition, first + distance)
        return [positions[index] for index in range(len(records))]

    def _grouped(
        self, topic: str, records: Sequence[NewRecord], partitions: int
    ) -> dict[int, list[int]]:
        """The partition of each record: partition -> indexes into `records`."""
        keyless = self._next_keyless[topic] % partitions
        groups: defaultdict[int, list[int]] = defaultdict(list)
        for index, record in enumerate(records):
            if record.key is None:
                groups[keyless].append(index)
                self._next_keyless[topic] = keyless + 1
            else:
                groups[partition_for_key(record.key, partitions)].append(index)
        return groups
