import asyncio

import pytest

from korvet.gateway.fetch_memory import FetchBudget
from korvet.gateway.handlers import fetch as api
from korvet.kafka.compression import ZSTD
from korvet.kafka.errors import ErrorCode
from korvet.kafka.messages.fetch import FetchRequest, FetchResponse
from korvet.kafka.records import build_batch
from korvet.proto.storage.v1 import storage_service_pb2 as pb
from tests.support.fake_storage import FakeStorage
from tests.support.gateway_context import RecordedReply, request_context
from tests.support.gateway_requests import BATCH, batch_of, fetch
from tests.support.kafka_client import KafkaClient, kafka_server, settle


@pytest.fixture
def storage() -> FakeStorage:
    storage = FakeStorage()
    storage.add_topic("orders", 2)
    storage.logs["orders", 0].append(BATCH)
    return storage


async def ask(
    storage: FakeStorage, request: FetchRequest, version: int = 12
) -> FetchResponse.PartitionData:
    """The answer of the only partition, through the codec and a connection."""
    client = KafkaClient(kafka_server(storage))
    answer = await client.ask(request, version, FetchResponse)
    assert answer.error_code == 0
    assert answer.session_id == 0
    return answer.responses[0].partitions[0]


def asked(storage: FakeStorage) -> pb.ReadRequest:
    request = storage.requests[-1]
    assert isinstance(request, pb.ReadRequest)
    return request


@pytest.mark.parametrize("version", range(4, 13))
async def test_batches_are_returned_as_storage_has_them(
    storage: FakeStorage, version: int
) -> None:
    answer = await ask(storage, fetch(), version)

    assert (answer.partition_index, answer.error_code) == (0, 0)
    assert answer.records == BATCH
    assert (answer.high_watermark, answer.last_stable_offset) == (1, 1)
    assert answer.log_start_offset == (0 if version >= 5 else -1)
    assert answer.aborted_transactions is None
    assert answer.preferred_read_replica == -1


@pytest.mark.parametrize("version", range(13, 19))
async def test_from_v13_topics_go_by_id(storage: FakeStorage, version: int) -> None:
    topic_id = storage.topics["orders"].id
    client = KafkaClient(kafka_server(storage))

    answer = await client.ask(fetch("", topic_id=topic_id), version, FetchResponse)

    assert answer.responses[0].topic_id == topic_id
    assert answer.responses[0].partitions[0].records == BATCH
    assert asked(storage).partitions[0].topic == pb.TopicRef(id=topic_id)


async def test_what_cannot_be_read_is_told_with_empty_records(storage: FakeStorage) -> None:
    unknown = await ask(storage, fetch("nowhere"))
    by_id = await ask(storage, fetch("", topic_id=b"x" * 16), 13)
    out_of_range = await ask(storage, fetch(offset=99))

    assert unknown.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert by_id.error_code == ErrorCode.UNKNOWN_TOPIC_ID
    assert out_of_range.error_code == ErrorCode.OFFSET_OUT_OF_RANGE
    # librdkafka takes null for a malformed answer.
    assert unknown.records == b""
    assert unknown.high_watermark == -1


@pytest.mark.parametrize(
    "code", [ErrorCode.FENCED_LEADER_EPOCH, ErrorCode.UNKNOWN_LEADER_EPOCH]
)
async def test_a_wrong_leader_epoch_is_told(storage: FakeStorage, code: ErrorCode) -> None:
    storage.refusals["orders", 0] = pb.PartitionAppended(error_code=code)

    answer = await ask(storage, fetch(current_leader_epoch=3))

    assert answer.error_code == code
    assert asked(storage).partitions[0].current_leader_epoch == 3


async def test_a_client_that_does_not_know_the_epoch_asks_for_none(
    storage: FakeStorage,
) -> None:
    await ask(storage, fetch())

    assert not asked(storage).partitions[0].HasField("current_leader_epoch")


async def test_one_read_serves_all_partitions(storage: FakeStorage) -> None:
    storage.add_topic("payments", 3)
    request = fetch()
    request.topics[0].partitions.append(
        FetchRequest.FetchPartition(partition=1, partition_max_bytes=1000)
    )
    request.topics.append(fetch("payments", partition=2).topics[0])
    client = KafkaClient(kafka_server(storage))

    answer = await client.ask(request, 12, FetchResponse)

    assert [
        (topic.topic, partition.partition_index)
        for topic in answer.responses
        for partition in topic.partitions
    ] == [("orders", 0), ("orders", 1), ("payments", 2)]
    assert len(storage.requests) == 1


async def test_an_empty_fetch_waits_and_is_woken_by_an_append(storage: FakeStorage) -> None:
    client = KafkaClient(kafka_server(storage))
    client.send(fetch(offset=1), 12)
    await settle()
    assert client.answered() == []

    storage.logs["orders", 0].append(BATCH)
    async with storage._grown:
        storage._grown.notify_all()
    await settle()

    assert client.answered() == [1]


async def test_an_empty_fetch_is_answered_when_its_time_is_over(
    storage: FakeStorage,
) -> None:
    context = request_context(storage, 12)

    answer = await api.handle(fetch(offset=1, max_wait_ms=1), context)

    partition = answer.responses[0].partitions[0]
    assert (partition.error_code, partition.records) == (0, b"")


