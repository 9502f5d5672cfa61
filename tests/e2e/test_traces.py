"""Traces of what clients ask, as a collector receives them from all services."""

import asyncio
from collections.abc import Iterator
from typing import Any, Final

import grpc
import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider

from korvet.client import Korvet, NewRecord
from korvet.proto.coordinator.v1 import coordinator_service_pb2 as pb
from korvet.proto.coordinator.v1 import coordinator_service_pb2_grpc as pb_grpc
from korvet.redis.topic_ids import new_topic_id
from tests.support.eventually import eventually
from tests.support.korvet_process import KorvetCluster
from tests.support.otlp_receiver import OtlpReceiver, ReceivedSpan, SpanLink, Trace, Tree
from tests.support.topic_admin import create_topic
from tests.support.wire_client import WireClient

pytestmark = pytest.mark.e2e

_STORAGE: Final = "korvet.proto.storage.v1.StorageService"
_COORDINATOR: Final = "korvet.proto.coordinator.v1.CoordinatorService"
# A producer's own span.
_PRODUCERS: Final = SpanLink(trace_id="ab" * 16, span_id="cd" * 8)
_HEADERS: Final = [
    ("traceparent", f"00-{_PRODUCERS.trace_id}-{_PRODUCERS.span_id}-01".encode())
]

# A program that traces itself; nothing of it is exported.
_PROGRAM: Final = TracerProvider(shutdown_on_exit=False).get_tracer("a program")


@pytest.fixture(scope="module")
def receiver() -> Iterator[OtlpReceiver]:
    with OtlpReceiver() as receiver:
        yield receiver


@pytest.fixture(scope="module")
def traced(
    tmp_path_factory: pytest.TempPathFactory, receiver: OtlpReceiver
) -> Iterator[KorvetCluster]:
    """A Korvet that records everything."""
    folder = tmp_path_factory.mktemp("traced")
    with KorvetCluster(folder, environ=receiver.environ) as cluster:
        yield cluster
        assert cluster.errors() == []


@pytest.fixture
def log(traced: KorvetCluster, topic: str) -> str:
    create_topic(traced.bootstrap, topic)
    return topic


def asked(receiver: OtlpReceiver, name: str, **attributes: Any) -> ReceivedSpan:
    """The first span of this name with these attributes ('_' for '.')."""

    def fits(span: ReceivedSpan) -> bool:
        told = {key.replace(".", "_"): value for key, value in span.attributes.items()}
        return span.name == name and attributes.items() <= told.items()

    return receiver.wait_for(fits)[0]


# ---------------------------------------------------------------- produce


async def test_a_produce_is_one_trace_from_the_client_to_redis(
    traced: KorvetCluster, receiver: OtlpReceiver, log: str
) -> None:
    async with AIOKafkaProducer(
        bootstrap_servers=traced.bootstrap, client_id="till-4"
    ) as producer:
        sent = await producer.send_and_wait(log, b"value", headers=_HEADERS)

    root = asked(receiver, f"Produce {log}")
    found = receiver.trace_of(root)
    assert found.tree(root) == _through_storage(
        f"gateway server Produce {log}", "Append", ["storage client EVALSHA append"]
    )
    assert root.parent_id == ""
    assert root.attributes["messaging.system"] == "kafka"
    assert root.attributes["messaging.operation.name"] == "Produce"
    assert root.attributes["messaging.operation.type"] == "send"
    assert root.attributes["messaging.destination.name"] == log
    assert root.attributes["messaging.destination.partition.id"] == "0"
    assert root.attributes["messaging.batch.message_count"] == 1
    assert root.attributes["messaging.client.id"] == "till-4"
    assert root.attributes["messaging.kafka.offset"] == sent.offset
    assert "error.type" not in root.attributes
    assert not root.is_error


