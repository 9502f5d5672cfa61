"""Calls of a gateway's handler as a client makes them: in a version, over the wire.

Request and response are encoded and decoded on their way, so that a test of the lowest and
highest version shows that both can carry what the handler says.
"""

from typing import TypeVar, cast

from korvet.gateway.cluster import Cluster
from korvet.gateway.dispatch import dispatch
from korvet.gateway.handler import BrokerConfig, Handler
from korvet.kafka.frames import (
    LENGTH_SIZE,
    decode_request,
    decode_response,
    encode_request,
    encode_response,
)
from korvet.kafka.message import Message
from korvet.proto.storage.v1 import storage_service_pb2 as pb
from tests.support.fake_coordinator import FakeCoordinator
from tests.support.fake_storage import FakeStorage
from tests.support.fake_transactions import FakeTransactions
from tests.support.gateway_context import THIS_BROKER, request_context

Request = TypeVar("Request", bound=Message)
Response = TypeVar("Response", bound=Message)


async def call(
    handler: Handler[Request, Response],
    request: Request,
    version: int,
    storage: FakeStorage,
    *,
    coordinator: FakeCoordinator | None = None,
    transactions: FakeTransactions | None = None,
    cluster: Cluster | None = None,
    broker_configs: tuple[BrokerConfig, ...] = (),
) -> Response:
    """What a client of this version gets for a request."""
    assert handler.serves(version)
    sent = encode_request(1, request, version)[LENGTH_SIZE:]
    _, received = decode_request(sent, handler.request_type)
    context = request_context(
        storage,
        version,
        coordinator=coordinator,
        transactions=transactions,
        cluster=cluster,
        broker_configs=broker_configs,
    )
    answer = cast(Response, await dispatch(handler, received, context))
    frame = encode_response(1, answer, version)[LENGTH_SIZE:]
    return decode_response(frame, type(answer), version)[1]


async def call_groups(
    handler: Handler[Request, Response],
    request: Request,
    version: int,
    coordinator: FakeCoordinator,
    *,
    storage: FakeStorage | None = None,
    cluster: Cluster | None = None,
) -> Response:
    """The same for an API of groups."""
    return await call(
        handler,
        request,
        version,
        storage or FakeStorage(),
        coordinator=coordinator,
        cluster=cluster,
    )


async def call_transactions(
    handler: Handler[Request, Response],
    request: Request,
    version: int,
    transactions: FakeTransactions,
    *,
    storage: FakeStorage | None = None,
) -> Response:
    """The same for an API of transactions."""
    return await call(
        handler, request, version, storage or FakeStorage(), transactions=transactions
    )


def gateways(storage: FakeStorage, *node_ids: int) -> Cluster:
    """A cluster of these live gateways, as this one knows it."""
    cluster = Cluster(THIS_BROKER, storage)
    cluster.set_gateways(
        pb.Gateway(node_id=node_id, host=f"gateway-{node_id}.example", port=9092)
        for node_id in node_ids
    )
    return cluster
