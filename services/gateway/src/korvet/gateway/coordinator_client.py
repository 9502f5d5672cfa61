"""korvet.proto.coordinator -> Coordinator: calls to whichever coordinator owns the group.

Every call has a deadline. One that could not be answered becomes the Kafka code that the
clients of its API retry, here and nowhere else. A call that may have been carried out is
not repeated: clients do that, and each of these may be repeated by them.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Final

from korvet.gateway.call_stream import Lost
from korvet.gateway.coordinator_link import (
    CoordinatorLink,
    GroupRequest,
    Kind,
    StreamRequest,
)
from korvet.gateway.owner_calls import Answer, OwnerCalls, unreachable
from korvet.gateway.service_links import ServiceLinks
from korvet.gateway.unary_calls import UnaryCalls, refusing
from korvet.kafka.errors import ErrorCode
from korvet.proto.coordinator.v1 import coordinator_service_pb2 as pb
from korvet.proto.coordinator.v1 import coordinator_service_pb2_grpc as pb_grpc
from korvet.proto.storage.v1 import storage_service_pb2 as storage_pb

# A group's rebalance takes as long as the most patient of its members allows, which this
# call does not tell; Kafka's consumers have five minutes unless told otherwise.
_USUAL_REBALANCE: Final = 300.0
# A fetch waits for this, and does without it.
_READERS_DEADLINE: Final = 1.0
# A group's id, and what its members tell each other, are what is large in a request.
_CALL_BYTES: Final = 128


class CoordinatorClient:
    def __init__(self, links: ServiceLinks[CoordinatorLink], *, deadline: float) -> None:
        self._links = links
        self._calls: UnaryCalls[pb_grpc.CoordinatorServiceAsyncStub] = UnaryCalls(
            "coordinator", links
        )
        self._owners = OwnerCalls(links, deadline=deadline)
        self._deadline = deadline
        # Ends the calls that wait for what others do.
        self._patient: set[Callable[[], None]] = set()

    # ------------------------------------------------------------ over the stream

    async def join_group(self, request: pb.JoinGroupRequest) -> pb.JoinGroupResponse:
        size = sum(len(protocol.metadata) for protocol in request.protocols)
        patience = max(request.rebalance_timeout_ms / 1000, _USUAL_REBALANCE)
        return await self._ask_owner(
            request.group_id,
            lambda link: self._send(link, "join", request, size, patience),
            lambda result: result.join if result.HasField("join") else None,
        )

    async def sync_group(self, request: pb.SyncGroupRequest) -> pb.SyncGroupResponse:
        size = sum(len(each.assignment) for each in request.assignments)
        return await self._ask_owner(
            request.group_id,
            lambda link: self._send(link, "sync", request, size, _USUAL_REBALANCE),
            lambda result: result.sync if result.HasField("sync") else None,
        )

    async def heartbeat(self, request: pb.HeartbeatRequest) -> pb.HeartbeatResponse:
        return await self._ask_owner(
            request.group_id,
            lambda link: self._send(link, "heartbeat", request),
            lambda result: result.heartbeat if result.HasField("heartbeat") else None,
        )

    async def leave_group(self, request: pb.LeaveGroupRequest) -> pb.LeaveGroupResponse:
        size = _CALL_BYTES * len(request.members)
        return await self._ask_owner(
            request.group_id,
            lambda link: self._send(link, "leave", request, size),
            lambda result: result.leave if result.HasField("leave") else None,
        )

    async def commit_offsets(
        self, request: pb.CommitOffsetsRequest
    ) -> pb.CommitOffsetsResponse:
        size = sum(_CALL_BYTES + len(each.metadata) for each in request.offsets)
        return await self._ask_owner(
            request.group_id,
            lambda link: self._send(link, "commit", request, size),
            lambda result: result.commit if result.HasField("commit") else None,
            # With the usual code librdkafka closes its connection to commit over another,
            # finds that one not open yet, and begins again, until its session is over.
            ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        )

    async def fetch_offsets(
        self, request: pb.FetchOffsetsRequest
    ) -> pb.FetchOffsetsResponse:
        size = _CALL_BYTES * len(request.partitions)
        link: CoordinatorLink | None = None
        # Any coordinator can answer, and a second one if the first is just going away.
        for _ in range(2):
            link = self._owners.guess(request.group_id, but=link)
            if link is None:
                break
            result = await self._send(link, "fetch", request, size)
            if not isinstance(result, Lost) and result.HasField("fetch"):
                return result.fetch
        # The other code for this makes Java's consumers of before Kafka 4 give up.
        raise unreachable(ErrorCode.NOT_COORDINATOR)

    # ------------------------------------------------------------ other calls

    async def commit_transaction_offsets(
        self, request: pb.CommitTransactionOffsetsRequest
    ) -> pb.CommitOffsetsResponse:
        return await self._owners.call(
            request.commit.group_id,
            lambda stub: stub.CommitTransactionOffsets(request, timeout=self._deadline),
            # As for commits without a transaction.
            ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        )

    async def delete_offsets(
        self, request: pb.DeleteOffsetsRequest
    ) -> pb.DeleteOffsetsResponse:
        return await self._owners.call(
            request.group_id,
            lambda stub: stub.DeleteOffsets(request, timeout=self._deadline),
            ErrorCode.COORDINATOR_NOT_AVAILABLE,
        )

    async def delete_group(self, request: pb.DeleteGroupRequest) -> pb.DeleteGroupResponse:
        return await self._owners.call(
            request.group_id,
            lambda stub: stub.DeleteGroup(request, timeout=self._deadline),
            ErrorCode.COORDINATOR_NOT_AVAILABLE,
        )

    async def list_groups(self, request: pb.ListGroupsRequest) -> pb.ListGroupsResponse:
        return await self._calls.ask(
            lambda stub: stub.ListGroups(request, timeout=self._deadline),
            ErrorCode.COORDINATOR_NOT_AVAILABLE,
        )

    async def describe_groups(
        self, request: pb.DescribeGroupsRequest
    ) -> pb.DescribeGroupsResponse:
        return await self._calls.ask(
            lambda stub: stub.DescribeGroups(request, timeout=self._deadline),
            ErrorCode.COORDINATOR_NOT_AVAILABLE,
        )

    async def describe_server(self) -> Sequence[storage_pb.Config]:
        if not self._links.is_configured:
            return ()
        answer = await self._calls.ask(
            lambda stub: stub.DescribeServer(
                pb.DescribeServerRequest(), timeout=self._deadline
            ),
            ErrorCode.REQUEST_TIMED_OUT,
        )
        return answer.settings

    async def find_readers(
        self, request: pb.FindReadersRequest
    ) -> Sequence[pb.FindReadersResponse.Reader]:
        live = [link for link in self._links.all if link.is_live]
        answers = await asyncio.gather(
            *(self._find_readers(link, request) for link in live)
        )
        # A coordinator may be known by two addresses.
        found = {
            (reader.group_id, reader.member_id): reader
            for answer in answers
            for reader in answer.readers
        }
        return list(found.values())

    async def _find_readers(
        self, link: CoordinatorLink, request: pb.FindReadersRequest
    ) -> pb.FindReadersResponse:
        with refusing(link, ErrorCode.COORDINATOR_NOT_AVAILABLE):
            return await link.stub.FindReaders(request, timeout=_READERS_DEADLINE)

    # ------------------------------------------------------------ finding the owner

    async def _send(
        self,
        link: CoordinatorLink,
        kind: Kind,
        request: StreamRequest,
        size: int = 0,
        patience: float = 0.0,
    ) -> pb.GroupResultCall | Lost:
        deadline = asyncio.get_running_loop().time() + self._deadline + patience
        stream = link.groups
        call = await stream.start(GroupRequest(kind, request), _CALL_BYTES + size, deadline)
        give_up = partial(stream.cancel, call)
        if patience:
            self._patient.add(give_up)
        try:
            return await stream.finish(call)
        finally:
            self._patient.discard(give_up)

    def stop_waiting(self) -> None:
        """End what may be parked for minutes: its clients are to go to another gateway."""
        for give_up in tuple(self._patient):
            give_up()

    async def _ask_owner(
        self,
        group_id: str,
        send: Callable[[CoordinatorLink], Awaitable[pb.GroupResultCall | Lost]],
        response: Callable[[pb.GroupResultCall], Answer | None],
        failure: ErrorCode = ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ) -> Answer:
        async def attempt(link: CoordinatorLink) -> Answer | Lost:
            result = await send(link)
            if isinstance(result, Lost):
                return result
            return response(result) or Lost.UNKNOWN

        return await self._owners.find(group_id, attempt, failure)
