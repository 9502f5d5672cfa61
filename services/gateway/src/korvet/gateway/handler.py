"""What a Kafka API's handler is, and all it may see of the rest of the gateway.

A handler gets one decoded request and a `RequestContext`, and returns one response. It sees
no gRPC stub and no socket, so its test needs neither. A refusal of the whole request is
raised as KafkaError; one of a single topic or partition is a value in the response.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Generic, NamedTuple, Protocol, TypeVar

from korvet.gateway.cluster import Cluster
from korvet.gateway.transaction_coordinator import TransactionCoordinator
from korvet.gateway.transaction_joins import TransactionJoins
from korvet.kafka.errors import KafkaError
from korvet.kafka.frames import RequestHead
from korvet.kafka.message import Message
from korvet.proto.coordinator.v1 import coordinator_service_pb2 as group_pb
from korvet.proto.storage.v1 import storage_service_pb2 as pb

Request = TypeVar("Request", bound=Message)
Response = TypeVar("Response", bound=Message)


class TopicPartition(NamedTuple):
    """A partition as the client names it: by the topic's name, or (newer versions) its id.

    Exactly one of `name` and `topic_id` is set. Storage resolves it afresh, so a topic that
    was made again under the name never gets what was meant for the one with the id.
    """

    name: str
    topic_id: bytes
    partition: int


class PartitionBatch(NamedTuple):
    """One record batch for one partition, exactly as the producer sent it."""

    target: TopicPartition
    batch: bytes
    # Of a transaction that has an epoch of its own (KIP-890).
    epoch_per_transaction: bool = False


class Storage(Protocol):
    """StorageService, one method an RPC that the gateway uses.

    Where storage could not answer, `append` says so in the result of each partition, since
    only some may be concerned; the others raise KafkaError with a code that is retried.
    """

    async def append(
        self,
        batches: Sequence[PartitionBatch],
        *,
        acks: "pb.Acks.ValueType",
        time_limit: float,
    ) -> Awaitable[Sequence[pb.PartitionAppended]]:
        """Hand batches over; the result, once awaited in its turn, has their fate.

        When this returns, the batches have their place in their partitions' order: whatever
        is handed over later comes after them.
        """
        ...

    async def read(self, request: pb.ReadRequest) -> Sequence[pb.PartitionData]: ...

    async def create_topics(
        self, request: pb.CreateTopicsRequest
    ) -> pb.CreateTopicsResponse: ...

    async def describe_topics(
        self, request: pb.DescribeTopicsRequest
    ) -> pb.DescribeTopicsResponse: ...

    async def delete_topics(
        self, request: pb.DeleteTopicsRequest
    ) -> pb.DeleteTopicsResponse: ...

    async def create_partitions(
        self, request: pb.CreatePartitionsRequest
    ) -> pb.CreatePartitionsResponse: ...

    async def alter_topic_configs(
        self, request: pb.AlterTopicConfigsRequest
    ) -> pb.AlterTopicConfigsResponse: ...

    async def find_offsets(
        self, request: pb.FindOffsetsRequest
    ) -> pb.FindOffsetsResponse: ...

    async def find_epoch_ends(
        self, request: pb.FindEpochEndsRequest
    ) -> pb.FindEpochEndsResponse: ...

    async def delete_records(
        self, request: pb.DeleteRecordsRequest
    ) -> pb.DeleteRecordsResponse: ...

    async def describe_logs(
        self, request: pb.DescribeLogsRequest
    ) -> pb.DescribeLogsResponse: ...

    async def allocate_producer_id(self) -> int: ...

    async def describe_producers(
        self, request: pb.DescribeProducersRequest
    ) -> pb.DescribeProducersResponse: ...

    async def describe_server(self) -> pb.DescribeServerResponse: ...


class Coordinator(Protocol):
    """CoordinatorService, one method an RPC about groups that the gateway uses.

    Whoever owns a group is found, so no answer is NOT_COORDINATOR. Where no coordinator
    could answer, they raise KafkaError with a code that is retried.
    """

    async def join_group(
        self, request: group_pb.JoinGroupRequest
    ) -> group_pb.JoinGroupResponse: ...

    async def sync_group(
        self, request: group_pb.SyncGroupRequest
    ) -> group_pb.SyncGroupResponse: ...

    async def heartbeat(
        self, request: group_pb.HeartbeatRequest
    ) -> group_pb.HeartbeatResponse: ...

    async def leave_group(
        self, request: group_pb.LeaveGroupRequest
    ) -> group_pb.LeaveGroupResponse: ...

    async def commit_offsets(
        self, request: group_pb.CommitOffsetsRequest
    ) -> group_pb.CommitOffsetsResponse: ...

    async def commit_transaction_offsets(
        self, request: group_pb.CommitTransactionOffsetsRequest
    ) -> group_pb.CommitOffsetsResponse: ...

    async def fetch_offsets(
        self, request: group_pb.FetchOffsetsRequest
    ) -> group_pb.FetchOffsetsResponse: ...

    async def delete_offsets(
        self, request: group_pb.DeleteOffsetsRequest
    ) -> group_pb.DeleteOffsetsResponse: ...

    async def list_groups(
        self, request: group_pb.ListGroupsRequest
    ) -> group_pb.ListGroupsResponse: ...

    async def describe_groups(
        self, request: group_pb.DescribeGroupsRequest
    ) -> group_pb.DescribeGroupsResponse: ...

    async def delete_group(
        self, request: group_pb.DeleteGroupRequest
    ) -> group_pb.DeleteGroupResponse: ...

    async def find_readers(
        self, request: group_pb.FindReadersRequest
    ) -> Sequence[group_pb.FindReadersResponse.Reader]: ...

    async def describe_server(self) -> Sequence[pb.Config]: ...


class Reply(Protocol):
    """The place of a request's answer among those of its connection."""

    def skip(self) -> None:
        """Say that no answer will be sent (Produce with acks=0), so none waits for it."""
        ...

    def when_written(self, callback: Callable[[], None]) -> None:
        """Call once the answer has left for the client, or never will."""
        ...


