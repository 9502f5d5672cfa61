"""The stream of a gateway: many calls at once, cancelled ones among them."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, TypeAlias

import pytest

from korvet.kafka.errors import ErrorCode
from korvet.proto.coordinator.v1 import coordinator_service_pb2 as pb
from tests.support.coordinator_replica import CoordinatorReplica, StartCoordinator
from tests.support.eventually import eventually

pytestmark = pytest.mark.integration

_Stream: TypeAlias = Any


@asynccontextmanager
async def stream_to(coordinator: CoordinatorReplica) -> AsyncIterator[_Stream]:
    stream: _Stream = coordinator.stub.GroupStream()
    try:
        yield stream
    finally:
        stream.cancel()


async def results(stream: _Stream, count: int) -> dict[int, pb.GroupResultCall]:
    found: dict[int, pb.GroupResultCall] = {}
    async with asyncio.timeout(10):
        while len(found) < count:
            frame: pb.GroupResultFrame = await stream.read()
            for result in frame.calls:
                assert result.call not in found
                found[result.call] = result
    return found


def joining(group: str) -> pb.JoinGroupRequest:
    return pb.JoinGroupRequest(
        group_id=group,
        protocol_type="consumer",
        protocols=[pb.MemberProtocol(name="range")],
        session_timeout_ms=6000,
        rebalance_timeout_ms=60_000,
    )


async def test_calls_of_every_kind_are_answered_each_once(
    coordinator: CoordinatorReplica,
) -> None:
    member = await coordinator.member("group")
    frame = pb.GroupFrame()
    for number in range(300):
        frame.calls.add(call=number).heartbeat.CopyFrom(
            pb.HeartbeatRequest(
                group_id="group", member_id=member.member_id, generation_id=number % 2
            )
        )
    frame.calls.add(call=300).commit.CopyFrom(
        pb.CommitOffsetsRequest(group_id="other", generation_id=-1)
    )
    frame.calls.add(call=301).fetch.CopyFrom(
        pb.FetchOffsetsRequest(group_id="group", all=True)
    )
    frame.calls.add(call=302).leave.CopyFrom(pb.LeaveGroupRequest(group_id="none"))
    frame.calls.add(call=303).join.CopyFrom(joining(""))
    frame.calls.add(call=304).sync.CopyFrom(pb.SyncGroupRequest(group_id="none"))
    # What a later release may ask.
    frame.calls.add(call=305)

    async with stream_to(coordinator) as stream:
        await stream.write(frame)
        found = await results(stream, 306)

    codes = [found[number].heartbeat.error_code for number in range(300)]
    assert codes == [ErrorCode.ILLEGAL_GENERATION, ErrorCode.NONE] * 150
    assert found[300].commit.error_code == ErrorCode.NONE
    assert found[301].fetch.error_code == ErrorCode.NONE
    assert found[302].leave.error_code == ErrorCode.NONE
    assert found[303].join.error_code == ErrorCode.INVALID_GROUP_ID
    assert found[304].sync.error_code == ErrorCode.UNKNOWN_MEMBER_ID
    assert found[305].WhichOneof("response") is None


@asynccontextmanager
async def parked_join(coordinator: CoordinatorReplica) -> AsyncIterator[_Stream]:
    """A stream whose first call is the join of a second member, parked."""
    request = joining("group")
    request.session_timeout_ms = 300
    async with stream_to(coordinator) as stream:
        frame = pb.GroupFrame()
        frame.calls.add(call=1).join.CopyFrom(request)
        await stream.write(frame)

        async def is_preparing() -> bool:
            return (await coordinator.describe("group")).state == "PreparingRebalance"

        await eventually(is_preparing)
        yield stream


async def test_a_client_that_goes_while_it_is_parked_is_taken_out_in_time(
    start_coordinator: StartCoordinator,
) -> None:
    coordinator = await start_coordinator(group_min_session_timeout_ms=100)
    member = await coordinator.member("group")
    async with parked_join(coordinator) as stream:
        await stream.write(pb.GroupFrame(cancelled=[1]))

        # Nobody waits for it any more, and it is out when its session ends.
        joined = await coordinator.join("group", member.member_id)
        assert joined.generation_id == 2
        await coordinator.sync("group", joined)
        await eventually(partial(coordinator.leads_alone, "group", member))


async def test_a_gateway_that_is_gone_leaves_nobody_parked(
    start_coordinator: StartCoordinator,
) -> None:
    coordinator = await start_coordinator(group_min_session_timeout_ms=100)
    member = await coordinator.member("group")
    async with parked_join(coordinator):
        pass

    await eventually(partial(coordinator.leads_alone, "group", member))
