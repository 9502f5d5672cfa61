"""Coordinators on a real Redis."""

import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from korvet.kafka.errors import ErrorCode
from tests.support.coordinator_replica import (
    CoordinatorReplica,
    StartCoordinator,
    coordinators_on,
)
from tests.support.group_storage import GroupStorage, group_storage_in
from tests.support.redis_server import RedisServer
from tests.support.transaction_storage import TransactionStorage, serve
from tests.support.transactional_producer import StartTransactional, TransactionalProducer


def storage_address(sockets: Path) -> str:
    return f"unix:{sockets}/storage.sock"


@pytest.fixture
def sockets() -> Iterator[Path]:
    # Not pytest's own folder: a socket's path may not be long.
    with tempfile.TemporaryDirectory(prefix="korvet-") as folder:
        yield Path(folder)


@pytest.fixture
async def start_coordinator(
    redis_server: RedisServer, sockets: Path
) -> AsyncIterator[StartCoordinator]:
    async with coordinators_on(redis_server.url, sockets) as start:
        yield start


@pytest.fixture
async def coordinator(start_coordinator: StartCoordinator) -> CoordinatorReplica:
    return await start_coordinator()


@pytest.fixture
async def group_storage(sockets: Path) -> AsyncIterator[GroupStorage]:
    """For coordinators that are given its address."""
    async with group_storage_in(sockets) as storage:
        yield storage


@pytest.fixture
async def storage(sockets: Path) -> AsyncIterator[TransactionStorage]:
    """At `storage_address`, whoever asks."""
    storage = TransactionStorage()  # type: ignore[abstract]  # only in the generated types
    server = await serve(storage, storage_address(sockets))
    yield storage
    await server.grpc.stop(None)


@pytest.fixture
def start_transactional(
    start_coordinator: StartCoordinator, storage: TransactionStorage, sockets: Path
) -> StartTransactional:
    """Starts coordinators that have this storage."""

    async def start(name: str = "first", **settings: Any) -> CoordinatorReplica:
        address = storage_address(sockets)
        return await start_coordinator(name, storage_address=address, **settings)

    return start


@pytest.fixture
async def producer(start_transactional: StartTransactional) -> TransactionalProducer:
    """One that has its id."""
    producer = TransactionalProducer(await start_transactional())
    assert await producer.init() is ErrorCode.NONE
    return producer
