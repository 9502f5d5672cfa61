"""What no well-behaved client sends, and clients that vanish: nothing is left of it."""

import asyncio
from functools import partial
from typing import Any

import pytest
from redis.asyncio import Redis

from korvet.kafka.errors import ErrorCode
from korvet.proto.coordinator.v1 import coordinator_service_pb2 as pb
from tests.support.coordinator_replica import CoordinatorReplica, StartCoordinator
from tests.support.eventually import eventually

pytestmark = pytest.mark.integration

# As saved, bytes take a third more.
ROOM = 4 << 20
HUGE = b"x" * ROOM


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"protocols": []}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        ({"protocol_type": ""}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        ({"session_timeout_ms": 1}, ErrorCode.INVALID_SESSION_TIMEOUT),
        ({"session_timeout_ms": 1 << 30}, ErrorCode.INVALID_SESSION_TIMEOUT),
        ({"session_timeout_ms": -1}, ErrorCode.INVALID_SESSION_TIMEOUT),
        (
            {"protocols": [pb.MemberProtocol(name="range", metadata=HUGE)]},
            ErrorCode.UNKNOWN_SERVER_ERROR,
        ),
        (
            {"protocols": [pb.MemberProtocol(name=f"{n:030000}") for n in range(200)]},
            ErrorCode.UNKNOWN_SERVER_ERROR,
        ),
        (
            {"protocols": [pb.MemberProtocol(name=f"{n}") for n in range(100_000)]},
            ErrorCode.UNKNOWN_SERVER_ERROR,
        ),
    ],
    ids=[
        "no protocols",
        "no protocol type",
        "a short session",
        "a long session",
        "a negative session",
        "metadata",
        "long names",
        "many names",
    ],
)
async def test_a_join_that_cannot_be_is_refused(
    coordinator: CoordinatorReplica, fields: dict[str, Any], code: ErrorCode
) -> None:
    assert (await coordinator.join("group", **fields)).error_code == code
    # And it is nobody's trouble but its own.
    assert (await coordinator.member("group")).generation_id == 1


@pytest.mark.parametrize(
    "fields",
    [
        {"session_timeout_ms": 1},
        {"protocols": [pb.MemberProtocol(name="range", metadata=HUGE)]},
    ],
)
async def test_a_join_that_no_group_would_take_makes_none(
    coordinator: CoordinatorReplica, fields: dict[str, Any]
) -> None:
    await coordinator.join("group", **fields)

    listed = await coordinator.stub.ListGroups(pb.ListGroupsRequest())
    assert list(listed.groups) == []


@pytest.mark.parametrize("topic_id", [b"", b"short", bytes(17)])
async def test_a_commit_for_what_is_no_topic_id_is_refused(
    coordinator: CoordinatorReplica, topic_id: bytes
) -> None:
    request = pb.CommitOffsetsRequest(group_id="group", generation_id=-1)
    request.offsets.add(topic="orders", topic_id=topic_id, offset=1, leader_epoch=-1)

    answer = await coordinator.stub.CommitOffsets(request)

    assert list(answer.offset_error_codes) == [ErrorCode.UNKNOWN_TOPIC_ID]
    # It would be found again by whatever reads the group's offsets, and stop the process.
    assert await coordinator.committed("group") == {}


async def test_members_of_another_kind_are_refused(coordinator: CoordinatorReplica) -> None:
    await coordinator.member("group")

    another_type = await coordinator.join("group", protocol_type="connect")
    protocol = pb.MemberProtocol(name="nobody's")
    another_protocol = await coordinator.join("group", protocols=[protocol])

    refused = ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert [another_type.error_code, another_protocol.error_code] == [refused, refused]


async def test_calls_without_a_group_or_from_strangers_are_refused(
    coordinator: CoordinatorReplica,
) -> None:
    member = await coordinator.member("group")
    stranger = pb.JoinGroupResponse(member_id="stranger", generation_id=1)
    stale = pb.JoinGroupResponse(member_id=member.member_id, generation_id=7)

    assert (await coordinator.join("")).error_code == ErrorCode.INVALID_GROUP_ID
    assert (await coordinator.sync("", member)).error_code == ErrorCode.INVALID_GROUP_ID
    assert await coordinator.heartbeat("", member) is ErrorCode.INVALID_GROUP_ID
    for group in ("group", "no such group"):
        unknown = ErrorCode.UNKNOWN_MEMBER_ID
        assert (await coordinator.join(group, "stranger")).error_code == unknown
        assert (await coordinator.sync(group, stranger)).error_code == unknown
        assert await coordinator.heartbeat(group, stranger) is unknown
    assert await coordinator.heartbeat("group", stale) is ErrorCode.ILLEGAL_GENERATION
    assert (await coordinator.sync("group", stale)).error_code == (
        ErrorCode.ILLEGAL_GENERATION
    )
    assert (await coordinator.describe("no such group")).state == "Dead"


async def test_assignments_for_strangers_are_nobodys(
    coordinator: CoordinatorReplica,
) -> None:
    joined = await coordinator.join("group")

    synced = await coordinator.sync("group", joined, {"stranger": b"something"})

    assert (synced.error_code, synced.assignment) == (ErrorCode.NONE, b"")
    described = await coordinator.describe("group")
    assert [each.member_id for each in described.members] == [joined.member_id]


