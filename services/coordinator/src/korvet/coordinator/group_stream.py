"""The stream on which gateways make their calls: many at once, coalesced into frames.

A heartbeat is answered in the very turn of the loop that brought it; whatever has to wait
is a task of its own, which a client that goes away cancels.
"""

import asyncio
from collections.abc import AsyncIterator
from functools import partial
from typing import Any, Final, TypeAlias

import grpc

from korvet.coordinator.membership_calls import MembershipCalls
from korvet.coordinator.offset_calls import OffsetCalls
from korvet.proto.coordinator.v1 import coordinator_service_pb2 as pb
from korvet.runtime.intake import Intake
from korvet.runtime.outbox import Outbox
from korvet.runtime.rpc_spans import (
    begin_in_frame,
    carry_out,
    end_served,
    methods_by_field,
)
from korvet.runtime.tracing import Work

_SERVICE: Final = pb.DESCRIPTOR.services_by_name["CoordinatorService"]
_TRACED_AS: Final = methods_by_field(_SERVICE, pb.GroupCall.DESCRIPTOR)

# More than a gateway has under way, so that a cancellation never waits behind those.
_MAX_OPEN_CALLS: Final = 65_536
_MAX_UNSENT_BYTES: Final = 64 << 20

_Context: TypeAlias = "grpc.aio.ServicerContext[Any, Any]"


class GroupStream:
    def __init__(self, members: MembershipCalls, offsets: OffsetCalls) -> None:
        self._members = members
        self._offsets = offsets
        # Streams end when it is stopped.
        self.intake: Final = Intake()

    async def serve(self, frames: AsyncIterator[pb.GroupFrame], context: _Context) -> None:
        outbox: Outbox[pb.GroupResultCall] = Outbox(_MAX_OPEN_CALLS, _MAX_UNSENT_BYTES)
        under_way: dict[int, asyncio.Task[None]] = {}

        async def write(calls: list[pb.GroupResultCall]) -> None:
            await context.write(pb.GroupResultFrame(calls=calls))

        async def answer(call: pb.GroupCall) -> None:
            result = await self._answer(call)
            outbox.put(result, result.ByteSize())

        def ended(number: int, task: "asyncio.Task[None]") -> None:
            # Not in `answer`, which a task that is cancelled at once does not even begin.
            if under_way.get(number) is task:
                del under_way[number]
            if task.cancelled():
                outbox.dropped()

        async def take(frame: pb.GroupFrame) -> None:
            for number in frame.cancelled:
                if task := under_way.get(number):
                    task.cancel()
            for call in frame.calls:
                await outbox.room()
                outbox.opened()
                work = _begin(call) if call.traceparent else None
                if (now := self._answer_now(call)) is not None:
                    if work is not None:
                        end_served(work)
                    outbox.put(now, 16)
                    continue
                part = partial(answer, call)
                if work is not None:
                    part = partial(carry_out, work, part)
                task = tasks.create_task(part())
                under_way[call.call] = task
                task.add_done_callback(partial(ended, call.call))

        def taken(_: "asyncio.Task[None]") -> None:
            # Whoever waits for these asks another coordinator.
            for task in tuple(under_way.values()):
                task.cancel()
            outbox.close()

        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(outbox.write_all(write))
            taking = tasks.create_task(self.intake.take_all(frames, take))
            taking.add_done_callback(taken)

    def _answer_now(self, call: pb.GroupCall) -> pb.GroupResultCall | None:
        if call.WhichOneof("request") != "heartbeat":
            return None
        response = self._members.heartbeat_now(call.heartbeat)
        if response is None:
            return None
        return pb.GroupResultCall(call=call.call, heartbeat=response)

    async def _answer(self, call: pb.GroupCall) -> pb.GroupResultCall:
        result = pb.GroupResultCall(call=call.call)
        match call.WhichOneof("request"):
            case "join":
                result.join.CopyFrom(await self._members.join(call.join))
            case "sync":
                result.sync.CopyFrom(await self._members.sync(call.sync))
            case "heartbeat":
                result.heartbeat.CopyFrom(await self._members.heartbeat(call.heartbeat))
            case "leave":
                result.leave.CopyFrom(await self._members.leave(call.leave))
            case "commit":
                result.commit.CopyFrom(await self._offsets.commit(call.commit))
            case "fetch":
                result.fetch.CopyFrom(await self._offsets.fetch(call.fetch))
        return result


def _begin(call: pb.GroupCall) -> Work | None:
    kind = call.WhichOneof("request")
    return begin_in_frame(_TRACED_AS[kind], call.traceparent) if kind else None