async def test_a_command_to_redis_tells_the_script_and_the_keys(
    traced: KorvetCluster, receiver: OtlpReceiver, log: str
) -> None:
    async with AIOKafkaProducer(bootstrap_servers=traced.bootstrap) as producer:
        await producer.send_and_wait(log, b"value")

    root = asked(receiver, f"Produce {log}")
    command = receiver.trace_of(root).find("EVALSHA append")
    assert command.attributes["db.system.name"] == "redis"
    assert command.attributes["db.operation.name"] == "EVALSHA"
    assert command.attributes["db.stored_procedure.name"] == "append"
    assert command.attributes["db.namespace"] == "0"
    assert command.attributes["server.port"] == traced.redis.port
    assert f"korvet:stream:{log}:0" in command.attributes["korvet.redis.keys"]


@pytest.mark.parametrize("codec", [None, "gzip", "snappy", "lz4", "zstd"])
async def test_producers_and_consumers_traces_lead_to_ours(
    traced: KorvetCluster, receiver: OtlpReceiver, log: str, codec: str | None
) -> None:
    async with AIOKafkaProducer(
        bootstrap_servers=traced.bootstrap, compression_type=codec, linger_ms=100
    ) as producer:
        first = await producer.send(log, b"value", headers=_HEADERS)
        second = await producer.send(log, bytes(1000), headers=_HEADERS)
        await first
        await second
    async with AIOKafkaConsumer(
        log, bootstrap_servers=traced.bootstrap, auto_offset_reset="earliest"
    ) as consumer:
        record = await consumer.getone()

    produced = asked(receiver, f"Produce {log}", messaging_batch_message_count=2)
    fetched = asked(receiver, f"Fetch {log}", messaging_batch_message_count=2)
    assert produced.links == [_PRODUCERS]
    assert fetched.links == [_PRODUCERS]
    assert list(record.headers) == _HEADERS


def test_a_refused_request_tells_kafkas_name_of_the_error(
    traced: KorvetCluster, receiver: OtlpReceiver, log: str
) -> None:
    with WireClient(traced.bootstrap) as client:
        produced = client.produce(log, b"no record batch")

    refused = asked(receiver, f"Produce {log}")
    assert refused.attributes["error.type"] == produced.error.name
    assert refused.is_error


# ---------------------------------------------------------------- fetch


async def test_a_long_poll_shows_as_waiting_and_not_as_slowness(
    traced: KorvetCluster, receiver: OtlpReceiver, log: str
) -> None:
    async with (
        AIOKafkaConsumer(
            log,
            bootstrap_servers=traced.bootstrap,
            fetch_max_wait_ms=20_000,
            auto_offset_reset="earliest",
        ) as consumer,
        AIOKafkaProducer(bootstrap_servers=traced.bootstrap) as producer,
    ):
        waiting = asyncio.create_task(consumer.getone())
        # What is read before anybody waits.
        await asyncio.to_thread(_looked_for_records, receiver, log)
        await producer.send_and_wait(log, b"value")
        await waiting

    root = asked(receiver, f"Fetch {log}", messaging_batch_message_count=1)
    found = receiver.trace_of(root)
    (call,) = found.children(root)
    (served,) = found.children(call)
    assert (call.service, call.kind, call.name) == ("gateway", "client", f"{_STORAGE}/Read")
    assert (served.service, served.kind) == ("storage", "server")
    parked = found.find("wait for records")
    assert parked.parent_id == served.span_id
    assert parked.attributes["korvet.wait.woken_by"] == "append"
    assert parked.attributes["korvet.wait.seconds"] == pytest.approx(
        parked.seconds, abs=0.05
    )
    # The records are read before, in vain, and after.
    assert {"XRANGE"} < {span.name for span in found.children(served)}


# ---------------------------------------------------------------- groups


