"""The gRPC calls about the cluster: gateways, settings, producer ids. They translate."""

from collections.abc import AsyncIterator, Sequence

from korvet.kafka.errors import KafkaError
from korvet.proto.storage.v1 import storage_service_pb2 as pb
from korvet.redis.failures import NotReadyError
from korvet.storage.cluster_feed import ClusterFeed
from korvet.storage.diagnosis import Diagnosis
from korvet.storage.gateways import Gateway, GatewayRegistry
from korvet.storage.messages import gateway_messages
from korvet.storage.producer_ids import ProducerIds
from korvet.storage.server_check import ServerCheck


class ClusterCalls:
    def __init__(
        self,
        *,
        feed: ClusterFeed,
        gateways: GatewayRegistry,
        producer_ids: ProducerIds,
        server: ServerCheck,
        diagnosis: Diagnosis,
        settings: Sequence[pb.Config],
    ) -> None:
        self._feed = feed
        self._gateways = gateways
        self._producer_ids = producer_ids
        self._server = server
        self._diagnosis = diagnosis
        self._settings = settings

    def watch_cluster(self) -> AsyncIterator[pb.ClusterUpdate]:
        return self._feed.updates()

    async def register_gateway(
        self, request: pb.RegisterGatewayRequest
    ) -> pb.RegisterGatewayResponse:
        given = request.gateway
        gateway = Gateway(
            node_id=given.node_id, host=given.host, port=given.port, rack=given.rack
        )
        try:
            live = await self._gateways.register(
                gateway, incarnation=request.incarnation, ttl_ms=request.ttl_ms
            )
        except KafkaError as error:
            # From them a gateway can tell an earlier run of itself from another one.
            await self._gateways.refresh()
            return pb.RegisterGatewayResponse(
                error_code=error.code,
                error_message=error.detail,
                gateways=gateway_messages(self._gateways.live),
            )
        return pb.RegisterGatewayResponse(gateways=gateway_messages(live))

    async def unregister_gateway(
        self, request: pb.UnregisterGatewayRequest
    ) -> pb.UnregisterGatewayResponse:
        await self._gateways.unregister(request.node_id, incarnation=request.incarnation)
        return pb.UnregisterGatewayResponse()

    async def describe_server(self) -> pb.DescribeServerResponse:
        if not self._server.cluster_id:
            raise NotReadyError("Redis was not reached yet")
        return pb.DescribeServerResponse(
            cluster_id=self._server.cluster_id, settings=self._settings
        )

    async def diagnose(self) -> pb.DiagnoseResponse:
        return await self._diagnosis.diagnose()

    async def allocate_producer_id(self) -> pb.AllocateProducerIdResponse:
        return pb.AllocateProducerIdResponse(
            producer_id=await self._producer_ids.allocate()
        )
