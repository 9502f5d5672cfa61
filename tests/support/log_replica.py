"""The parts of a storage replica that keep partition logs, without its gRPC server.

It hears of topics only through its own changes and when it is told that its cache is
wrong: so a second one on the same Redis is a replica whose cache is stale.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from itertools import product
from typing import Final, NamedTuple

from korvet.kafka.errors import ErrorCode
from korvet.kafka.records import Record, build_batch, read_records, split_batches
from korvet.proto.storage.v1 import storage_service_pb2 as pb
from korvet.redis.client import connect
from korvet.redis.keys import Keys
from korvet.storage.append_calls import AppendCalls
from korvet.storage.atomic_append_calls import AtomicAppendCalls
from korvet.storage.catalogue import Catalogue
from korvet.storage.consume_calls import ConsumeCalls
from korvet.storage.group_calls import GroupCalls
from korvet.storage.lookup_calls import LookupCalls
from korvet.storage.partition_logs import PartitionLogs
from korvet.storage.read_calls import ReadCalls
from korvet.storage.tail_calls import TailCalls
from korvet.storage.topic import Topic
from korvet.storage.topic_configs import TopicConfigs
from korvet.storage.topic_store import TopicStore
from korvet.storage.transaction_calls import TransactionCalls
from tests.support.eventually import eventually
from tests.support.redis_server import RedisServer

KEYS: Final = Keys()
# Of records whose time does not matter.
TIMESTAMP: Final = 1_700_000_000_000

# Every kind of log: its configs by a readable name.
LAYOUTS: Final[Mapping[str, Mapping[str, str]]] = {
    f"{storage_format}-{encoding}": {
        "storage.format": storage_format,
        "offset.encoding": encoding,
    }
    for storage_format, encoding in product(("record", "batch"), ("time", "dense"))
}


class Producer(NamedTuple):
    """Who sends a batch, and as which one in its sequence."""

    id: int
    epoch: int
    sequence: int


def batch_of(
    count: int = 1,
    *,
    timestamp: int = TIMESTAMP,
    value: bytes = b"value",
    producer: Producer | None = None,
    codec: int = 0,
    transactional: bool = False,
) -> bytes:
    """A batch of so many records whose keys tell their place in it."""
    sender = producer or Producer(-1, -1, -1)
    return build_batch(
        [(index, timestamp, b"%d" % index, value, []) for index in range(count)],
        base_offset=0,
        codec=codec,
        producer_id=sender.id,
        producer_epoch=sender.epoch,
        base_sequence=sender.sequence,
        transactional=transactional,
    )


def batch_of_records(
    records: Sequence[tuple[int, bytes | None, bytes | None]], codec: int = 0
) -> bytes:
    """A batch of (timestamp, key, value)."""
    return build_batch(
        [(index, *record, []) for index, record in enumerate(records)],
        base_offset=0,
        codec=codec,
    )


def records_in(batches: bytes) -> list[Record]:
    """All records of a fetch's batches."""
    return [
        record
        for _, view in split_batches(batches)
        for record in read_records(bytes(view), 1 << 30)
    ]