class FetchGrant(Protocol):
    """Leave to have so many bytes of an answer in memory."""

    @property
    def size(self) -> int: ...

    def answered(self, size: int) -> None:
        """Say how large the answer was, so that the next fetch gets what it needs."""
        ...


class FetchMemory(Protocol):
    """Decides how much one connection's fetches may have in memory."""

    async def take(self, wanted: int, reply: Reply) -> FetchGrant:
        """Wait for this fetch's turn; what is granted lasts until the answer is written."""
        ...


class FetchReaders(Protocol):
    """Tells for which groups one connection's client fetches."""

    async def find(
        self, client_id: str, places: Collection[tuple[str, int]]
    ) -> Mapping[tuple[str, int], pb.RedisConsumer]:
        """The Redis consumer of each partition, by topic's name, as far as it is known;
        `places` are those that are fetched."""
        ...


class BrokerConfig(NamedTuple):
    """A setting of this gateway under Kafka's name, for DescribeConfigs."""

    name: str
    value: str
    # Set by the operator, rather than a default.
    is_set: bool
    type: "pb.ConfigType.ValueType"
    documentation: str


class ApiRange(NamedTuple):
    """The versions of one API that ApiVersions advertises."""

    api_key: int
    min_version: int
    max_version: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """This gateway, as each of its requests sees it."""

    node_id: int
    storage: Storage
    coordinator: Coordinator
    transactions: TransactionCoordinator
    joins: TransactionJoins
    cluster: Cluster
    auto_create_topics_enable: bool
    broker_configs: Sequence[BrokerConfig]
    apis: Sequence[ApiRange]


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestContext:
    """One request's surroundings: who asks, in which version, and whom to ask in turn."""

    node: Node
    api_version: int
    client_id: str | None
    client_host: str
    principal: str
    # Held from the moment a Produce starts until its batches have their place in storage's
    # order, so that one connection's requests keep theirs.
    produce_order: asyncio.Lock
    fetch_memory: FetchMemory
    fetch_readers: FetchReaders
    reply: Reply

    @property
    def storage(self) -> Storage:
        return self.node.storage

    @property
    def coordinator(self) -> Coordinator:
        return self.node.coordinator

    @property
    def transactions(self) -> TransactionCoordinator:
        return self.node.transactions

    @property
    def joins(self) -> TransactionJoins:
        return self.node.joins

    @property
    def cluster(self) -> Cluster:
        return self.node.cluster


@dataclass(frozen=True, slots=True)
class Handler(Generic[Request, Response]):
    """One Kafka API: the versions served, and how."""

    request_type: type[Request]
    _: KW_ONLY
    min_version: int
    max_version: int
    # None: this request has no answer (Produce with acks=0).
    handle: Callable[[Request, RequestContext], Awaitable[Response | None]]
    # The answer when the whole request is refused, in the request's version. An API whose
    # response has no room for an error gives None, and the connection is closed.
    refuse: Callable[[Request, KafkaError, int], Response | None]
    # A request that only reads is dropped when its client has gone.
    cancellable: bool = False
    # Where clients must be told of versions that are not really served, the lowest.
    advertised_from: int | None = None
    # The whole frame that answers a version not served; without it, the client is hung up
    # on. Gets the request's head and frame.
    refuse_version: Callable[[RequestHead, bytes, Node], bytes] | None = None

    @property
    def api_key(self) -> int:
        return self.request_type.API_KEY

    @property
    def name(self) -> str:
        """Kafka's name of the API."""
        return self.request_type.__name__.removesuffix("Request")

    @property
    def advertised(self) -> ApiRange:
        lowest = self.min_version if self.advertised_from is None else self.advertised_from
        return ApiRange(self.api_key, lowest, self.max_version)

    def serves(self, version: int) -> bool:
        return self.min_version <= version <= self.max_version
