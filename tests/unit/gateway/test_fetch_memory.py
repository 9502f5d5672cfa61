import asyncio

from korvet.gateway.fetch_memory import FLOOR, ConnectionFetches, FetchBudget
from tests.support.gateway_context import RecordedReply

MEBIBYTE = 1024 * 1024


def connection(budget: FetchBudget, *, max_bytes: int = 16 * MEBIBYTE) -> ConnectionFetches:
    return ConnectionFetches(budget, max_bytes=max_bytes)


async def fetch(fetches: ConnectionFetches, wanted: int, size: int) -> int:
    """One fetch from begin to end; how much it was granted."""
    reply = RecordedReply()
    grant = await fetches.take(wanted, reply)
    grant.answered(size)
    reply.write()
    return grant.size


async def test_the_window_grows_with_full_answers_up_to_the_limit() -> None:
    fetches = connection(FetchBudget(1 << 30))

    granted = [await fetch(fetches, 50 * MEBIBYTE, 50 * MEBIBYTE) for _ in range(6)]

    assert granted == [n * MEBIBYTE for n in (1, 2, 4, 8, 16, 16)]


async def test_the_window_shrinks_for_a_consumer_at_the_end_of_the_log() -> None:
    fetches = connection(FetchBudget(1 << 30))

    granted = [await fetch(fetches, 50 * MEBIBYTE, 100) for _ in range(4)]

    assert granted == [MEBIBYTE, MEBIBYTE // 2, FLOOR, FLOOR]


async def test_no_fetch_is_granted_more_than_it_wants() -> None:
    assert await fetch(connection(FetchBudget(1 << 30)), 1000, 1000) == 1000


async def test_when_memory_is_short_fetches_get_the_floor_instead_of_waiting() -> None:
    budget = FetchBudget(3 * MEBIBYTE)

    grants = [await connection(budget).take(MEBIBYTE, RecordedReply()) for _ in range(5)]

    assert [grant.size for grant in grants] == [MEBIBYTE, MEBIBYTE, MEBIBYTE, FLOOR, FLOOR]


async def test_memory_is_counted_as_the_answer_takes_it_and_given_back_when_written() -> (
    None
):
    budget = FetchBudget(10 * MEBIBYTE)
    reply = RecordedReply()

    grant = await connection(budget).take(MEBIBYTE, reply)
    assert budget.reserved == MEBIBYTE
    grant.answered(3 * MEBIBYTE)
    assert budget.reserved == 3 * MEBIBYTE
    reply.write()
    assert budget.reserved == 0


async def test_a_third_fetch_waits_until_the_client_has_taken_an_answer() -> None:
    fetches = connection(FetchBudget(1 << 30))
    first = RecordedReply()
    await fetches.take(1000, first)
    await fetches.take(1000, RecordedReply())

    third = asyncio.ensure_future(fetches.take(1000, RecordedReply()))
    await asyncio.sleep(0)
    assert not third.done()
    first.write()

    assert (await third).size == 1000