async def test_a_parked_join_tells_how_long_it_waited_and_for_whom(
    traced: KorvetCluster, receiver: OtlpReceiver, topic: str
) -> None:
    log = topic
    create_topic(traced.bootstrap, log, partitions=2)
    async with _member(traced, log, "first") as first:
        await eventually(lambda: bool(first.assignment()))
        async with _member(traced, log, "second") as second:
            # The first one has joined again by then, which the second had to wait for.
            await eventually(lambda: bool(second.assignment()))

    joins = receiver.wait_for(
        lambda span: (
            span.name == "JoinGroup"
            and span.attributes["messaging.client.id"] == "second"
            and "error.type" not in span.attributes
        )
    )
    root = joins[0]
    found = receiver.trace_of(root)
    wait = found.find("wait for rebalance")
    assert found.tree(root) == (
        "gateway server JoinGroup",
        [
            (
                f"gateway client {_COORDINATOR}/JoinGroup",
                [
                    (
                        f"coordinator server {_COORDINATOR}/JoinGroup",
                        [
                            ("coordinator client EVALSHA save_owned", []),
                            ("coordinator internal wait for rebalance", []),
                        ],
                    )
                ],
            )
        ],
    )
    assert root.attributes["messaging.consumer.group.name"] == log
    assert wait.attributes["korvet.wait.woken_by"] == "join"
    assert wait.attributes["korvet.wait.seconds"] > 0


async def test_a_commit_is_one_trace_from_the_client_to_redis(
    traced: KorvetCluster, receiver: OtlpReceiver, log: str
) -> None:
    async with (
        AIOKafkaProducer(bootstrap_servers=traced.bootstrap) as producer,
        _member(traced, log, "reader") as consumer,
    ):
        await producer.send_and_wait(log, b"value")
        await consumer.getone()
        await consumer.commit()

    root = asked(receiver, f"OffsetCommit {log}")
    assert receiver.trace_of(root).tree(root) == (
        f"gateway server OffsetCommit {log}",
        [
            (
                f"gateway client {_COORDINATOR}/CommitOffsets",
                [
                    (
                        f"coordinator server {_COORDINATOR}/CommitOffsets",
                        [("coordinator client EVALSHA commit_offsets", [])],
                    )
                ],
            )
        ],
    )
    assert root.attributes["messaging.operation.type"] == "settle"
    assert root.attributes["messaging.consumer.group.name"] == log


async def test_the_end_of_a_transaction_is_one_trace_through_all_three_services(
    traced: KorvetCluster, receiver: OtlpReceiver, log: str
) -> None:
    producer = AIOKafkaProducer(
        bootstrap_servers=traced.bootstrap, transactional_id=log, client_id="ledger"
    )
    async with producer, producer.transaction():
        await producer.send(log, b"value")

    root = asked(receiver, "EndTxn", messaging_client_id="ledger")
    found = receiver.trace_of(root)
    (call,) = found.children(root)
    (ended,) = found.children(call)
    assert (ended.service, ended.name) == (
        "coordinator",
        f"{_COORDINATOR}/EndTransaction",
    )
    (told,) = [span for span in found.children(ended) if span.is_call]
    assert found.tree(told) == (
        f"coordinator client {_STORAGE}/EndTransaction",
        [
            (
                f"storage server {_STORAGE}/EndTransaction",
                [("storage client EVALSHA end_transaction", [])],
            )
        ],
    )


# ---------------------------------------------------------------- over gRPC


async def test_a_grpc_clients_own_trace_goes_on_in_ours(
    traced: KorvetCluster, receiver: OtlpReceiver, log: str
) -> None:
    async with Korvet(traced.storage) as client:
        with _PROGRAM.start_as_current_span("checkout") as span:
            mine = span.get_span_context()
            record = NewRecord(value=b"value", headers=[("traceparent", _HEADERS[0][1])])
            (position,) = await client.append_many(log, [record])
            await client.read(log, offset=position.offset)

    trace_id = trace.format_trace_id(mine.trace_id)
    append = asked(receiver, f"{_STORAGE}/Append", messaging_destination_name=log)
    read = asked(receiver, f"{_STORAGE}/Read", messaging_destination_name=log)
    found = receiver.trace_of(append)
    for served in (append, read):
        assert served.trace_id == trace_id
        assert served.parent_id == trace.format_span_id(mine.span_id)
        assert served.links == [_PRODUCERS]
        assert served.attributes["messaging.batch.message_count"] == 1
    assert append.attributes["messaging.kafka.offset"] == position.offset
    assert _names(found, append) == ["EVALSHA append"]
    assert "XRANGE" in _names(found, read)