async def test_an_assignment_that_is_too_large_to_be_kept_is_refused(
    coordinator: CoordinatorReplica,
) -> None:
    joined = await coordinator.join("group")
    fits = HUGE[: ROOM // 4 * 3]

    refused = await coordinator.sync("group", joined, {joined.member_id: fits + b"x"})
    again = await coordinator.join("group", joined.member_id)
    synced = await coordinator.sync("group", again, {joined.member_id: fits})

    assert refused.error_code == ErrorCode.UNKNOWN_SERVER_ERROR
    assert (synced.error_code, synced.assignment) == (ErrorCode.NONE, fits)


async def test_a_group_that_is_as_large_as_it_may_be_takes_nobody_and_goes_on(
    coordinator: CoordinatorReplica, redis: "Redis"
) -> None:
    other = await coordinator.member("other")
    large = [pb.MemberProtocol(name="range", metadata=HUGE[: ROOM // 8])]
    first = await coordinator.join("group", protocols=large)

    joins = [coordinator.join("group", protocols=large) for _ in range(20)]
    parked = [asyncio.create_task(join) for join in joins]
    refused: list[pb.JoinGroupResponse] = []
    for answered in asyncio.as_completed(parked):
        refused.append(await answered)
        if len(refused) == 16:
            break
    assert await coordinator.heartbeat("other", other) is ErrorCode.NONE
    leader = await coordinator.join("group", first.member_id, protocols=large)
    await asyncio.gather(*parked)

    assert {each.error_code for each in refused} == {ErrorCode.UNKNOWN_SERVER_ERROR}
    assert len(leader.members) == 5
    assert await redis.strlen("korvet:group:group") <= ROOM + 1000


async def test_a_group_of_as_many_members_as_it_may_have_takes_nobody_and_goes_on(
    start_coordinator: StartCoordinator,
) -> None:
    coordinator = await start_coordinator(group_max_size=2)
    first = await coordinator.member("group")
    joining = asyncio.create_task(coordinator.join("group"))
    await _is_preparing(coordinator, "group")
    leader = await coordinator.join("group", first.member_id)
    second = await joining
    await coordinator.sync("group", leader)

    refused = [
        await coordinator.join("group", requires_member_id=asked) for asked in (True, False)
    ]

    full = ErrorCode.GROUP_MAX_SIZE_REACHED
    assert [each.error_code for each in refused] == [full, full]
    for member in (leader, second):
        assert await coordinator.heartbeat("group", member) is ErrorCode.NONE


async def test_a_leader_that_never_syncs_leaves_nobody_parked(
    coordinator: CoordinatorReplica,
) -> None:
    first = await coordinator.member("group")
    joining = asyncio.create_task(coordinator.join("group", rebalance_timeout_ms=2000))
    await _is_preparing(coordinator, "group")
    leader = await coordinator.join("group", first.member_id, rebalance_timeout_ms=2000)
    follower = await joining
    assert leader.leader == leader.member_id

    # The leader lives, and says nothing of assignments.
    synced = await coordinator.sync("group", follower)

    assert synced.error_code == ErrorCode.REBALANCE_IN_PROGRESS
    assert await coordinator.heartbeat("group", leader) is ErrorCode.UNKNOWN_MEMBER_ID
    alone = await coordinator.join("group", follower.member_id)
    assert (alone.leader, alone.generation_id) == (follower.member_id, 3)


async def test_a_member_that_never_joins_again_is_not_waited_for_for_ever(
    coordinator: CoordinatorReplica,
) -> None:
    first = await coordinator.member("group")
    await coordinator.join("group", first.member_id, rebalance_timeout_ms=500)

    joined = await coordinator.join("group", rebalance_timeout_ms=500)

    assert joined.leader == joined.member_id
    assert await coordinator.heartbeat("group", first) is ErrorCode.UNKNOWN_MEMBER_ID


async def _is_preparing(coordinator: CoordinatorReplica, group: str) -> None:
    async def is_preparing() -> bool:
        return (await coordinator.describe(group)).state == "PreparingRebalance"

    await eventually(is_preparing)


async def test_clients_that_vanish_leave_no_task_behind(
    start_coordinator: StartCoordinator,
) -> None:
    coordinator = await start_coordinator(group_min_session_timeout_ms=100)
    members = [await coordinator.member(f"group-{number}") for number in range(10)]
    before = len(asyncio.all_tasks())

    for _ in range(5):
        parked = [
            asyncio.create_task(coordinator.join(f"group-{number}", session_timeout_ms=200))
            for number in range(10)
        ]

        async def are_parked() -> bool:
            states = [
                (await coordinator.describe(f"group-{number}")).state
                for number in range(10)
            ]
            return set(states) == {"PreparingRebalance"}

        await eventually(are_parked)
        for join in parked:
            join.cancel()
        await asyncio.gather(*parked, return_exceptions=True)
        # The rebalance goes on at once, and the next one is without those who have gone.
        for number, member in enumerate(members):
            await eventually(partial(coordinator.leads_alone, f"group-{number}", member))

    await eventually(lambda: len(asyncio.all_tasks()) <= before)
