"""`korvet transactions` as a process, beside a coordinator that says what a test wants."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from korvet.kafka.errors import ErrorCode
from korvet.proto.coordinator.v1 import coordinator_service_pb2 as pb
from tests.support.coordinator_server import CoordinatorServer
from tests.support.up_process import Ended, korvet

pytestmark = pytest.mark.integration

STARTED = 1_700_000_000_000


class Transactions(CoordinatorServer):
    def __init__(self, folder: Path, name: str) -> None:
        super().__init__(folder, name)
        self.asked: list[object] = []
        self.code = ErrorCode.NONE
        self.described = [
            pb.DescribeTransactionsResponse.Transaction(
                transactional_id="billing-1",
                state="Ongoing",
                producer_id=4000,
                producer_epoch=3,
                timeout_ms=60_000,
                started_ms=STARTED,
                topics=[
                    pb.DescribeTransactionsResponse.Partitions(
                        topic="orders", partitions=[0, 1]
                    )
                ],
                groups=["billing"],
            ),
            pb.DescribeTransactionsResponse.Transaction(
                transactional_id="audit", state="Empty", producer_id=4001, started_ms=-1
            ),
        ]

    async def ListTransactions(
        self, request: pb.ListTransactionsRequest, context: object
    ) -> pb.ListTransactionsResponse:
        self.asked.append(request)
        response = pb.ListTransactionsResponse(error_code=self.code)
        for each in self.described:
            response.transactions.add(transactional_id=each.transactional_id)
        return response

    async def DescribeTransactions(
        self, request: pb.DescribeTransactionsRequest, context: object
    ) -> pb.DescribeTransactionsResponse:
        known = {each.transactional_id: each for each in self.described}
        absent = pb.DescribeTransactionsResponse.Transaction(
            error_code=ErrorCode.TRANSACTIONAL_ID_NOT_FOUND
        )
        return pb.DescribeTransactionsResponse(
            transactions=[known.get(each, absent) for each in request.transactional_ids]
        )

    async def AbortTransaction(
        self, request: pb.AbortTransactionRequest, context: object
    ) -> pb.AbortTransactionResponse:
        self.asked.append(request)
        response = pb.AbortTransactionResponse(error_code=self.code)
        self._say_owner(response)
        return response


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[Transactions]:
    server = Transactions(tmp_path, "a")
    await server.start()
    yield server
    await server.kill()


async def run(server: Transactions, *arguments: str) -> Ended:
    environ = {"KORVET_COORDINATOR": server.address, "KORVET_STORAGE": "not-used:1"}
    return await asyncio.to_thread(korvet, "transactions", *arguments, environ=environ)


def failed(ended: Ended) -> str:
    assert (ended.code, ended.out) == (1, b"")
    return ended.err


async def test_a_listing_is_a_table_by_name(server: Transactions) -> None:
    ended = await run(server, "list")

    assert ended.code == 0, ended.err
    title, first, second = ended.out.decode().splitlines()
    assert title.split() == [
        *("Transactional", "id", "State", "Producer", "Epoch"),
        *("Open", "for", "Partitions", "Groups"),
    ]
    assert first.split() == ["audit", "Empty", "4001", "0", "-", "0", "0"]
    assert second.split()[:4] == ["billing-1", "Ongoing", "4000", "3"]
    assert server.asked == [pb.ListTransactionsRequest(running_longer_than_ms=-1)]


async def test_a_listing_is_json_for_programs(server: Transactions) -> None:
    ended = await run(server, "list", "--json")

    assert [each["transactional_id"] for each in json.loads(ended.out)] == [
        "audit",
        "billing-1",
    ]


async def test_the_coordinator_is_told_what_to_list(server: Transactions) -> None:
    server.described.clear()
    narrow = "--state", "ongoing", "--state", "PrepareAbort", "--longer-than", "1.5"

    ended = await run(server, "list", *narrow, "--matching", "b.*")

    assert ended.out.decode() == "There are no such transactions.\n"
    assert server.asked == [
        pb.ListTransactionsRequest(
            states=["Ongoing", "PrepareAbort"],
            running_longer_than_ms=1500,
            transactional_id_pattern="b.*",
        )
    ]


async def test_without_transactions_a_listing_says_how_they_come_about(
    server: Transactions,
) -> None:
    server.described.clear()

    assert "A producer with a transactional id" in (await run(server, "list")).out.decode()
    assert json.loads((await run(server, "list", "--json")).out) == []


async def test_a_bad_pattern_is_explained(server: Transactions) -> None:
    server.code = ErrorCode.INVALID_REGULAR_EXPRESSION

    assert "( is no regular expression." in failed(
        await run(server, "list", "--matching", "(")
    )


async def test_a_transaction_is_described(server: Transactions) -> None:
    ended = await run(server, "describe", "billing-1")
    as_json = await run(server, "describe", "billing-1", "--json")

    assert ended.out.decode().startswith("billing-1: Ongoing, open for")
    assert json.loads(as_json.out)["partitions"] == {"orders": [0, 1]}


async def test_an_id_that_is_not_there_is_told_with_what_to_do(
    server: Transactions,
) -> None:
    told = failed(await run(server, "describe", "nobody"))

    assert "There is no transactional id nobody." in told
    assert "korvet transactions list" in told


async def test_a_transaction_is_aborted_by_its_owner(
    server: Transactions, tmp_path: Path
) -> None:
    owner = Transactions(tmp_path, "b")
    await owner.start()
    server.names(owner)
    try:
        ended = await run(server, "abort", "billing-1")
    finally:
        await owner.kill()

    assert ended.out.decode() == "Aborted the transaction of billing-1.\n"
    aborted = pb.AbortTransactionRequest(transactional_id="billing-1")
    assert server.asked == owner.asked == [aborted]


async def test_an_abort_answers_programs(server: Transactions) -> None:
    ended = await run(server, "abort", "billing-1", "--json")

    assert json.loads(ended.out) == {"aborted": "billing-1"}


@pytest.mark.parametrize(
    ("code", "problem", "advice"),
    [
        (
            ErrorCode.TRANSACTIONAL_ID_NOT_FOUND,
            "There is no transactional id x.",
            "korvet transactions list",
        ),
        (
            ErrorCode.INVALID_TXN_STATE,
            "x has no transaction open.",
            "korvet transactions describe x",
        ),
        (ErrorCode.CONCURRENT_TRANSACTIONS, "x is decided", "Wait;"),
        (ErrorCode.UNKNOWN_SERVER_ERROR, "refused for x (UNKNOWN_SERVER_ERROR)", ""),
    ],
)
async def test_a_refused_abort_says_why(
    server: Transactions, code: ErrorCode, problem: str, advice: str
) -> None:
    server.code = code

    told = failed(await run(server, "abort", "x"))

    assert problem in told
    assert advice in told


async def test_nobody_there_is_told_with_where_to_look(tmp_path: Path) -> None:
    gone = Transactions(tmp_path, "gone")

    for command in (["list"], ["describe", "x"], ["abort", "x"]):
        assert "--coordinator" in failed(await run(gone, *command))
