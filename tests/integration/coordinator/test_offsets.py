"""Committed offsets, as they lie in Redis, and what becomes of them."""

from typing import Any

import pytest
from redis.asyncio import Redis

from korvet.kafka.errors import ErrorCode
from korvet.proto.coordinator.v1 import coordinator_service_pb2 as pb
from korvet.redis.topic_ids import topic_id_text
from tests.support.coordinator_replica import (
    TOPIC_ID,
    CoordinatorReplica,
    StartCoordinator,
)
from tests.support.eventually import eventually
from tests.support.group_storage import GroupStorage
from tests.support.group_wire import subscription
from tests.support.idle_groups import age_group, age_offsets

pytestmark = pytest.mark.integration


async def test_a_commit_is_a_number_in_its_own_key(
    coordinator: CoordinatorReplica, redis: "Redis"
) -> None:
    offset = (1 << 62) + 3

    answer = await coordinator.commit(
        "my-group",
        offset,
        topic="orders",
        partition=2,
        leader_epoch=4,
        metadata="it is: me",
    )

    assert (answer.error_code, list(answer.offset_error_codes)) == (ErrorCode.NONE, [0])
    key = "korvet:commit:korvet:stream:orders:2:my-group"
    assert await redis.get(key) == str(offset).encode()
    details: Any = await redis.hgetall("korvet:group:my-group:offsets")
    detail = details[b"korvet:stream:orders:2"].decode()
    topic_id, leader_epoch, _, metadata = detail.split(" ", 3)
    assert (topic_id, leader_epoch) == (topic_id_text(TOPIC_ID), "4")
    assert metadata == "it is: me"
    assert await redis.smembers("korvet:groups") == {b"my-group"}


async def test_a_commit_comes_back_as_it_was_made(coordinator: CoordinatorReplica) -> None:
    for metadata in ("", "plain", " with  spaces ", "ünï", "two\nlines"):
        await coordinator.commit("group", 5, leader_epoch=3, metadata=metadata)

        request = pb.FetchOffsetsRequest(group_id="group")
        request.partitions.add(topic="orders", partition=0)
        request.partitions.add(topic="orders", partition=1)
        (found,) = (await coordinator.stub.FetchOffsets(request)).offsets

        assert (found.topic, found.partition, found.offset) == ("orders", 0, 5)
        assert (found.topic_id, found.leader_epoch) == (TOPIC_ID, 3)
        assert found.metadata == metadata


async def test_groups_with_odd_names_do_not_meet(coordinator: CoordinatorReplica) -> None:
    names = ["", "a", "a:offsets", "a:b", "a%3Ab", "{a}", "ä b", "a:"]
    for number, name in enumerate(names):
        assert (await coordinator.commit(name, number)).error_code == ErrorCode.NONE

    for number, name in enumerate(names):
        assert await coordinator.committed(name) == {("orders", 0): number}
    listed = await coordinator.stub.ListGroups(pb.ListGroupsRequest())
    assert sorted(group.group_id for group in listed.groups) == sorted(names)


async def test_nobody_commits_from_outside_for_a_group_with_members(
    coordinator: CoordinatorReplica,
) -> None:
    member = await coordinator.member("group")

    outside = await coordinator.commit("group", 5)
    member.generation_id += 1
    stale = await coordinator.commit("group", 5, member)
    member.member_id = "a stranger"
    stranger = await coordinator.commit("group", 5, member)
    nobody = await coordinator.commit("another group", 5, member)

    assert outside.error_code == ErrorCode.UNKNOWN_MEMBER_ID
    assert stale.error_code == ErrorCode.ILLEGAL_GENERATION
    assert stranger.error_code == ErrorCode.UNKNOWN_MEMBER_ID
    assert nobody.error_code == ErrorCode.GROUP_ID_NOT_FOUND
    assert await coordinator.committed("group") == {}


async def test_a_group_that_redis_has_lost_is_begun_anew(
    coordinator: CoordinatorReplica, redis: "Redis"
) -> None:
    member = await coordinator.member("group")
    await redis.delete("korvet:group:group")

    lost = await coordinator.commit("group", 5, member)

    # Its member hears of it, instead of living on with commits that are always refused.
    assert lost.error_code == ErrorCode.NOT_COORDINATOR
    assert await coordinator.heartbeat("group", member) is ErrorCode.UNKNOWN_MEMBER_ID
    again = await coordinator.member("group")
    assert (await coordinator.commit("group", 5, again)).error_code == ErrorCode.NONE


async def test_metadata_that_is_too_long_is_refused_and_the_rest_is_not(
    coordinator: CoordinatorReplica,
) -> None:
    request = pb.CommitOffsetsRequest(group_id="group", generation_id=-1)
    # Counted as Java counts: of those beyond U+FFFF each is two.
    texts = ("x" * 4097, "ä" * 4097, "\U0001f600" * 2049, "x" * 4096, "ä" * 4096)
    for partition, metadata in enumerate(texts):
        request.offsets.add(
            topic="orders", topic_id=TOPIC_ID, partition=partition, offset=1,
            leader_epoch=-1, metadata=metadata,
        )  # fmt: skip

    answer = await coordinator.stub.CommitOffsets(request)

    refused = ErrorCode.OFFSET_METADATA_TOO_LARGE
    assert list(answer.offset_error_codes) == [refused] * 3 + [ErrorCode.NONE] * 2
    assert await coordinator.committed("group") == {("orders", 3): 1, ("orders", 4): 1}


