"""The coordinators, as the commands ask them: any of them, or the one that owns an id."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Iterable, Mapping
from types import TracebackType
from typing import Final, Protocol, Self, TypeAlias, TypeVar

import grpc

from korvet.cli.failure import Failure
from korvet.cli.group_model import Commit, TopicPartition
from korvet.cli.grpc_failure import no_answer
from korvet.kafka.errors import ErrorCode
from korvet.proto.coordinator.v1 import coordinator_service_pb2 as pb
from korvet.proto.coordinator.v1 import coordinator_service_pb2_grpc as pb_grpc
from korvet.runtime.grpc_channel import open_channel

CALL_DEADLINE: Final = 30.0

# Longer than a coordinator that died keeps its groups.
_OWNER_DEADLINE: Final = 15.0
_OWNER_PAUSE: Final = 0.2

_COMES_BACK: Final = frozenset(
    {
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
    }
)


class OwnersAnswer(Protocol):
    """An answer to a call that only the owner of a group, or a transaction, carries out."""

    @property
    def error_code(self) -> int: ...
    @property
    def coordinator_address(self) -> str: ...


# Only type checkers know this class.
_Stub: TypeAlias = "pb_grpc.CoordinatorServiceAsyncStub"
_Answer = TypeVar("_Answer")
_OwnersAnswer = TypeVar("_OwnersAnswer", bound=OwnersAnswer)


class Coordinators:
    """Use it as an async context manager."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._stubs: dict[str, _Stub] = {}
        self._channels = contextlib.AsyncExitStack()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self._channels.aclose()

    async def list_groups(self) -> list[str]:
        """The ids of all groups, in order."""
        stub = await self._stub(self._address)
        answer = await self._any(
            stub.ListGroups(pb.ListGroupsRequest(), timeout=CALL_DEADLINE)
        )
        return sorted(group.group_id for group in answer.groups)

    async def describe(
        self, group_ids: Iterable[str]
    ) -> list[pb.DescribeGroupsResponse.Group]:
        stub = await self._stub(self._address)
        request = pb.DescribeGroupsRequest(group_ids=group_ids)
        answer = await self._any(stub.DescribeGroups(request, timeout=CALL_DEADLINE))
        return list(answer.groups)

    async def commits(self, group_id: str) -> dict[TopicPartition, Commit]:
        """Everything that a group has committed."""
        stub = await self._stub(self._address)
        request = pb.FetchOffsetsRequest(group_id=group_id, all=True)
        answer = await self._any(stub.FetchOffsets(request, timeout=CALL_DEADLINE))
        if answer.error_code != ErrorCode.NONE:
            raise refusal(group_id, answer.error_code)
        return {
            TopicPartition(each.topic, each.partition): Commit(
                each.offset, each.topic_id, each.metadata
            )
            for each in answer.offsets
        }

    async def commit(self, group_id: str, commits: Mapping[TopicPartition, Commit]) -> None:
        """Commit for a group that has no members, from outside of it."""
        request = pb.CommitOffsetsRequest(
            group_id=group_id,
            generation_id=-1,
            offsets=[
                pb.CommitOffsetsRequest.Offset(
                    topic=place.topic,
                    topic_id=commit.topic_id,
                    partition=place.partition,
                    offset=commit.offset,
                    leader_epoch=-1,
                )
                for place, commit in commits.items()
            ],
        )
        answer = await self._owner(
            lambda stub: stub.CommitOffsets(request, timeout=CALL_DEADLINE)
        )
        for code in (answer.error_code, *answer.offset_error_codes):
            if code != ErrorCode.NONE:
                raise refusal(group_id, code)

    async def delete(self, group_id: str) -> int:
        """Delete a group; return the coordinator's error code, 0 for none."""
        request = pb.DeleteGroupRequest(group_id=group_id)
        answer = await self._owner(
            lambda stub: stub.DeleteGroup(request, timeout=CALL_DEADLINE)
        )
        return answer.error_code

    async def list_transactions(
        self, request: pb.ListTransactionsRequest
    ) -> pb.ListTransactionsResponse:
        stub = await self._stub(self._address)
        return await self._any(stub.ListTransactions(request, timeout=CALL_DEADLINE))

    async def describe_transactions(
        self, transactional_ids: Iterable[str]
    ) -> list[pb.DescribeTransactionsResponse.Transaction]:
        stub = await self._stub(self._address)
        request = pb.DescribeTransactionsRequest(transactional_ids=transactional_ids)
        answer = await self._any(stub.DescribeTransactions(request, timeout=CALL_DEADLINE))
        return list(answer.transactions)

    async def abort_transaction(self, transactional_id: str) -> int:
        """Abort what is open; return the coordinator's error code, 0 for none."""
        request = pb.AbortTransactionRequest(transactional_id=transactional_id)
        answer = await self._owner(
            lambda stub: stub.AbortTransaction(request, timeout=CALL_DEADLINE)
        )
        return answer.error_code

    async def _any(self, call: Awaitable[_Answer]) -> _Answer:
        try:
            return await call
        except grpc.aio.AioRpcError as error:
            raise no_answer("coordinator", self._address, _detail(error)) from None

    async def _owner(
        self, call: Callable[[_Stub], Awaitable[_OwnersAnswer]]
    ) -> _OwnersAnswer:
        """Follow the coordinators to the owner; wait while one takes over from another."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + _OWNER_DEADLINE
        address = self._address
        while True:
            try:
                answer = await call(await self._stub(address))
            except grpc.aio.AioRpcError as error:
                # The one that was named is to be there; an owner may have died just now.
                if address == self._address or loop.time() > deadline:
                    raise no_answer("coordinator", address, _detail(error)) from None
                address = self._address
            else:
                if answer.error_code not in _COMES_BACK or loop.time() > deadline:
                    return answer
                if answer.coordinator_address not in ("", address):
                    address = answer.coordinator_address
                    continue
                address = self._address
            await asyncio.sleep(_OWNER_PAUSE)

    async def _stub(self, address: str) -> _Stub:
        if address not in self._stubs:
            channel = await self._channels.enter_async_context(open_channel(address))
            self._stubs[address] = pb_grpc.CoordinatorServiceStub(channel)
        return self._stubs[address]


def refusal(group_id: str, code: int) -> Failure:
    """Why a coordinator refused something about a group."""
    if not group_id:
        return Failure("An empty name is no group's.", "`korvet groups list` shows theirs.")
    match code:
        case ErrorCode.GROUP_ID_NOT_FOUND:
            return Failure(
                f"There is no group {group_id}.",
                "`korvet groups list` shows those that there are.",
            )
        case (
            ErrorCode.NON_EMPTY_GROUP
            | ErrorCode.UNKNOWN_MEMBER_ID
            | ErrorCode.ILLEGAL_GENERATION
            | ErrorCode.REBALANCE_IN_PROGRESS
        ):
            return has_members(group_id)
        case ErrorCode.INCONSISTENT_GROUP_PROTOCOL:
            return Failure(
                f"{group_id} is a work queue: its consumers acknowledge record by record.",
                "It has no committed offsets.",
            )
    return other_refusal(group_id, code)


def other_refusal(id_: str, code: int) -> Failure:
    """Why a coordinator refused, where that says nothing about the group or the id."""
    try:
        name = ErrorCode(code).name
    except ValueError:
        name = f"error {code}"
    if code in _COMES_BACK:
        return Failure(
            f"The coordinator cannot answer for {id_} now ({name}).",
            "Try again; its log says why, and `korvet up --verbose` shows it.",
        )
    return Failure(f"The coordinator refused for {id_} ({name}).")


def has_members(group_id: str) -> Failure:
    return Failure(
        f"{group_id} has members.",
        f"Stop its consumers, and try again; `korvet groups describe {group_id}` shows"
        " them. One that died is a member until its session times out.",
    )


def _detail(error: grpc.aio.AioRpcError) -> str:
    return error.details() or error.code().name
