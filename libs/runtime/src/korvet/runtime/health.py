"""Asks a gRPC server for its health."""

import grpc
from grpc_health.v1 import health_pb2

_CHECK = "/grpc.health.v1.Health/Check"


async def is_serving(
    channel: grpc.aio.Channel, service: str = "", *, deadline: float = 5.0
) -> bool:
    """Whether a server (or one of its services) says that it can do its work.

    Raises grpc.aio.AioRpcError where there is no answer, or no such service.
    """
    check = channel.unary_unary(
        _CHECK,
        request_serializer=health_pb2.HealthCheckRequest.SerializeToString,
        response_deserializer=health_pb2.HealthCheckResponse.FromString,
    )
    answer = await check(health_pb2.HealthCheckRequest(service=service), timeout=deadline)
    return bool(answer.status == health_pb2.HealthCheckResponse.SERVING)
