"""Who owns a group: it survives its coordinator, and has one owner at a time."""

import asyncio
from typing import Any, TypeAlias

import pytest
from redis.asyncio import Redis

from korvet.kafka.errors import ErrorCode
from korvet.proto.coordinator.v1 import coordinator_service_pb2 as pb
from tests.support.coordinator_replica import CoordinatorReplica, StartCoordinator
from tests.support.eventually import eventually

pytestmark = pytest.mark.integration


Parked: TypeAlias = "asyncio.Task[pb.JoinGroupResponse]"


async def parked(replica: CoordinatorReplica, group: str) -> tuple[str, Parked]:
    """A new member, and its join, which waits until the others join again."""
    required = await replica.join(group, requires_member_id=True)
    assert required.error_code == ErrorCode.MEMBER_ID_REQUIRED
    waiting = asyncio.create_task(replica.join(group, required.member_id))

    async def is_preparing() -> bool:
        return (await replica.describe(group)).state == "PreparingRebalance"

    await eventually(is_preparing)
    return required.member_id, waiting


async def test_a_restarted_coordinator_goes_on_in_the_same_generation(
    coordinator: CoordinatorReplica,
) -> None:
    member = await coordinator.member("group")
    await coordinator.commit("group", 7, member)

    await coordinator.crash()
    await coordinator.start()

    assert await coordinator.heartbeat("group", member) is ErrorCode.NONE
    answer = await coordinator.commit("group", 8, member)
    assert (answer.error_code, list(answer.offset_error_codes)) == (0, [0])
    described = await coordinator.describe("group")
    assert (described.state, described.generation_id) == ("Stable", 1)
    assert [each.assignment for each in described.members] == [b"everything"]
    assert await coordinator.committed("group") == {("orders", 0): 8}


async def test_a_join_that_was_parked_in_a_crash_can_be_made_again(
    coordinator: CoordinatorReplica,
) -> None:
    member = await coordinator.member("group")
    new_id, waiting = await parked(coordinator, "group")

    await coordinator.crash()
    await asyncio.gather(waiting, return_exceptions=True)
    await coordinator.start()

    assert await coordinator.heartbeat("group", member) is ErrorCode.REBALANCE_IN_PROGRESS
    again, new = await asyncio.gather(
        coordinator.join("group", member.member_id), coordinator.join("group", new_id)
    )
    assert (again.generation_id, new.generation_id) == (2, 2)
    assert again.leader == member.member_id


async def test_a_sync_that_was_parked_in_a_crash_can_be_made_again(
    coordinator: CoordinatorReplica,
) -> None:
    first = await coordinator.member("group")
    _, joining = await parked(coordinator, "group")
    leader = await coordinator.join("group", first.member_id)
    follower = await joining
    waiting = asyncio.create_task(coordinator.sync("group", follower))

    await coordinator.crash()
    await asyncio.gather(waiting, return_exceptions=True)
    await coordinator.start()

    assignments = {leader.member_id: b"a", follower.member_id: b"b"}
    synced, other = await asyncio.gather(
        coordinator.sync("group", leader, assignments), coordinator.sync("group", follower)
    )
    assert (synced.assignment, other.assignment) == (b"a", b"b")


async def test_another_coordinator_names_the_owner(
    start_coordinator: StartCoordinator,
) -> None:
    first, second = await start_coordinator("first"), await start_coordinator("second")
    member = await first.member("group")
    request = pb.HeartbeatRequest(
        group_id="group", generation_id=1, member_id=member.member_id
    )

    answers: list[Any] = [
        await second.stub.Heartbeat(request),
        await second.join("group"),
        await second.commit("group", 1),
        await second.stub.LeaveGroup(pb.LeaveGroupRequest(group_id="group")),
        await second.stub.DeleteGroup(pb.DeleteGroupRequest(group_id="group")),
    ]

    assert {answer.error_code for answer in answers} == {ErrorCode.NOT_COORDINATOR}
    assert {answer.coordinator_address for answer in answers} == {first.address}
    assert (await first.describe("group")).generation_id == 1


async def test_a_group_moves_when_its_owner_is_gone(
    start_coordinator: StartCoordinator,
) -> None:
    first = await start_coordinator("first", lease_ms=500)
    second = await start_coordinator("second", lease_ms=500)
    member = await first.member("group")
    await first.commit("group", 5, member)

    await first.crash()

    async def is_ours() -> bool:
        return await second.heartbeat("group", member) is ErrorCode.NONE

    await eventually(is_ours)
    assert (await second.describe("group")).coordinator_address == second.address
    assert await second.committed("group") == {("orders", 0): 5}


async def test_a_coordinator_that_stops_hands_its_groups_over_at_once(
    start_coordinator: StartCoordinator,
) -> None:
    first = await start_coordinator("first", lease_ms=300_000)
    second = await start_coordinator("second", lease_ms=300_000)
    member = await first.member("group")
    _, waiting = await parked(first, "group")

    await first.stop()

    assert (await waiting).error_code == ErrorCode.NOT_COORDINATOR
    assert await second.heartbeat("group", member) is ErrorCode.REBALANCE_IN_PROGRESS


async def test_a_stale_owner_can_change_nothing_and_leaves_nobody_parked(
    start_coordinator: StartCoordinator, redis: "Redis"
) -> None:
    stale = await start_coordinator("stale", lease_ms=300_000)
    other = await start_coordinator("other", lease_ms=300_000)
    member = await stale.member("group")
    idle = await stale.member("idle")
    new_id, waiting = await parked(stale, "group")
    # Its registration lapses, and it does not know yet.
    await redis.hdel("korvet:coordinators", stale.address)
    rejoined = await asyncio.gather(
        other.join("group", member.member_id), other.join("group", new_id)
    )
    assert [each.generation_id for each in rejoined] == [2, 2]
    assert (await other.commit("idle", 9, idle)).error_code == ErrorCode.NONE

    commit = await stale.commit("idle", 3, idle)
    join = await stale.join("group", member.member_id)

    assert commit.error_code == ErrorCode.NOT_COORDINATOR
    assert join.error_code == ErrorCode.NOT_COORDINATOR
    assert (await waiting).error_code == ErrorCode.NOT_COORDINATOR
    assert await other.committed("idle") == {("orders", 0): 9}
    assert (await other.describe("group")).generation_id == 2


async def test_an_owner_whose_lease_has_run_out_tells_whoever_is_parked(
    start_coordinator: StartCoordinator, redis: "Redis"
) -> None:
    first = await start_coordinator("first", lease_ms=1000)
    await first.member("group")
    _, waiting = await parked(first, "group")

    await redis.client_pause(2500)

    assert (await waiting).error_code == ErrorCode.NOT_COORDINATOR
    await eventually(first.is_ready)
    assert (await first.describe("group")).state == "PreparingRebalance"


async def test_members_of_a_coordinator_that_is_gone_are_not_kept_for_ever(
    start_coordinator: StartCoordinator,
) -> None:
    first = await start_coordinator("first", lease_ms=500)
    second = await start_coordinator(
        "second", lease_ms=500, group_min_session_timeout_ms=100
    )
    third = await start_coordinator("third", lease_ms=500, group_min_session_timeout_ms=100)
    await third.member("group", session_timeout_ms=400)

    await third.crash()

    async def is_empty() -> bool:
        return (await first.describe("group")).state == "Empty"

    await eventually(is_empty)
    assert second.address != first.address