@pytest.mark.parametrize(("session_id", "epoch"), [(7, 1), (0, 5)])
async def test_incremental_sessions_are_refused(
    storage: FakeStorage, session_id: int, epoch: int
) -> None:
    client = KafkaClient(kafka_server(storage))

    answer = await client.ask(
        fetch(session_id=session_id, session_epoch=epoch), 12, FetchResponse
    )

    assert answer.error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    assert (answer.session_id, answer.responses) == (0, [])


@pytest.mark.parametrize(("session_id", "epoch"), [(0, 0), (0, -1), (7, 0), (7, -1)])
async def test_a_fetch_that_names_everything_is_served_whatever_its_session(
    storage: FakeStorage, session_id: int, epoch: int
) -> None:
    answer = await ask(storage, fetch(session_id=session_id, session_epoch=epoch))

    assert answer.records == BATCH


async def test_read_committed_lists_aborted_transactions(storage: FakeStorage) -> None:
    class Storage(FakeStorage):
        async def read(self, request: pb.ReadRequest) -> list[pb.PartitionData]:
            self.requests.append(request)
            aborted = [pb.AbortedTransaction(producer_id=5, first_offset=7)]
            return [pb.PartitionData(batches=BATCH, aborted_transactions=aborted)]

    committed = Storage()

    answer = await ask(committed, fetch(isolation_level=1))
    uncommitted = await ask(committed, fetch(isolation_level=0))

    assert answer.aborted_transactions is not None
    assert [
        (aborted.producer_id, aborted.first_offset)
        for aborted in answer.aborted_transactions
    ] == [(5, 7)]
    assert uncommitted.aborted_transactions is None


async def test_limits_are_passed_on_within_what_the_gateway_allows(
    storage: FakeStorage,
) -> None:
    request = fetch(max_bytes=50 * 1024 * 1024, max_wait_ms=2**31 - 1)
    request.min_bytes = 2**31 - 1
    request.topics[0].partitions[0].partition_max_bytes = -4

    await ask(storage, fetch(max_bytes=3000))
    small = asked(storage)
    storage.refusals["orders", 0] = pb.PartitionAppended(
        error_code=ErrorCode.CORRUPT_MESSAGE
    )
    await ask(storage, request)
    odd = asked(storage)

    assert (small.max_bytes, small.partitions[0].max_bytes) == (3000, 1 << 20)
    assert odd.max_wait_ms == 300_000
    # Not 0, which would be no limit.
    assert (odd.min_bytes, odd.max_bytes) == (1, 1)
    assert odd.partitions[0].max_bytes == 1


async def test_a_fetch_of_nothing_is_answered_at_once(storage: FakeStorage) -> None:
    answer = await KafkaClient(kafka_server(storage)).ask(
        FetchRequest(max_wait_ms=60_000, min_bytes=1), 12, FetchResponse
    )

    assert (answer.error_code, answer.responses) == (0, [])
    assert storage.requests == []


async def test_memory_is_held_until_the_answer_is_written(storage: FakeStorage) -> None:
    storage.logs["orders", 0].append(batch_of(bytes(100_000)))
    budget, reply = FetchBudget(1 << 30), RecordedReply()
    context = request_context(storage, 12, reply=reply, fetch_budget=budget)

    answer = await api.handle(fetch(), context)

    size = len(answer.responses[0].partitions[0].records or b"")
    assert budget.reserved == size > 100_000
    reply.write()
    assert budget.reserved == 0


async def test_without_storage_every_partition_gets_a_code_that_consumers_retry(
    storage: FakeStorage,
) -> None:
    storage.is_away_with = ErrorCode.KAFKA_STORAGE_ERROR

    answer = await ask(storage, fetch(max_wait_ms=0))

    assert answer.error_code == ErrorCode.KAFKA_STORAGE_ERROR
    assert answer.records == b""


async def test_without_storage_a_client_that_can_wait_is_not_answered_at_once(
    storage: FakeStorage,
) -> None:
    storage.is_away_with = ErrorCode.KAFKA_STORAGE_ERROR
    client = KafkaClient(kafka_server(storage))

    client.send(fetch(), 12)
    await settle()

    # It would ask again at once.
    assert client.answered() == []


async def test_zstd_is_withheld_from_clients_before_v10(storage: FakeStorage) -> None:
    zstd = build_batch([(0, 0, None, b"value", [])], base_offset=0, codec=ZSTD)
    storage.logs["orders", 0].append(zstd)

    older = await ask(storage, fetch(), 9)
    newer = await ask(storage, fetch(), 10)

    assert older.error_code == ErrorCode.UNSUPPORTED_COMPRESSION_TYPE
    assert older.records == b""
    assert newer.records == BATCH + zstd


async def test_a_fetch_can_be_cancelled_while_it_waits(storage: FakeStorage) -> None:
    running = asyncio.create_task(api.handle(fetch(offset=1), request_context(storage, 12)))
    await settle()

    running.cancel()

    with pytest.raises(asyncio.CancelledError):
        await running
