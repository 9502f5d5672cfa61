"""Transactions by Kafka's producers, as who reads over gRPC sees them."""

import grpc
import pytest

from korvet.kafka.errors import ErrorCode
from korvet.proto.storage.v1 import storage_service_pb2 as pb
from korvet.proto.storage.v1 import storage_service_pb2_grpc as rpc
from tests.support.client_contract import Isolation
from tests.support.confluent_client import ConfluentClient
from tests.support.history import Partition
from tests.support.korvet_process import KorvetCluster
from tests.support.noted_transactions import abort, begin, commit, judge
from tests.support.transaction_history import TransactionHistory

pytestmark = pytest.mark.e2e


def test_grpc_reads_with_either_isolation(
    korvet: KorvetCluster,
    log: str,
) -> None:
    history = TransactionHistory()
    client, first = ConfluentClient(), Partition(log, 0)
    ref = pb.TopicRef(name=first.topic)
    with client.transactional(korvet.bootstrap, f"writer of {log}") as producer:
        commit(producer, begin(history, "kafka", producer, {first: [b"a", b"b"]}))
        abort(producer, begin(history, "kafka", producer, {first: [b"x"]}))
        commit(producer, begin(history, "kafka", producer, {first: [b"c"]}))
        still_open = begin(history, "kafka", producer, {first: [b"d"]})
        with grpc.insecure_channel(korvet.storage) as channel:
            storage = rpc.StorageServiceStub(channel)
            for isolation, level, expected in (
                (Isolation.COMMITTED, pb.ISOLATION_LEVEL_READ_COMMITTED, b"abc"),
                (Isolation.UNCOMMITTED, pb.ISOLATION_LEVEL_READ_UNCOMMITTED, b"abxcd"),
            ):
                read = history.reader(f"Read {isolation}", isolation)
                for record in _grpc_read(storage, ref, level):
                    read.read(first, record.offset, record.value)
                tail = history.reader(f"Tail {isolation}", isolation)
                for record in _grpc_tail(storage, ref, level, len(expected)):
                    tail.read(first, record.offset, record.value)
                for reader in (read, tail):
                    assert b"".join(each.value for each in reader.reads[first]) == expected
        commit(producer, still_open)

    judge(korvet.bootstrap, history, [first], client)


def _grpc_read(
    storage: rpc.StorageServiceStub, ref: pb.TopicRef, level: pb.IsolationLevel.ValueType
) -> list[pb.Record]:
    found: list[pb.Record] = []
    offset = 0
    while True:
        part = pb.PartitionRead(topic=ref, partition=0, offset=offset, max_bytes=1 << 20)
        request = pb.ReadRequest(
            partitions=[part], max_bytes=1 << 20, isolation_level=level, decoded=True
        )
        (data,) = storage.Read(request, timeout=20).partitions
        assert data.error_code == ErrorCode.NONE, data.error_message
        found += data.records
        if data.next_offset == offset:
            return found
        offset = data.next_offset


def _grpc_tail(
    storage: rpc.StorageServiceStub,
    ref: pb.TopicRef,
    level: pb.IsolationLevel.ValueType,
    count: int,
) -> list[pb.Record]:
    request = pb.TailRequest(topic=ref, timestamp_ms=-2, isolation_level=level)
    found: list[pb.Record] = []
    call = storage.Tail(request, timeout=20)
    for answer in call:
        assert answer.error_code == ErrorCode.NONE, answer.error_message
        found += answer.records
        if len(found) >= count:
            call.cancel()
            break
    return found