class LogReplica:
    def __init__(
        self,
        url: str,
        *,
        producer_expiry: float,
        sweep_interval: float,
        memory_interval: float,
    ) -> None:
        configs = TopicConfigs({})
        self.redis = connect(url)
        self.catalogue = Catalogue(
            TopicStore(self.redis, KEYS, configs), configs, num_partitions=1
        )
        self.logs = PartitionLogs(
            url,
            KEYS,
            self.catalogue,
            producer_expiry=producer_expiry,
            sweep_interval=sweep_interval,
            memory_interval=memory_interval,
        )
        self.appends = AppendCalls(self.logs.appender, self.logs.lookup)
        self.atomic_appends = AtomicAppendCalls(self.logs.appender, self.logs.lookup)
        self.transactions = TransactionCalls(self.logs.transactions, self.logs.lookup)
        self.reads = ReadCalls(self.logs.reads, self.logs.lookup, self.logs.groups)
        self.lookups = LookupCalls(
            self.logs.lane, KEYS, self.logs.lookup, self.logs.trimmer
        )
        self.tails = TailCalls(self.logs.reads, self.logs.lookup, self.logs.lane, KEYS)
        self.groups = GroupCalls(self.logs.groups, self.logs.lookup)
        self.consumes = ConsumeCalls(self.logs)

    async def connected(self) -> None:
        await eventually(lambda: self.logs.connected)

    async def create(
        self,
        name: str = "orders",
        configs: Mapping[str, str] | None = None,
        partitions: int = 1,
    ) -> Topic:
        return await self.catalogue.create(name, configs=configs, partitions=partitions)

    # --- one partition ---

    async def append(
        self,
        batch: bytes,
        topic: str | bytes = "orders",
        partition: int = 0,
        *,
        epoch_per_transaction: bool = False,
    ) -> pb.PartitionAppended:
        append = pb.PartitionAppend(
            topic=ref(topic),
            partition=partition,
            batch=batch,
            epoch_per_transaction=epoch_per_transaction,
        )
        response = await self.appends.append(pb.AppendRequest(partitions=[append]))
        return response.partitions[0]

    async def appended(
        self, batch: bytes, topic: str | bytes = "orders", partition: int = 0
    ) -> int:
        """Append what must be taken; its first offset."""
        answer = await self.append(batch, topic, partition)
        assert answer.error_code == ErrorCode.NONE, answer
        return answer.base_offset

    async def read(
        self,
        offset: int,
        topic: str | bytes = "orders",
        partition: int = 0,
        *,
        max_bytes: int = 1 << 20,
        max_wait_ms: int = 0,
        min_bytes: int = 1,
        epoch: int | None = None,
        decoded: bool = False,
        committed: bool = False,
    ) -> pb.PartitionData:
        read = pb.PartitionRead(
            topic=ref(topic),
            partition=partition,
            offset=offset,
            max_bytes=max_bytes,
            current_leader_epoch=epoch,
        )
        response = await self.reads.read(
            pb.ReadRequest(
                partitions=[read],
                max_wait_ms=max_wait_ms,
                min_bytes=min_bytes,
                decoded=decoded,
                isolation_level=isolation(committed),
            )
        )
        return response.partitions[0]

    async def read_all(
        self, offset: int, topic: str | bytes = "orders", partition: int = 0
    ) -> list[Record]:
        """Everything from an offset to the end, as a consumer reads it."""
        records: list[Record] = []
        while True:
            data = await self.read(offset, topic, partition)
            assert data.error_code == ErrorCode.NONE, data
            if not data.batches:
                return records
            records += [r for r in records_in(data.batches) if r.offset >= offset]
            assert data.next_offset > offset
            offset = data.next_offset

    async def find(
        self,
        timestamp: int,
        topic: str | bytes = "orders",
        partition: int = 0,
        epoch: int | None = None,
        *,
        committed: bool = False,
    ) -> pb.FindOffsetsResponse.Found:
        found = await self.find_all(
            [timestamp], topic, partition, epoch, committed=committed
        )
        return found[0]

    async def find_all(
        self,
        timestamps: Sequence[int],
        topic: str | bytes = "orders",
        partition: int = 0,
        epoch: int | None = None,
        *,
        committed: bool = False,
    ) -> Sequence[pb.FindOffsetsResponse.Found]:
        positions = [
            pb.FindOffsetsRequest.Position(
                topic=ref(topic),
                partition=partition,
                timestamp_ms=timestamp,
                current_leader_epoch=epoch,
            )
            for timestamp in timestamps
        ]
        request = pb.FindOffsetsRequest(
            positions=positions, isolation_level=isolation(committed)
        )
        return (await self.lookups.find_offsets(request)).found

    async def cut(
        self, offset: int, topic: str | bytes = "orders", partition: int = 0
    ) -> pb.DeleteRecordsResponse.Result:
        cut = pb.DeleteRecordsRequest.Cut(
            topic=ref(topic), partition=partition, offset=offset
        )
        response = await self.lookups.delete_records(pb.DeleteRecordsRequest(cuts=[cut]))
        return response.results[0]

    async def count_all(
        self, offsets: Sequence[int], topic: str | bytes = "orders", partition: int = 0
    ) -> Sequence[pb.CountRecordsResponse.Count]:
        """How many records there are from each of these offsets on."""
        positions = [
            pb.CountRecordsRequest.Position(
                topic=ref(topic), partition=partition, offset=offset
            )
            for offset in offsets
        ]
        request = pb.CountRecordsRequest(positions=positions)
        return (await self.lookups.count_records(request)).counts

    async def describe(self, topic: str | bytes = "orders") -> pb.DescribeLogsResponse.Log:
        selection = pb.DescribeLogsRequest.Selection(topic=ref(topic))
        response = await self.lookups.describe_logs(
            pb.DescribeLogsRequest(topics=[selection]), []
        )
        return response.logs[0]

    async def apply_retention(self, topic: str = "orders", partition: int = 0) -> None:
        """What the sweeper does for one partition."""
        known = self.catalogue.by_name(topic)
        assert known is not None
        await self.logs.trimmer.apply_retention(known, partition)


def isolation(committed: bool) -> "pb.IsolationLevel.ValueType":
    return (
        pb.ISOLATION_LEVEL_READ_COMMITTED
        if committed
        else pb.ISOLATION_LEVEL_READ_UNCOMMITTED
    )


def ref(topic: str | bytes) -> pb.TopicRef:
    """A topic by its name or its id."""
    if isinstance(topic, bytes):
        return pb.TopicRef(id=topic)
    return pb.TopicRef(name=topic)


@asynccontextmanager
async def log_replica_on(
    server: RedisServer,
    *,
    producer_expiry: float = 86_400,
    sweep_interval: float = 3600,
    memory_interval: float = 3600,
) -> AsyncIterator[LogReplica]:
    """A replica that runs, connected when it is yielded."""
    replica = LogReplica(
        server.url,
        producer_expiry=producer_expiry,
        sweep_interval=sweep_interval,
        memory_interval=memory_interval,
    )
    running = asyncio.create_task(replica.logs.run())
    try:
        await replica.connected()
        yield replica
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        await replica.redis.aclose()


def snapshot(server: RedisServer) -> dict[bytes, bytes]:
    """All keys with everything in them, to compare before and after."""
    with server.client() as client:
        return {key: client.dump(key) for key in client.keys("*")}
