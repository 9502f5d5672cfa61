"""The surroundings of one request, for tests that call a gateway's handler directly."""

import asyncio
from collections.abc import Callable, Sequence

from korvet.gateway.cluster import Broker, Cluster
from korvet.gateway.fetch_memory import ConnectionFetches, FetchBudget
from korvet.gateway.group_readers import ConnectionReaders
from korvet.gateway.handler import ApiRange, BrokerConfig, Node, RequestContext
from korvet.gateway.transaction_joins import TransactionJoins
from tests.support.fake_coordinator import FakeCoordinator
from tests.support.fake_storage import FakeStorage
from tests.support.fake_transactions import FakeTransactions

THIS_BROKER = Broker(1, "gateway.example", 9092, None)
_MEBIBYTE = 1024 * 1024


class RecordedReply:
    """What a handler said of its answer (`handler.Reply`)."""

    def __init__(self) -> None:
        self.is_skipped = False
        self._callbacks: list[Callable[[], None]] = []

    def skip(self) -> None:
        self.is_skipped = True

    def when_written(self, callback: Callable[[], None]) -> None:
        self._callbacks.append(callback)

    def write(self) -> None:
        """As the connection does when the client has taken the answer."""
        for callback in self._callbacks:
            callback()
        self._callbacks.clear()


def request_context(
    storage: FakeStorage,
    version: int,
    *,
    coordinator: FakeCoordinator | None = None,
    transactions: FakeTransactions | None = None,
    cluster: Cluster | None = None,
    node_id: int = THIS_BROKER.node_id,
    auto_create_topics_enable: bool = True,
    broker_configs: Sequence[BrokerConfig] = (),
    apis: Sequence[ApiRange] = (),
    produce_order: asyncio.Lock | None = None,
    reply: RecordedReply | None = None,
    fetch_budget: FetchBudget | None = None,
) -> RequestContext:
    """A request in `version` from a client of a gateway that knows only these services."""
    coordinator = coordinator or FakeCoordinator()
    transactions = transactions or FakeTransactions()
    return RequestContext(
        node=Node(
            node_id=node_id,
            storage=storage,
            coordinator=coordinator,
            transactions=transactions,
            joins=TransactionJoins(transactions),
            cluster=cluster or Cluster(THIS_BROKER, storage),
            auto_create_topics_enable=auto_create_topics_enable,
            broker_configs=broker_configs,
            apis=apis,
        ),
        api_version=version,
        client_id="test",
        client_host="127.0.0.1",
        principal="User:ANONYMOUS",
        produce_order=produce_order or asyncio.Lock(),
        fetch_memory=ConnectionFetches(
            fetch_budget or FetchBudget(64 * _MEBIBYTE), max_bytes=16 * _MEBIBYTE
        ),
        fetch_readers=ConnectionReaders(
            coordinator, client_host="127.0.0.1", principal="User:ANONYMOUS"
        ),
        reply=reply or RecordedReply(),
    )
