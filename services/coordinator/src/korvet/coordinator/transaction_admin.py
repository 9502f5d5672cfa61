"""The calls that list and describe transactions, from message to message.

They are read from Redis, where every step is: so any coordinator can answer.
"""

from collections import defaultdict

import re2

from korvet.coordinator.owned_store import now_ms
from korvet.coordinator.refusals import explained
from korvet.coordinator.transaction import NO_PRODUCER, Transaction
from korvet.coordinator.transaction_codec import StoredTransaction
from korvet.coordinator.transaction_store import TransactionStore
from korvet.kafka.errors import ErrorCode, KafkaError
from korvet.proto.coordinator.v1 import coordinator_service_pb2 as pb


class TransactionAdmin:
    def __init__(self, store: TransactionStore) -> None:
        self._store = store

    async def list_transactions(
        self, request: pb.ListTransactionsRequest
    ) -> pb.ListTransactionsResponse:
        try:
            wanted = _Filter(request)
        except KafkaError as refusal:
            return pb.ListTransactionsResponse(error_code=explained(refusal)[0])
        listed: dict[str, Transaction] = {}
        async for names in self._store.pages_of_names():
            async for name, stored in self._store.load_each(names):
                if isinstance(stored, StoredTransaction) and wanted.takes(
                    stored.transaction
                ):
                    listed[name] = stored.transaction
        response = pb.ListTransactionsResponse()
        for name, transaction in sorted(listed.items()):
            response.transactions.add(
                transactional_id=name,
                producer_id=transaction.producer.producer_id,
                state=transaction.state,
            )
        return response

    async def describe_transactions(
        self, request: pb.DescribeTransactionsRequest
    ) -> pb.DescribeTransactionsResponse:
        names = list(dict.fromkeys(request.transactional_ids))
        found = {name: stored async for name, stored in self._store.load_each(names)}
        live = await self._store.live_coordinators()
        response = pb.DescribeTransactionsResponse()
        for name in request.transactional_ids:
            described = response.transactions.add(transactional_id=name)
            stored = found.get(name)
            if not name:
                described.error_code = ErrorCode.INVALID_REQUEST
                continue
            if isinstance(stored, KafkaError):
                described.error_code = stored.code
                continue
            if stored is None or stored.transaction.producer == NO_PRODUCER:
                described.error_code = ErrorCode.TRANSACTIONAL_ID_NOT_FOUND
                continue
            _describe(described, stored)
            if live.get(stored.owner.address) == stored.owner.incarnation:
                described.coordinator_address = stored.owner.address
        return response


class _Filter:
    def __init__(self, request: pb.ListTransactionsRequest) -> None:
        self._states = {state.lower() for state in request.states}
        self._producer_ids = set(request.producer_ids)
        self._longer_than_ms = request.running_longer_than_ms
        # Takes linear time, whatever the pattern, as Kafka's does.
        options = re2.Options()
        options.log_errors = False
        try:
            self._pattern = re2.compile(request.transactional_id_pattern, options)
        except re2.error as error:
            raise KafkaError(ErrorCode.INVALID_REGULAR_EXPRESSION, str(error)) from error
        self._now_ms = now_ms()

    def takes(self, transaction: Transaction) -> bool:
        runs_ms = self._now_ms - transaction.started_ms if transaction.is_open else -1
        return (
            transaction.producer != NO_PRODUCER
            and (not self._states or transaction.state.lower() in self._states)
            and (
                not self._producer_ids
                or transaction.producer.producer_id in self._producer_ids
            )
            and (self._longer_than_ms < 0 or runs_ms > self._longer_than_ms)
            and (
                not self._pattern.pattern
                or self._pattern.fullmatch(transaction.transactional_id) is not None
            )
        )


def _describe(
    described: pb.DescribeTransactionsResponse.Transaction, stored: StoredTransaction
) -> None:
    transaction = stored.transaction
    described.state = transaction.state
    described.producer_id, described.producer_epoch = transaction.producer
    described.timeout_ms = transaction.timeout_ms
    described.started_ms = transaction.started_ms
    described.groups.extend(sorted(transaction.groups))
    topics: defaultdict[str, list[int]] = defaultdict(list)
    for topic, _, partition in sorted(transaction.partitions):
        topics[topic].append(partition)
    for topic, partitions in topics.items():
        described.topics.add(topic=topic, partitions=partitions)