async def test_offsets_of_idle_groups_expire_and_the_group_with_them(
    start_coordinator: StartCoordinator, group_storage: GroupStorage, redis: "Redis"
) -> None:
    coordinator = await start_coordinator(
        storage_address=group_storage.address,
        offsets_retention_minutes=1,
        offsets_retention_check_interval_ms=50,
    )
    await coordinator.commit("idle", 5)
    protocol = pb.MemberProtocol(name="range", metadata=subscription(["orders"]))
    member = await coordinator.member(
        "used", session_timeout_ms=60_000, protocols=[protocol]
    )
    await coordinator.commit("used", 5, member)
    # Its members are not subscribed to that any more.
    await coordinator.commit("used", 5, member, topic="bills")
    assert await coordinator.committed("idle") != {}

    await age_offsets(redis, "idle")
    await age_offsets(redis, "used")
    await coordinator.crash()
    await age_group(redis, "idle")
    await coordinator.start()

    async def is_gone() -> bool:
        return not await redis.exists("korvet:group:idle")

    async def is_kept_in_part() -> bool:
        return await coordinator.committed("used") == {("orders", 0): 5}

    await eventually(is_gone)
    assert await redis.keys("korvet:commit:*:idle") == []
    assert await redis.smembers("korvet:groups") == {b"used"}
    await eventually(is_kept_in_part)


async def test_a_deleted_group_leaves_nothing_behind(
    start_coordinator: StartCoordinator, group_storage: GroupStorage, redis: "Redis"
) -> None:
    coordinator = await start_coordinator(storage_address=group_storage.address)
    member = await coordinator.member("group")
    assert await coordinator.delete("group") is ErrorCode.NON_EMPTY_GROUP
    leaving = pb.LeaveGroupRequest(group_id="group")
    leaving.members.add(member_id=member.member_id)
    await coordinator.stub.LeaveGroup(leaving)

    assert await coordinator.delete("group") is ErrorCode.NONE

    assert await coordinator.delete("group") is ErrorCode.GROUP_ID_NOT_FOUND
    assert await redis.keys("korvet:*group*") == []
    assert (await coordinator.describe("group")).state == "Dead"


async def test_offsets_of_topics_in_use_are_not_deleted(
    coordinator: CoordinatorReplica,
) -> None:
    subscription = b"\0\0\0\0\0\1\0\6orders\xff\xff\xff\xff"
    protocol = pb.MemberProtocol(name="range", metadata=subscription)
    member = await coordinator.member("group", protocols=[protocol])
    await coordinator.commit("group", 1, member, topic="orders")
    await coordinator.commit("group", 2, member, topic="bills")
    request = pb.DeleteOffsetsRequest(group_id="group")
    for topic in ("orders", "bills"):
        request.partitions.add(topic=topic, partition=0)

    answer = await coordinator.stub.DeleteOffsets(request)

    in_use = ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC
    assert list(answer.partition_error_codes) == [in_use, ErrorCode.NONE]
    assert await coordinator.committed("group") == {("orders", 0): 1}


@pytest.mark.parametrize(
    ("protocol_type", "codes"),
    [
        # Nobody can tell what it is subscribed to.
        ("consumer", (ErrorCode.NONE, [ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC])),
        ("connect", (ErrorCode.NON_EMPTY_GROUP, [])),
    ],
)
async def test_offsets_of_members_that_say_something_else_are_not_deleted(
    coordinator: CoordinatorReplica,
    protocol_type: str,
    codes: tuple[ErrorCode, list[ErrorCode]],
) -> None:
    protocol = pb.MemberProtocol(name="range", metadata=b"gibberish")
    member = await coordinator.member(
        "group", protocol_type=protocol_type, protocols=[protocol]
    )
    await coordinator.commit("group", 1, member)
    request = pb.DeleteOffsetsRequest(group_id="group")
    request.partitions.add(topic="orders", partition=0)

    answer = await coordinator.stub.DeleteOffsets(request)

    assert (answer.error_code, list(answer.partition_error_codes)) == codes
    assert await coordinator.committed("group") == {("orders", 0): 1}


async def test_a_work_queue_is_no_group_of_kafkas(
    coordinator: CoordinatorReplica, redis: "Redis"
) -> None:
    await redis.set("korvet:group:workers", "queue")
    await redis.sadd("korvet:groups", "workers")

    answers: list[Any] = [
        await coordinator.join("workers"),
        await coordinator.commit("workers", 1),
    ]

    refused = ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert {answer.error_code for answer in answers} == {refused}
    listed = await coordinator.stub.ListGroups(pb.ListGroupsRequest())
    assert [(each.group_id, each.protocol_type) for each in listed.groups] == [
        ("workers", "queue")
    ]
