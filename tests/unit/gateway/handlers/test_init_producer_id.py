import pytest

from korvet.gateway.handlers.init_producer_id import HANDLER
from korvet.kafka.errors import ErrorCode
from korvet.kafka.messages.init_producer_id import (
    InitProducerIdRequest,
    InitProducerIdResponse,
)
from korvet.proto.coordinator.v1 import coordinator_service_pb2 as pb
from tests.support.fake_storage import FakeStorage
from tests.support.fake_transactions import FakeTransactions
from tests.support.handler_calls import call


async def ask(
    request: InitProducerIdRequest,
    version: int,
    *,
    storage: FakeStorage | None = None,
    transactions: FakeTransactions | None = None,
) -> InitProducerIdResponse:
    return await call(
        HANDLER, request, version, storage or FakeStorage(), transactions=transactions
    )


def idempotent() -> InitProducerIdRequest:
    return InitProducerIdRequest(transactional_id=None)


def transactional(
    transactional_id: str = "id", *, producer_id: int = -1, producer_epoch: int = -1
) -> InitProducerIdRequest:
    return InitProducerIdRequest(
        transactional_id=transactional_id,
        transaction_timeout_ms=60_000,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
    )


def told(answer: InitProducerIdResponse) -> tuple[int, int, int]:
    return answer.error_code, answer.producer_id, answer.producer_epoch


@pytest.mark.parametrize("version", range(6))
async def test_every_idempotent_producer_gets_an_id_of_its_own(version: int) -> None:
    storage = FakeStorage()
    transactions = FakeTransactions()

    first = await ask(idempotent(), version, storage=storage, transactions=transactions)
    second = await ask(idempotent(), version, storage=storage, transactions=transactions)

    assert [told(first), told(second)] == [(0, 1000, 0), (0, 1001, 0)]
    assert transactions.requests == []


@pytest.mark.parametrize("version", range(6))
async def test_a_transactional_producer_gets_its_id_and_epoch_from_the_coordinator(
    version: int,
) -> None:
    transactions = FakeTransactions()

    answer = await ask(transactional(), version, transactions=transactions)

    assert told(answer) == (0, 4000, 3)
    assert transactions.requests == [
        pb.InitProducerRequest(
            transactional_id="id",
            transaction_timeout_ms=60_000,
            producer_id=-1,
            producer_epoch=-1,
        )
    ]


@pytest.mark.parametrize("version", [3, 4, 5])
async def test_what_a_producer_has_been_using_is_passed_on(version: int) -> None:
    transactions = FakeTransactions()
    request = transactional(producer_id=4000, producer_epoch=2)

    await ask(request, version, transactions=transactions)

    (asked,) = transactions.requests
    assert isinstance(asked, pb.InitProducerRequest)
    assert (asked.producer_id, asked.producer_epoch) == (4000, 2)


@pytest.mark.parametrize(
    "request_",
    [
        transactional(""),
        transactional(producer_id=4000),
        transactional(producer_epoch=2),
        InitProducerIdRequest(transactional_id=None, producer_id=4000),
    ],
)
async def test_what_makes_no_sense_is_an_invalid_request(
    request_: InitProducerIdRequest,
) -> None:
    assert told(await ask(request_, 5)) == (ErrorCode.INVALID_REQUEST, -1, -1)


@pytest.mark.parametrize("version", range(6))
async def test_fencing_is_told_as_the_version_knows_it(version: int) -> None:
    transactions = FakeTransactions()
    transactions.code = ErrorCode.PRODUCER_FENCED

    answer = await ask(transactional(), version, transactions=transactions)

    fenced = ErrorCode.PRODUCER_FENCED if version >= 4 else ErrorCode.INVALID_PRODUCER_EPOCH
    assert told(answer) == (fenced, -1, -1)


@pytest.mark.parametrize(
    "code", [ErrorCode.INVALID_TRANSACTION_TIMEOUT, ErrorCode.CONCURRENT_TRANSACTIONS]
)
async def test_other_refusals_are_passed_on(code: ErrorCode) -> None:
    transactions = FakeTransactions()
    transactions.code = code

    assert told(await ask(transactional(), 0, transactions=transactions)) == (code, -1, -1)


async def test_without_storage_or_a_coordinator_the_code_is_one_that_producers_retry() -> (
    None
):
    storage = FakeStorage()
    transactions = FakeTransactions()
    away = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    storage.is_away_with = transactions.is_away_with = away

    for request in (idempotent(), transactional()):
        answer = await ask(request, 4, storage=storage, transactions=transactions)
        assert told(answer) == (away, -1, -1)
