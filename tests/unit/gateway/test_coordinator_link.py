"""What a gateway has under way on a group stream, and how it travels."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from korvet.coordinator import group_stream
from korvet.gateway import coordinator_link
from korvet.gateway.coordinator_link import GroupRequest, GroupStream, new_group_stream
from korvet.proto.coordinator.v1 import coordinator_service_pb2 as pb
from tests.support.fake_duplex import FakeDuplex
from tests.support.kafka_client import settle, until


@pytest.fixture
def duplex() -> FakeDuplex[pb.GroupFrame]:
    return FakeDuplex()


@pytest.fixture
async def stream(duplex: FakeDuplex[pb.GroupFrame]) -> AsyncIterator[GroupStream]:
    stream = new_group_stream()
    running = asyncio.create_task(stream.run(duplex))
    await stream.wait_until_live()
    yield stream
    running.cancel()
    await asyncio.wait([running])


def test_a_coordinator_takes_every_call_that_a_gateway_parks() -> None:
    # Else a heartbeat would wait behind joins, and sessions would time out.
    assert coordinator_link._MAX_CALLS < group_stream._MAX_OPEN_CALLS


async def test_calls_are_coalesced_and_answered_in_any_order(
    stream: GroupStream, duplex: FakeDuplex[pb.GroupFrame]
) -> None:
    deadline = asyncio.get_running_loop().time() + 60
    join = GroupRequest("join", pb.JoinGroupRequest(group_id="group"))
    beat = GroupRequest("heartbeat", pb.HeartbeatRequest(group_id="group"))
    first = await stream.start(join, 1, deadline)
    second = await stream.start(beat, 1, deadline)
    await until(lambda: bool(duplex.frames))

    answers = pb.GroupResultFrame()
    answers.calls.add(call=2).heartbeat.error_code = 27
    answers.calls.add(call=1).join.generation_id = 5
    duplex.answer(answers)

    joined, beaten = await stream.finish(first), await stream.finish(second)
    assert isinstance(joined, pb.GroupResultCall)
    assert isinstance(beaten, pb.GroupResultCall)
    assert (joined.join.generation_id, beaten.heartbeat.error_code) == (5, 27)
    (frame,) = duplex.frames
    assert [call.WhichOneof("request") for call in frame.calls] == ["join", "heartbeat"]


async def test_a_call_whose_caller_is_cancelled_is_cancelled_on_the_other_side(
    stream: GroupStream, duplex: FakeDuplex[pb.GroupFrame]
) -> None:
    deadline = asyncio.get_running_loop().time() + 60
    sync = GroupRequest("sync", pb.SyncGroupRequest(group_id="group"))
    waiting = asyncio.create_task(stream.finish(await stream.start(sync, 1, deadline)))
    await until(lambda: bool(duplex.frames))

    waiting.cancel()
    await settle()

    assert list(duplex.frames[-1].cancelled) == [1]
    assert stream.open_calls == 0
