"""What a group remembers of transactions: late and repeated messages change nothing."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import pytest
from redis.asyncio import Redis

from korvet.coordinator.committed_offsets import Commit, TopicPartition
from korvet.coordinator.owned_store import NotOwnerError
from korvet.coordinator.owner import Owner
from korvet.coordinator.pending_offsets import PendingOffsets, TransactionRef
from korvet.coordinator.scripts import ALL
from korvet.coordinator.transaction import Producer
from korvet.kafka.errors import ErrorCode, KafkaError
from korvet.redis.keys import Keys
from korvet.redis.lane import Lane
from tests.support.eventually import eventually
from tests.support.redis_server import RedisServer

pytestmark = pytest.mark.integration

OWNER: Final = Owner(address="here", incarnation="run", epoch=4)
ORDERS: Final = TopicPartition("orders", 0)
COMMIT_KEY: Final = "korvet:commit:korvet:stream:orders:0:group"
TRANSACTIONS: Final = "korvet:group:group:transactions"


def ref(number: int, *, epoch: int = 0, coordinator: int = 1) -> TransactionRef:
    return TransactionRef(Producer(7, epoch), number, coordinator)


@dataclass
class Group:
    offsets: PendingOffsets
    redis: "Redis"

    async def begin(self, transaction: TransactionRef) -> ErrorCode:
        try:
            await self.offsets.begin("group", transaction)
        except KafkaError as refusal:
            return refusal.code
        return ErrorCode.NONE

    async def commit(self, offset: int, epoch: int = 0, owner: Owner = OWNER) -> ErrorCode:
        commits = {ORDERS: Commit(offset, "topic-id", -1, "")}
        try:
            producer = Producer(7, epoch)
            sent = self.offsets.send("group", owner, producer, commits)
            await self.offsets.sent(sent)
        except KafkaError as refusal:
            return refusal.code
        return ErrorCode.NONE

    async def end(
        self, transaction: TransactionRef, *, is_commit: bool = True
    ) -> Mapping[TopicPartition, Commit]:
        return await self.offsets.end("group", transaction, is_commit=is_commit)

    async def committed(self) -> bytes | None:
        value: Any = await self.redis.get(COMMIT_KEY)
        return None if value is None else bytes(value)

    async def remembered(self) -> list[bytes]:
        value: Any = await self.redis.hget(TRANSACTIONS, "7")
        return bytes(value).split()[:4]


@pytest.fixture
async def group(redis_server: RedisServer, redis: "Redis") -> AsyncIterator[Group]:
    await redis.set("korvet:group:group", "classic 4 1 run here\n{}")
    lane = Lane(redis_server.url, "test", scripts=ALL)
    running = asyncio.create_task(lane.run())
    await eventually(lambda: lane.connected)
    yield Group(PendingOffsets(lane, Keys(), retention=60), redis)
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


NONE = ErrorCode.NONE
NOT_OPEN = ErrorCode.INVALID_TXN_STATE
FENCED = ErrorCode.INVALID_PRODUCER_EPOCH


async def test_a_beginning_may_be_repeated(group: Group) -> None:
    assert [await group.begin(ref(1)), await group.begin(ref(1))] == [NONE, NONE]
    assert await group.commit(5) is NONE
    assert await group.begin(ref(1)) is NONE
    assert await group.end(ref(1)) == {ORDERS: Commit(5, "topic-id", -1, "")}
    assert await group.committed() == b"5"


async def test_a_beginning_that_comes_after_the_end_opens_nothing(group: Group) -> None:
    await group.begin(ref(1))
    await group.end(ref(1))
    assert await group.begin(ref(1)) is NOT_OPEN
    await group.end(ref(2))
    assert [await group.begin(ref(2)), await group.begin(ref(1))] == [NOT_OPEN, NOT_OPEN]
    assert await group.commit(5) is NOT_OPEN
    assert await group.begin(ref(3)) is NONE
    assert await group.begin(ref(2)) is NOT_OPEN


async def test_an_end_of_what_never_began_keeps_it_from_beginning(group: Group) -> None:
    await group.end(ref(1))
    assert await group.begin(ref(1)) is NOT_OPEN
    assert await group.commit(5) is NOT_OPEN


@pytest.mark.parametrize("is_commit", [True, False])
async def test_a_late_end_does_not_end_the_next_one(group: Group, is_commit: bool) -> None:
    await group.begin(ref(1))
    await group.end(ref(1))
    await group.begin(ref(2))
    await group.commit(5)

    for coordinator in (1, 2):
        await group.end(ref(1, coordinator=coordinator), is_commit=is_commit)

    assert await group.committed() is None
    assert await group.remembered() == [b"0", b"2", b"open", b"1"]
    await group.end(ref(2))
    assert await group.committed() == b"5"


@pytest.mark.parametrize("is_commit", [True, False])
async def test_a_repeated_end_changes_nothing(group: Group, is_commit: bool) -> None:
    await group.begin(ref(1))
    await group.commit(5)
    await group.end(ref(1), is_commit=is_commit)
    expected = b"5" if is_commit else None
    await group.end(ref(1), is_commit=not is_commit)
    assert await group.committed() == expected
    assert await group.remembered() == [b"0", b"1", b"ended", b"1"]


async def test_a_coordinator_that_was_overtaken_is_told_so(group: Group) -> None:
    await group.begin(ref(1, coordinator=2))
    await group.commit(5)

    with pytest.raises(NotOwnerError):
        await group.begin(ref(1, coordinator=1))
    with pytest.raises(NotOwnerError):
        await group.begin(ref(2, coordinator=1))
    with pytest.raises(NotOwnerError):
        await group.end(ref(1, coordinator=1))

    assert await group.committed() is None
    await group.end(ref(1, coordinator=3))
    assert await group.committed() == b"5"


async def test_an_end_may_raise_the_epoch(group: Group) -> None:
    await group.begin(ref(1))
    await group.end(ref(1, epoch=1))
    assert await group.commit(5) is FENCED
    assert await group.begin(ref(2)) is FENCED
    assert await group.begin(ref(2, epoch=1)) is NONE
    assert await group.commit(5) is FENCED
    assert await group.commit(5, epoch=2) is NOT_OPEN
    assert await group.commit(5, epoch=1) is NONE


async def test_only_the_groups_owner_takes_offsets(group: Group) -> None:
    await group.begin(ref(1))
    for owner in (
        Owner(address="here", incarnation="run", epoch=3),
        Owner(address="here", incarnation="earlier", epoch=4),
    ):
        with pytest.raises(NotOwnerError):
            await group.commit(5, owner=owner)
    assert await group.offsets.all("group") == {}
