import asyncio

import pytest

from korvet.gateway.handler import PartitionBatch, TopicPartition
from korvet.gateway.handlers import produce as api
from korvet.kafka.compression import ZSTD
from korvet.kafka.errors import ErrorCode, KafkaError
from korvet.kafka.frames import encode_request
from korvet.kafka.messages.produce import ProduceRequest, ProduceResponse
from korvet.kafka.records import build_batch
from korvet.proto.storage.v1 import storage_service_pb2 as pb
from tests.support.fake_storage import FakeStorage
from tests.support.gateway_context import RecordedReply, request_context
from tests.support.gateway_requests import BATCH, produce
from tests.support.kafka_client import KafkaClient, kafka_server, settle


@pytest.fixture
def storage() -> FakeStorage:
    storage = FakeStorage()
    storage.add_topic("orders", 2)
    return storage


async def ask(
    storage: FakeStorage, request: ProduceRequest, version: int = 9
) -> ProduceResponse.PartitionProduceResponse:
    """The answer of the only partition, through the codec and a connection."""
    client = KafkaClient(kafka_server(storage))
    answer = await client.ask(request, version, ProduceResponse)
    return answer.responses[0].partition_responses[0]


@pytest.mark.parametrize("version", range(3, 13))
async def test_a_batch_is_appended_as_it_was_sent(
    storage: FakeStorage, version: int
) -> None:
    storage.logs["orders", 1].append(BATCH)
    storage.logs["orders", 1].log_start = 1

    answer = await ask(storage, produce(partition=1), version)

    assert (answer.index, answer.error_code, answer.base_offset) == (1, 0, 1)
    assert answer.log_append_time_ms == -1
    assert answer.log_start_offset == (1 if version >= 5 else -1)
    sent, _, time_limit = storage.appends[0]
    assert sent == [PartitionBatch(TopicPartition("orders", b"", 1), BATCH)]
    assert time_limit == 1.0


async def test_from_v13_topics_go_by_id(storage: FakeStorage) -> None:
    topic_id = storage.topics["orders"].id
    client = KafkaClient(kafka_server(storage))

    answer = await client.ask(produce("", topic_id=topic_id), 13, ProduceResponse)

    assert answer.responses[0].topic_id == topic_id
    assert answer.responses[0].partition_responses[0].error_code == 0
    assert storage.appends[0][0][0].target == TopicPartition("", topic_id, 0)


async def test_an_unknown_topic_is_3_by_name_and_100_by_id(storage: FakeStorage) -> None:
    by_name = await ask(storage, produce("nowhere"))
    by_id = await ask(storage, produce("", topic_id=b"x" * 16), 13)
    partition = await ask(storage, produce(partition=9))

    assert by_name.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert by_id.error_code == ErrorCode.UNKNOWN_TOPIC_ID
    assert partition.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert by_name.base_offset == -1


@pytest.mark.parametrize(
    ("acks", "asked"), [(0, pb.ACKS_LEADER), (1, pb.ACKS_LEADER), (-1, pb.ACKS_ALL)]
)
async def test_acks_are_passed_on(storage: FakeStorage, acks: int, asked: int) -> None:
    await api.handle(produce(acks=acks), request_context(storage, 9))

    assert storage.appends[0][1] == asked


@pytest.mark.parametrize("acks", [2, -2, 100])
async def test_other_acks_are_refused(storage: FakeStorage, acks: int) -> None:
    answer = await ask(storage, produce(acks=acks))

    assert answer.error_code == ErrorCode.INVALID_REQUIRED_ACKS
    assert answer.base_offset == -1
    assert storage.appends == []


@pytest.mark.parametrize("records", [None, b""])
async def test_a_partition_without_records_is_an_invalid_record(
    storage: FakeStorage, records: bytes | None
) -> None:
    answer = await ask(storage, produce(batch=records))

    assert answer.error_code == ErrorCode.INVALID_RECORD
    assert answer.error_message


async def test_zstd_is_refused_before_v7(storage: FakeStorage) -> None:
    zstd = build_batch([(0, 0, None, b"value", [])], base_offset=0, codec=ZSTD)

    assert (await ask(storage, produce(batch=zstd), 6)).error_code == (
        ErrorCode.UNSUPPORTED_COMPRESSION_TYPE
    )
    assert (await ask(storage, produce(batch=zstd), 7)).error_code == 0
    # What is no batch at all is for storage to find.
    assert (await ask(storage, produce(batch=b"garbage"), 6)).error_code == (
        ErrorCode.CORRUPT_MESSAGE
    )


