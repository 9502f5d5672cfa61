"""Asks every part of Korvet what it has to say about itself, for `korvet doctor`.

Whatever does not answer is a fact as well: nothing here fails.
"""

import asyncio
import contextlib
import time
from collections.abc import Awaitable
from typing import Final, TypeVar

import grpc
from aiokafka import errors as kafka_errors
from aiokafka.client import AIOKafkaClient

from korvet.cli.doctor_findings import Broker, Clocks, Facts, Gateways, Redis, Service
from korvet.cli.failure import Failure
from korvet.cli.grpc_failure import no_answer
from korvet.proto.coordinator.v1 import coordinator_service_pb2 as coordinator_pb
from korvet.proto.coordinator.v1 import coordinator_service_pb2_grpc as coordinator_grpc
from korvet.proto.storage.v1 import storage_service_pb2 as pb
from korvet.proto.storage.v1 import storage_service_pb2_grpc as storage_grpc
from korvet.runtime.grpc_channel import open_channel
from korvet.runtime.health import is_serving

_DEADLINE: Final = 5.0

_Answer = TypeVar("_Answer")


async def find_facts(bootstrap: str, storage: str, coordinator: str) -> Facts:
    """All of it at once, so that it takes no longer than the slowest."""
    (
        gateways,
        (storage_service, diagnosis, clocks),
        coordinator_service,
    ) = await asyncio.gather(
        _gateways(bootstrap), _storage(storage), _coordinator(coordinator)
    )
    return Facts(
        gateways=gateways,
        storage=storage_service,
        coordinator=coordinator_service,
        redis=_redis(diagnosis) if diagnosis else None,
        clocks=clocks,
    )


async def _gateways(bootstrap: str) -> Gateways:
    client = AIOKafkaClient(
        bootstrap_servers=bootstrap, request_timeout_ms=int(_DEADLINE * 1000)
    )
    try:
        await client.bootstrap()
        listed = sorted(client.cluster.brokers())
    except (kafka_errors.KafkaError, OSError) as error:
        return Gateways(bootstrap=bootstrap, error=str(error) or type(error).__name__)
    finally:
        await client.close()
    reachable = await asyncio.gather(*(_connects(each.host, each.port) for each in listed))
    return Gateways(
        bootstrap=bootstrap,
        brokers=[
            Broker(each.nodeId, each.host, each.port, is_reachable)
            for each, is_reachable in zip(listed, reachable, strict=True)
        ],
    )


async def _connects(host: str, port: int) -> bool:
    with contextlib.suppress(OSError, TimeoutError):
        async with asyncio.timeout(_DEADLINE):
            _, writer = await asyncio.open_connection(host, port)
        writer.close()
        return True
    return False


async def _storage(
    address: str,
) -> tuple[Service, pb.DiagnoseResponse | None, Clocks | None]:
    async with open_channel(address) as channel:
        stub = storage_grpc.StorageServiceStub(channel)
        asked_ms = _now_ms()
        diagnosis, failure = await _asked(
            "storage", address, stub.Diagnose(pb.DiagnoseRequest(), timeout=_DEADLINE)
        )
        if diagnosis is None:
            return Service("storage", address, failure=failure), None, None
        here_ms = (asked_ms + _now_ms()) // 2
        serves = await _serves(channel)
    clocks = None
    if diagnosis.HasField("redis"):
        clocks = Clocks(here_ms, diagnosis.time_ms, diagnosis.redis.time_ms)
    service = Service("storage", address, diagnosis.version, is_serving=serves)
    return service, diagnosis, clocks


async def _coordinator(address: str) -> Service:
    async with open_channel(address) as channel:
        stub = coordinator_grpc.CoordinatorServiceStub(channel)
        request = coordinator_pb.DescribeServerRequest()
        described, failure = await _asked(
            "coordinator", address, stub.DescribeServer(request, timeout=_DEADLINE)
        )
        if described is None:
            return Service("coordinator", address, failure=failure)
        serves = await _serves(channel)
    return Service("coordinator", address, described.version, is_serving=serves)


async def _asked(
    service: str, address: str, call: Awaitable[_Answer]
) -> tuple[_Answer | None, Failure | None]:
    try:
        return await call, None
    except grpc.aio.AioRpcError as error:
        return None, no_answer(service, address, error.details() or error.code().name)


async def _serves(channel: grpc.aio.Channel) -> bool:
    with contextlib.suppress(grpc.aio.AioRpcError):
        return await is_serving(channel, deadline=_DEADLINE)
    return False


def _redis(diagnosis: pb.DiagnoseResponse) -> Redis:
    found = diagnosis.redis
    return Redis(
        address=diagnosis.redis_address,
        error=diagnosis.redis_error,
        version=found.version,
        maxmemory_policy=found.maxmemory_policy,
        memory_used=found.memory_used_bytes,
        memory_limit=found.memory_limit_bytes,
        evicted_keys=found.evicted_keys,
        append_only=found.append_only,
        append_fsync=found.append_fsync if found.HasField("append_fsync") else None,
        append_only_fails=found.append_only_fails,
        replicas=found.replicas,
    )


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