async def test_a_long_poll_over_grpc_shows_as_waiting(
    traced: KorvetCluster, receiver: OtlpReceiver, log: str
) -> None:
    async with Korvet(traced.storage) as client:
        await client.read(log, offset=0, max_wait=0.3)

    root = asked(receiver, f"{_STORAGE}/Read", messaging_destination_name=log)
    wait = receiver.trace_of(root).find("wait for records")
    assert wait.parent_id == root.span_id
    assert wait.attributes["korvet.wait.woken_by"] == "time"
    assert wait.attributes["korvet.wait.seconds"] == pytest.approx(0.3, abs=0.2)


async def test_a_join_and_a_commit_over_grpc_carry_their_callers_trace(
    traced: KorvetCluster, receiver: OtlpReceiver, log: str
) -> None:
    commit = pb.CommitOffsetsRequest(group_id=log, generation_id=-1)
    commit.offsets.add(topic=log, topic_id=new_topic_id(), offset=7, leader_epoch=-1)
    join = pb.JoinGroupRequest(
        group_id=f"{log}-members",
        protocol_type="consumer",
        session_timeout_ms=10_000,
        rebalance_timeout_ms=10_000,
        protocols=[pb.MemberProtocol(name="range", metadata=b"")],
    )
    sent = (("traceparent", _HEADERS[0][1].decode()),)
    async with grpc.aio.insecure_channel(traced.coordinator) as channel:
        stub: pb_grpc.CoordinatorServiceAsyncStub = pb_grpc.CoordinatorServiceStub(channel)
        joined = await stub.JoinGroup(join, metadata=sent, timeout=10)
        committed = await stub.CommitOffsets(commit, metadata=sent, timeout=10)

    assert (joined.error_code, list(committed.offset_error_codes)) == (0, [0])
    served = receiver.wait_for(lambda span: span.parent_id == _PRODUCERS.span_id, count=2)
    assert [(span.kind, span.name) for span in served] == [
        ("server", f"{_COORDINATOR}/JoinGroup"),
        ("server", f"{_COORDINATOR}/CommitOffsets"),
    ]
    found = receiver.trace_of(served[0])
    assert "EVALSHA save_owned" in _names(found, served[0])
    assert "EVALSHA commit_offsets" in _names(found, served[1])


# ---------------------------------------------------------------- how it is put


def _through_storage(root: str, method: str, commands: list[str]) -> Tree:
    leaves: list[Any] = [(command, []) for command in commands]
    served = (f"storage server {_STORAGE}/{method}", leaves)
    return root, [(f"gateway client {_STORAGE}/{method}", [served])]


def _looked_for_records(receiver: OtlpReceiver, topic: str) -> None:
    index = [f"korvet:index:{topic}:0"]
    receiver.wait_for(
        lambda span: span.attributes.get("korvet.redis.keys") == index, count=2
    )


def _names(found: Trace, parent: ReceivedSpan) -> list[str]:
    return [span.name for span in found.children(parent)]


def _member(korvet: KorvetCluster, topic: str, client_id: str) -> AIOKafkaConsumer:
    """A member of the group that has the topic's name."""
    return AIOKafkaConsumer(
        topic,
        bootstrap_servers=korvet.bootstrap,
        client_id=client_id,
        group_id=topic,
        heartbeat_interval_ms=100,
        enable_auto_commit=False,
        auto_offset_reset="earliest",
    )
