"""Batches of a transaction: whose they are, and how their partitions join it.

What the coordinator refuses is told with the codes that producers know from Produce, as
Kafka's brokers tell it. All of them mean that nothing was written.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Final

from korvet.gateway import committed_topics
from korvet.gateway.cluster import Cluster
from korvet.gateway.committed_topics import Found, partition_error
from korvet.gateway.handler import PartitionBatch, RequestContext, TopicPartition
from korvet.gateway.transaction_joins import JoiningPartition, Producer
from korvet.kafka.errors import ErrorCode, KafkaError
from korvet.kafka.records import HEADER_SIZE, BatchHeader, read_header
from korvet.proto.storage.v1 import storage_service_pb2 as pb

_MAGIC: Final = 2
# Java retries it without asking for metadata first.
_LATER: Final = ErrorCode.NOT_ENOUGH_REPLICAS
_CODES: Final[Mapping[int, ErrorCode]] = {
    ErrorCode.PRODUCER_FENCED: ErrorCode.INVALID_PRODUCER_EPOCH,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS: _LATER,
    ErrorCode.COORDINATOR_NOT_AVAILABLE: _LATER,
    ErrorCode.NOT_COORDINATOR: _LATER,
    # Because of another partition, which will not be there the next time.
    ErrorCode.OPERATION_NOT_ATTEMPTED: _LATER,
}
# That the partition is part of the transaction, or is not and nothing else is wrong.
_KNOWS_NO_MORE: Final = {ErrorCode.NONE, ErrorCode.TRANSACTION_ABORTABLE}


def producer_of(
    transactional_id: str | None, batches: Iterable[PartitionBatch]
) -> Producer | None:
    """Whose transaction the batches of a request are part of; None for no transaction."""
    producers = {
        (header.producer_id, header.producer_epoch)
        for batch in batches
        if (header := _transactional_header(batch)) is not None
    }
    if not producers:
        return None
    if not transactional_id:
        raise KafkaError(
            ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
            "a transactional batch, and no transactional id",
        )
    if len(producers) > 1:
        raise KafkaError(
            ErrorCode.INVALID_PRODUCER_ID_MAPPING,
            "transactional batches of more than one producer",
        )
    ((producer_id, producer_epoch),) = producers
    return Producer(transactional_id, producer_id, producer_epoch)


async def join_batches(
    producer: Producer, batches: Sequence[PartitionBatch], context: RequestContext
) -> Sequence[pb.PartitionAppended | None]:
    """Have batches' partitions part of the transaction; why not, for those that are not."""
    codes = await _ask(producer, batches, context.joins.join_partitions, context)
    return [
        _refusal(code) if (code := codes.get(batch.target, ErrorCode.NONE)) else None
        for batch in batches
    ]


async def explain_refusals(
    producer: Producer,
    batches: Sequence[PartitionBatch],
    appended: Sequence[pb.PartitionAppended],
    context: RequestContext,
) -> Sequence[pb.PartitionAppended]:
    """What became of batches, with the coordinator's reason where it has one.

    A partition that knows nothing of the transaction cannot tell one that was never begun
    from a producer that is unknown or fenced. Kafka's brokers ask ahead of each append.
    """
    refused = [
        batch
        for batch, each in zip(batches, appended, strict=True)
        if each.error_code == ErrorCode.INVALID_TXN_STATE
    ]
    if not refused:
        return appended
    codes = await _ask(producer, refused, context.joins.verify_partitions, context)
    return [
        _explained(each, codes.get(batch.target, ErrorCode.NONE))
        for batch, each in zip(batches, appended, strict=True)
    ]


async def _ask(
    producer: Producer,
    batches: Iterable[PartitionBatch],
    ask: Callable[[Producer, Sequence[JoiningPartition]], Awaitable[Sequence[int]]],
    context: RequestContext,
) -> Mapping[TopicPartition, int]:
    """What the coordinator answers for the partitions of transactional batches."""
    targets = {
        batch.target for batch in batches if _transactional_header(batch) is not None
    }
    found = await _find(targets, context.cluster)
    codes: dict[TopicPartition, int] = {}
    asked: dict[TopicPartition, JoiningPartition] = {}
    for target in targets:
        topic = found[target]
        code = partition_error(topic, target.partition)
        if isinstance(topic, ErrorCode) or code:
            codes[target] = code
        else:
            asked[target] = JoiningPartition(topic.name, topic.topic_id, target.partition)
    if asked:
        answers = await ask(producer, list(asked.values()))
        codes.update(zip(asked, answers, strict=True))
    return codes


async def _find(
    targets: Iterable[TopicPartition], cluster: Cluster
) -> Mapping[TopicPartition, Found]:
    failure = ErrorCode.KAFKA_STORAGE_ERROR
    by_id = await committed_topics.find_ids(
        (each.topic_id for each in targets if each.topic_id), cluster, failure=failure
    )
    by_name = await committed_topics.find_names(
        (each.name for each in targets if not each.topic_id), cluster, failure=failure
    )
    return {
        each: by_id[each.topic_id] if each.topic_id else by_name[each.name]
        for each in targets
    }


def _explained(refused: pb.PartitionAppended, code: int) -> pb.PartitionAppended:
    """A partition's answer, where the coordinator knows no more; else the coordinator's."""
    if refused.error_code != ErrorCode.INVALID_TXN_STATE or code in _KNOWS_NO_MORE:
        return refused
    # Before they know it from v12, clients do not retry it.
    return _refusal(_LATER if code == ErrorCode.CONCURRENT_TRANSACTIONS else code)


def _refusal(code: int) -> pb.PartitionAppended:
    return pb.PartitionAppended(
        error_code=_CODES.get(code, code),
        error_message=f"the partition was not added to the transaction (error {code})",
    )


def _transactional_header(batch: PartitionBatch) -> BatchHeader | None:
    """A transactional batch's header; what is no batch at all is for storage to find."""
    if len(batch.batch) < HEADER_SIZE:
        return None
    header = read_header(batch.batch)
    is_transactional = header.magic == _MAGIC and header.is_transactional
    return header if is_transactional and header.producer_id >= 0 else None
