"""OffsetFetch (9), v1-v10: how far groups have read.

Versions
    v2  null topics: everything that the group has committed; and an error for the group,
        which v1 has only in each partition.
    v5  leader epochs (KIP-320).
    v6  flexible.
    v7  require_stable: no offset that a transaction may still change (KIP-447).
    v8  several groups (KIP-709).
    v9  a member's id and epoch (KIP-848): for the consumer protocol, which is not served.
    v10 topic ids instead of names.

A commit counts only for the very topic that it was made for: for one that was made again
under the name there is none, and among everything that a group has committed it is left
out, as deleted topics are. A group id may be empty.
"""

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple, TypeAlias

from korvet.gateway import committed_topics
from korvet.gateway.cluster import Cluster, TopicView
from korvet.gateway.committed_topics import Found
from korvet.gateway.handler import Handler, RequestContext
from korvet.kafka.errors import ErrorCode, KafkaError
from korvet.kafka.messages.offset_fetch import OffsetFetchRequest, OffsetFetchResponse
from korvet.kafka.primitives import ZERO_UUID
from korvet.proto.coordinator.v1 import coordinator_service_pb2 as pb

_Offset = pb.FetchOffsetsResponse.Offset
_Group = OffsetFetchResponse.OffsetFetchResponseGroup
_Topic = OffsetFetchResponse.OffsetFetchResponseTopics
_Partition = OffsetFetchResponse.OffsetFetchResponsePartitions

_GROUP_ERROR_FROM: Final = 2
_SEVERAL_GROUPS_FROM: Final = 8
_TOPIC_IDS_FROM: Final = 10
_GROUPS_AT_ONCE: Final = 32
# Every client waits and asks again; not so with the code that Metadata has for this.
_UNKNOWN_NOW: Final = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
_NONE: Final = _Offset(offset=-1, leader_epoch=-1)


class _AskedTopic(NamedTuple):
    name: str
    topic_id: bytes
    partitions: Sequence[int]


class _AskedGroup(NamedTuple):
    """What is asked of a group; None: everything."""

    group_id: str
    topics: Sequence[_AskedTopic] | None


_Committed: TypeAlias = Mapping[tuple[str, int], _Offset]


async def handle(
    request: OffsetFetchRequest, context: RequestContext
) -> OffsetFetchResponse:
    turns = asyncio.Semaphore(_GROUPS_AT_ONCE)

    async def answer(group: _AskedGroup) -> _Group:
        try:
            async with turns:
                return await _fetch(group, request.require_stable, context)
        except KafkaError as error:
            return _refused(group, error.code, context.api_version)

    groups = _asked(request, context.api_version)
    return _response(await asyncio.gather(*map(answer, groups)), context.api_version)


def refuse(
    request: OffsetFetchRequest, error: KafkaError, version: int
) -> OffsetFetchResponse:
    return _response(
        [_refused(group, error.code, version) for group in _asked(request, version)],
        version,
    )


def _asked(request: OffsetFetchRequest, version: int) -> Sequence[_AskedGroup]:
    if version >= _SEVERAL_GROUPS_FROM:
        return [
            _AskedGroup(
                group.group_id,
                None
                if group.topics is None
                else [
                    _AskedTopic(topic.name, topic.topic_id, topic.partition_indexes)
                    for topic in group.topics
                ],
            )
            for group in request.groups
        ]
    if request.topics is None:
        return [_AskedGroup(request.group_id, None)]
    topics = [
        _AskedTopic(topic.name, ZERO_UUID, topic.partition_indexes)
        for topic in request.topics
    ]
    return [_AskedGroup(request.group_id, topics)]


# ---------------------------------------------------------------- one group


async def _fetch(
    group: _AskedGroup, require_stable: bool, context: RequestContext
) -> _Group:
    wanted = pb.FetchOffsetsRequest(
        group_id=group.group_id, require_stable=require_stable, all=group.topics is None
    )
    topics: Sequence[tuple[_AskedTopic, Found]] = ()
    if group.topics is not None:
        topics = await _find_topics(group.topics, context)
        _require_known(found for _, found in topics)
        for asked, found in topics:
            if not isinstance(found, ErrorCode):
                for partition in asked.partitions:
                    wanted.partitions.add(topic=found.name, partition=partition)
    answer = await context.coordinator.fetch_offsets(wanted)
    if answer.error_code:
        raise KafkaError(ErrorCode(answer.error_code))
    if group.topics is None:
        everything = await _everything(answer.offsets, context.cluster)
        return _Group(group_id=group.group_id, topics=everything)
    committed = {(each.topic, each.partition): each for each in answer.offsets}
    return _Group(
        group_id=group.group_id,
        topics=[_topic(asked, found, committed) for asked, found in topics],
    )


