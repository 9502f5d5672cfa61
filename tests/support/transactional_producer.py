"""A transactional producer as the coordinator sees it: its calls, and who it is."""

from collections.abc import Awaitable, Callable
from typing import Any, Final, Protocol, TypeAlias

from korvet.kafka.errors import ErrorCode
from korvet.proto.coordinator.v1 import coordinator_service_pb2 as pb
from tests.support.coordinator_replica import DEADLINE, TOPIC_ID, CoordinatorReplica
from tests.support.eventually import eventually

Place: TypeAlias = tuple[str, int]

_RETRIABLE: Final = {
    ErrorCode.NOT_COORDINATOR,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.CONCURRENT_TRANSACTIONS,
}


class StartTransactional(Protocol):
    """Starts a coordinator with a storage that takes part in transactions."""

    async def __call__(self, name: str = ..., **settings: Any) -> CoordinatorReplica: ...


async def retried(call: Callable[[], Awaitable[Any]]) -> Any:
    """As a client goes on after what it may retry; the last answer."""
    answer: Any = None

    async def is_answered() -> bool:
        nonlocal answer
        answer = await call()
        codes = answer if isinstance(answer, list) else [answer]
        return not _RETRIABLE.intersection(codes)

    await eventually(is_answered)
    return answer


class TransactionalProducer:
    def __init__(
        self,
        coordinator: CoordinatorReplica,
        transactional_id: str = "payments",
        *,
        timeout_ms: int = 60_000,
        bumps_epoch: bool = False,
    ) -> None:
        self.coordinator = coordinator
        self.transactional_id = transactional_id
        self.timeout_ms = timeout_ms
        self.bumps_epoch = bumps_epoch
        self.producer_id = -1
        self.epoch = -1

    @property
    def _who(self) -> dict[str, Any]:
        return {
            "transactional_id": self.transactional_id,
            "producer_id": self.producer_id,
            "producer_epoch": self.epoch,
        }

    async def init(self, *, goes_on: bool = False) -> ErrorCode:
        """Begin anew, or after an error (KIP-360)."""
        request = pb.InitProducerRequest(
            transactional_id=self.transactional_id,
            transaction_timeout_ms=self.timeout_ms,
            producer_id=self.producer_id if goes_on else -1,
            producer_epoch=self.epoch if goes_on else -1,
        )
        stub = self.coordinator.stub
        return self._goes_on_with(await stub.InitProducer(request, timeout=DEADLINE))

    async def add(self, *places: Place) -> list[ErrorCode]:
        """What each partition is answered, or the whole request."""
        request = pb.AddPartitionsRequest(**self._who)
        for topic, partition in places or (("orders", 0),):
            request.partitions.add(topic=topic, topic_id=TOPIC_ID, partition=partition)
        stub = self.coordinator.stub
        response = await stub.AddPartitions(request, timeout=DEADLINE)
        codes = [response.error_code] if response.error_code else []
        return [ErrorCode(code) for code in codes or response.partition_error_codes]

    async def add_group(self, group: str = "group") -> ErrorCode:
        request = pb.AddGroupRequest(**self._who, group_id=group)
        stub = self.coordinator.stub
        return ErrorCode((await stub.AddGroup(request, timeout=DEADLINE)).error_code)

    async def commit_offset(
        self,
        offset: int,
        group: str = "group",
        joined: pb.JoinGroupResponse | None = None,
        *,
        topic: str = "orders",
        metadata: str = "",
    ) -> ErrorCode:
        """As a part of the transaction."""
        request = pb.CommitTransactionOffsetsRequest(**self._who)
        request.commit.group_id = group
        request.commit.generation_id = joined.generation_id if joined else -1
        request.commit.member_id = joined.member_id if joined else ""
        request.commit.offsets.add(
            topic=topic,
            topic_id=TOPIC_ID,
            partition=0,
            offset=offset,
            leader_epoch=3,
            metadata=metadata,
        )
        stub = self.coordinator.stub
        response = await stub.CommitTransactionOffsets(request, timeout=DEADLINE)
        return ErrorCode(response.error_code or response.offset_error_codes[0])

    async def commit(self) -> ErrorCode:
        return await self.end(is_commit=True)

    async def abort(self) -> ErrorCode:
        return await self.end(is_commit=False)

    async def end(self, *, is_commit: bool) -> ErrorCode:
        request = pb.EndTransactionRequest(
            **self._who, commit=is_commit, bumps_epoch=self.bumps_epoch
        )
        stub = self.coordinator.stub
        return self._goes_on_with(await stub.EndTransaction(request, timeout=DEADLINE))

    async def abort_from_outside(self) -> ErrorCode:
        request = pb.AbortTransactionRequest(transactional_id=self.transactional_id)
        stub = self.coordinator.stub
        return ErrorCode(
            (await stub.AbortTransaction(request, timeout=DEADLINE)).error_code
        )

    async def describe(self) -> pb.DescribeTransactionsResponse.Transaction:
        request = pb.DescribeTransactionsRequest(transactional_ids=[self.transactional_id])
        stub = self.coordinator.stub
        return (await stub.DescribeTransactions(request, timeout=DEADLINE)).transactions[0]

    async def state(self) -> str:
        return (await self.describe()).state

    async def ends_as(self, state: str) -> None:
        """Wait until its transaction is in this state."""

        async def has_ended() -> bool:
            return await self.state() == state

        await eventually(has_ended)

    def _goes_on_with(
        self, response: pb.InitProducerResponse | pb.EndTransactionResponse
    ) -> ErrorCode:
        if not response.error_code:
            self.producer_id = response.producer_id
            self.epoch = response.producer_epoch
        return ErrorCode(response.error_code)