async def test_partitions_succeed_and_fail_one_by_one(storage: FakeStorage) -> None:
    request = produce()
    request.topic_data[0].partition_data += [
        ProduceRequest.PartitionProduceData(index=7, records=BATCH),
        ProduceRequest.PartitionProduceData(index=1, records=None),
        ProduceRequest.PartitionProduceData(index=1, records=BATCH),
    ]
    request.topic_data.append(produce("nowhere").topic_data[0])
    client = KafkaClient(kafka_server(storage))

    answer = await client.ask(request, 9, ProduceResponse)

    assert [
        (topic.name, partition.index, partition.error_code)
        for topic in answer.responses
        for partition in topic.partition_responses
    ] == [
        ("orders", 0, ErrorCode.NONE),
        ("orders", 7, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ("orders", 1, ErrorCode.INVALID_RECORD),
        ("orders", 1, ErrorCode.NONE),
        ("nowhere", 0, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
    ]


async def test_what_is_wrong_with_records_is_told_from_v8(storage: FakeStorage) -> None:
    storage.refusals["orders", 0] = pb.PartitionAppended(
        error_code=ErrorCode.INVALID_RECORD,
        error_message="no JSON",
        record_errors=[pb.RecordError(index=3, message="bad"), pb.RecordError(index=4)],
    )

    answer = await ask(storage, produce(), 8)
    older = await ask(storage, produce(), 7)

    assert (answer.error_code, answer.error_message) == (87, "no JSON")
    assert [
        (error.batch_index, error.batch_index_error_message)
        for error in answer.record_errors
    ] == [(3, "bad"), (4, None)]
    assert (older.error_code, older.record_errors) == (87, [])


@pytest.mark.parametrize(
    "code", [ErrorCode.KAFKA_STORAGE_ERROR, ErrorCode.REQUEST_TIMED_OUT]
)
async def test_the_fate_of_a_batch_is_passed_on(
    storage: FakeStorage, code: ErrorCode
) -> None:
    storage.is_away_with = code

    assert (await ask(storage, produce())).error_code == code


async def test_without_acks_the_answer_is_skipped_before_anything_is_waited_for(
    storage: FakeStorage,
) -> None:
    storage.may_answer.clear()
    reply = RecordedReply()

    running = asyncio.create_task(
        api.handle(produce(acks=0), request_context(storage, 9, reply=reply))
    )
    await settle()
    assert reply.is_skipped
    storage.may_answer.set()

    assert await running is None


async def test_without_acks_an_error_is_raised_so_that_the_client_is_hung_up_on(
    storage: FakeStorage,
) -> None:
    request = produce("nowhere", acks=0)

    with pytest.raises(KafkaError) as failed:
        await api.handle(request, request_context(storage, 9))

    assert api.refuse(request, failed.value, 9) is None


@pytest.mark.parametrize("timeout_ms", [-5, 0, 2**31 - 1])
async def test_time_limits_are_sensible_whatever_the_client_says(
    storage: FakeStorage, timeout_ms: int
) -> None:
    request = produce()
    request.timeout_ms = timeout_ms

    await api.handle(request, request_context(storage, 9))

    assert 0 <= storage.appends[0][2] <= 300


async def test_two_requests_keep_their_order_while_the_first_is_held_up(
    storage: FakeStorage,
) -> None:
    order = asyncio.Lock()
    await order.acquire()
    first = asyncio.create_task(
        api.handle(produce(), request_context(storage, 9, produce_order=order))
    )
    second = asyncio.create_task(
        api.handle(produce(partition=1), request_context(storage, 9, produce_order=order))
    )
    await settle()
    assert storage.appends == []

    order.release()
    await asyncio.gather(first, second)

    assert [batches[0].target.partition for batches, _, _ in storage.appends] == [0, 1]


@pytest.mark.parametrize(
    ("version", "rest"), [(0, b""), (1, bytes(4)), (2, b"\xff" * 8 + bytes(4))]
)
async def test_v0_to_v2_are_answered_with_unsupported_version(
    storage: FakeStorage, version: int, rest: bytes
) -> None:
    # The request of v0-v2 is that of v3 without the transactional id.
    frame = encode_request(9, produce(), 3, "test")
    cut = 4 + 8 + 2 + len("test")
    old = frame[4:6] + version.to_bytes(2, "big") + frame[8:cut] + frame[cut + 2 :]
    client = KafkaClient(kafka_server(storage))

    client.send_bytes(len(old).to_bytes(4, "big") + old)
    await settle()

    assert client.transport.frames() == [
        bytes.fromhex("00000009 00000001 0006")
        + b"orders"
        + bytes.fromhex("00000001 00000000 0023 ffffffffffffffff")
        + rest
    ]
    assert not client.transport.is_closing()
    assert storage.appends == []


async def test_v0_without_acks_is_hung_up_on(storage: FakeStorage) -> None:
    frame = encode_request(9, produce(acks=0), 3, "test")
    cut = 4 + 8 + 2 + len("test")
    old = frame[4:6] + b"\0\0" + frame[8:cut] + frame[cut + 2 :]
    client = KafkaClient(kafka_server(storage))

    client.send_bytes(len(old).to_bytes(4, "big") + old)

    assert client.transport.is_closing()