async def _find_topics(
    topics: Sequence[_AskedTopic], context: RequestContext
) -> Sequence[tuple[_AskedTopic, Found]]:
    if context.api_version >= _TOPIC_IDS_FROM:
        by_id = await committed_topics.find_ids(
            (topic.topic_id for topic in topics), context.cluster, failure=_UNKNOWN_NOW
        )
        return [(topic, by_id[topic.topic_id]) for topic in topics]
    by_name = await committed_topics.find_names(
        (topic.name for topic in topics), context.cluster, failure=_UNKNOWN_NOW
    )
    return [(topic, by_name[topic.name]) for topic in topics]


def _require_known(topics: Iterable[Found]) -> None:
    # For the whole group: in a single partition, clients do not expect this code.
    if any(topic is _UNKNOWN_NOW for topic in topics):
        raise KafkaError(_UNKNOWN_NOW)


def _topic(asked: _AskedTopic, found: Found, committed: _Committed) -> _Topic:
    return _Topic(
        name=asked.name,
        topic_id=asked.topic_id,
        partitions=[
            _partition(partition, _offset(found, partition, committed))
            for partition in asked.partitions
        ],
    )


def _offset(found: Found, partition: int, committed: _Committed) -> _Offset:
    # Kafka's answer for a name that stands for nothing is that nothing was committed.
    if found is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
        return _NONE
    if isinstance(found, ErrorCode):
        return _Offset(error_code=found)
    offset = committed.get((found.name, partition), _NONE)
    return offset if _counts(offset, found) else _NONE


async def _everything(offsets: Sequence[_Offset], cluster: Cluster) -> list[_Topic]:
    found = await committed_topics.find_names(
        (offset.topic for offset in offsets), cluster, failure=_UNKNOWN_NOW
    )
    _require_known(found.values())
    by_topic: dict[str, _Topic] = {}
    for offset in offsets:
        topic = found[offset.topic]
        if isinstance(topic, ErrorCode) or not _counts(offset, topic):
            continue
        listed = by_topic.setdefault(
            topic.name, _Topic(name=topic.name, topic_id=topic.topic_id)
        )
        listed.partitions.append(_partition(offset.partition, offset))
    return list(by_topic.values())


def _counts(offset: _Offset, topic: TopicView) -> bool:
    """Whether it says something about this very topic; a refusal does of any."""
    return offset.topic_id == topic.topic_id or bool(offset.error_code)


# ---------------------------------------------------------------- answers


def _partition(index: int, offset: _Offset) -> _Partition:
    if offset.error_code:
        return _Partition(
            partition_index=index, committed_offset=-1, error_code=offset.error_code
        )
    return _Partition(
        partition_index=index,
        committed_offset=offset.offset,
        committed_leader_epoch=offset.leader_epoch,
        metadata=offset.metadata,
    )


def _refused(group: _AskedGroup, error_code: int, version: int) -> _Group:
    if version >= _GROUP_ERROR_FROM:
        return _Group(group_id=group.group_id, error_code=error_code)
    refused = _Offset(error_code=error_code)
    return _Group(
        group_id=group.group_id,
        topics=[
            _Topic(
                name=topic.name,
                partitions=[_partition(index, refused) for index in topic.partitions],
            )
            for topic in group.topics or ()
        ],
    )


def _response(groups: list[_Group], version: int) -> OffsetFetchResponse:
    if version >= _SEVERAL_GROUPS_FROM:
        return OffsetFetchResponse(groups=groups)
    (only,) = groups
    return OffsetFetchResponse(error_code=only.error_code, topics=list(_single(only)))


def _single(group: _Group) -> Iterator[OffsetFetchResponse.OffsetFetchResponseTopic]:
    """The same answer in the form of the versions with one group."""
    for topic in group.topics:
        yield OffsetFetchResponse.OffsetFetchResponseTopic(
            name=topic.name,
            partitions=[
                OffsetFetchResponse.OffsetFetchResponsePartition(
                    partition_index=partition.partition_index,
                    committed_offset=partition.committed_offset,
                    committed_leader_epoch=partition.committed_leader_epoch,
                    metadata=partition.metadata,
                    error_code=partition.error_code,
                )
                for partition in topic.partitions
            ],
        )


HANDLER: Final = Handler(
    OffsetFetchRequest,
    min_version=1,
    max_version=10,
    handle=handle,
    refuse=refuse,
    cancellable=True,
)
