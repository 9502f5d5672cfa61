"""korvet.proto.storage -> Storage: calls to however many storage replicas there are.

Every call has a deadline. One that could not be answered becomes the Kafka code that the
clients of its API retry, in this file and in `appends`, and nowhere else.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Sequence
from typing import Final

from korvet.gateway.appends import Appends
from korvet.gateway.call_stream import Lost
from korvet.gateway.handler import PartitionBatch
from korvet.gateway.service_links import ServiceLinks
from korvet.gateway.storage_link import Appended, Read, StorageLink, read_size
from korvet.gateway.unary_calls import UnaryCalls, refusing
from korvet.kafka.errors import ErrorCode, KafkaError
from korvet.proto.storage.v1 import storage_service_pb2 as pb
from korvet.proto.storage.v1 import storage_service_pb2_grpc as pb_grpc

# A client may name more than storage describes in one call, and others wait meanwhile.
_DESCRIBED_AT_ONCE: Final = 1000
# Of a change: storage may have made it.
_UNKNOWN_OUTCOME: Final = ErrorCode.REQUEST_TIMED_OUT


class StorageClient:
    def __init__(self, links: ServiceLinks[StorageLink], *, deadline: float) -> None:
        self._links = links
        self._calls: UnaryCalls[pb_grpc.StorageServiceAsyncStub] = UnaryCalls(
            "storage", links
        )
        self._appends = Appends(links)
        self._deadline = deadline

    # ------------------------------------------------------------ the log

    async def append(
        self,
        batches: Sequence[PartitionBatch],
        *,
        acks: "pb.Acks.ValueType",
        time_limit: float,
    ) -> Awaitable[Appended]:
        return await self._appends.append(batches, acks=acks, time_limit=time_limit)

    async def read(self, request: pb.ReadRequest) -> Read:
        loop = asyncio.get_running_loop()
        deadline = loop.time() + request.max_wait_ms / 1000 + self._deadline
        size = read_size(request)
        tried: StorageLink | None = None
        # A read may be repeated, so the end of a replica need not show.
        for _ in range(2):
            live = [
                link for link in self._links.all if link.reads.is_live and link is not tried
            ]
            if not live:
                break
            tried = min(live, key=lambda link: link.reads.open_calls)
            result = await tried.reads.finish(
                await tried.reads.start(request, size, deadline)
            )
            if not isinstance(result, Lost):
                return result
        # Consumers take this one as passing, and ask again without a word to their users.
        raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, "storage cannot be reached")

    # ------------------------------------------------------------ other calls

    async def find_offsets(self, request: pb.FindOffsetsRequest) -> pb.FindOffsetsResponse:
        return await self._calls.ask(
            lambda stub: stub.FindOffsets(request, timeout=self._deadline),
            ErrorCode.KAFKA_STORAGE_ERROR,
        )

    async def find_epoch_ends(
        self, request: pb.FindEpochEndsRequest
    ) -> pb.FindEpochEndsResponse:
        return await self._calls.ask(
            lambda stub: stub.FindEpochEnds(request, timeout=self._deadline),
            ErrorCode.KAFKA_STORAGE_ERROR,
        )

    async def describe_logs(
        self, request: pb.DescribeLogsRequest
    ) -> pb.DescribeLogsResponse:
        return await self._calls.ask(
            lambda stub: stub.DescribeLogs(request, timeout=self._deadline),
            ErrorCode.KAFKA_STORAGE_ERROR,
        )

    async def describe_producers(
        self, request: pb.DescribeProducersRequest
    ) -> pb.DescribeProducersResponse:
        return await self._calls.ask(
            lambda stub: stub.DescribeProducers(request, timeout=self._deadline),
            ErrorCode.KAFKA_STORAGE_ERROR,
        )

    async def describe_topics(
        self, request: pb.DescribeTopicsRequest
    ) -> pb.DescribeTopicsResponse:
        response = await self._describe_topics(request, 0)
        for start in range(_DESCRIBED_AT_ONCE, len(request.topics), _DESCRIBED_AT_ONCE):
            response.MergeFrom(await self._describe_topics(request, start))
        return response

    async def _describe_topics(
        self, request: pb.DescribeTopicsRequest, start: int
    ) -> pb.DescribeTopicsResponse:
        if len(request.topics) > _DESCRIBED_AT_ONCE:
            some = request.topics[start : start + _DESCRIBED_AT_ONCE]
            request = pb.DescribeTopicsRequest(topics=some)
        return await self._calls.ask(
            lambda stub: stub.DescribeTopics(request, timeout=self._deadline),
            ErrorCode.LEADER_NOT_AVAILABLE,
        )

    async def describe_server(self) -> pb.DescribeServerResponse:
        return await self._calls.ask(
            lambda stub: stub.DescribeServer(
                pb.DescribeServerRequest(), timeout=self._deadline
            ),
            ErrorCode.REQUEST_TIMED_OUT,
        )

    async def allocate_producer_id(self) -> int:
        # An id that nobody gets to use is no loss, so this may be repeated too. The code is
        # the one that Kafka's own brokers answer with when they have no ids at hand.
        answer = await self._calls.ask(
            lambda stub: stub.AllocateProducerId(
                pb.AllocateProducerIdRequest(), timeout=self._deadline
            ),
            ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        )
        return answer.producer_id

    async def create_topics(
        self, request: pb.CreateTopicsRequest
    ) -> pb.CreateTopicsResponse:
        return await self._calls.change(
            lambda stub: stub.CreateTopics(request, timeout=self._deadline),
            _UNKNOWN_OUTCOME,
        )

    async def delete_topics(
        self, request: pb.DeleteTopicsRequest
    ) -> pb.DeleteTopicsResponse:
        return await self._calls.change(
            lambda stub: stub.DeleteTopics(request, timeout=self._deadline),
            _UNKNOWN_OUTCOME,
        )

    async def create_partitions(
        self, request: pb.CreatePartitionsRequest
    ) -> pb.CreatePartitionsResponse:
        return await self._calls.change(
            lambda stub: stub.CreatePartitions(request, timeout=self._deadline),
            _UNKNOWN_OUTCOME,
        )

    async def alter_topic_configs(
        self, request: pb.AlterTopicConfigsRequest
    ) -> pb.AlterTopicConfigsResponse:
        return await self._calls.change(
            lambda stub: stub.AlterTopicConfigs(request, timeout=self._deadline),
            _UNKNOWN_OUTCOME,
        )

    async def delete_records(
        self, request: pb.DeleteRecordsRequest
    ) -> pb.DeleteRecordsResponse:
        return await self._calls.change(
            lambda stub: stub.DeleteRecords(request, timeout=self._deadline),
            _UNKNOWN_OUTCOME,
        )

    async def register_gateway(
        self, request: pb.RegisterGatewayRequest
    ) -> pb.RegisterGatewayResponse:
        return await self._calls.change(
            lambda stub: stub.RegisterGateway(request, timeout=self._deadline),
            _UNKNOWN_OUTCOME,
        )

    async def unregister_gateway(
        self, request: pb.UnregisterGatewayRequest
    ) -> pb.UnregisterGatewayResponse:
        return await self._calls.change(
            lambda stub: stub.UnregisterGateway(request, timeout=self._deadline),
            _UNKNOWN_OUTCOME,
        )

    async def watch_cluster(self) -> AsyncIterator[pb.ClusterUpdate]:
        """Follow the cluster for as long as a storage replica tells of it."""
        failure = ErrorCode.LEADER_NOT_AVAILABLE
        link = self._calls.choose(failure)
        with refusing(link, failure):
            async for update in link.stub.WatchCluster(pb.WatchClusterRequest()):
                yield update
