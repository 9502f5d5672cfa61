"""The topics that requests about committed offsets and transactions are about.

Answers of these APIs can carry few codes that their clients take as passing, and what
Metadata says while storage is away is not among them.
"""

from collections.abc import Iterable, Mapping
from typing import Final, TypeAlias, TypeVar

from korvet.gateway.cluster import Cluster, TopicView
from korvet.kafka.errors import ErrorCode

Found: TypeAlias = TopicView | ErrorCode
_Key = TypeVar("_Key")

_NOT_THERE: Final = {ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_TOPIC_ID}


async def find_names(
    names: Iterable[str], cluster: Cluster, *, failure: ErrorCode
) -> Mapping[str, Found]:
    """Each name's topic, or UNKNOWN_TOPIC_OR_PARTITION, or `failure`."""
    return _with_failure(await cluster.find_names(names), failure)


async def find_ids(
    topic_ids: Iterable[bytes], cluster: Cluster, *, failure: ErrorCode
) -> Mapping[bytes, Found]:
    """Each id's topic, or UNKNOWN_TOPIC_ID, or `failure`."""
    return _with_failure(await cluster.find_ids(topic_ids), failure)


def partition_error(topic: Found, partition: int) -> ErrorCode:
    if isinstance(topic, ErrorCode):
        return topic
    if 0 <= partition < len(topic.leader_epochs):
        return ErrorCode.NONE
    return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def _with_failure(found: Mapping[_Key, Found], failure: ErrorCode) -> Mapping[_Key, Found]:
    return {
        key: failure if isinstance(topic, ErrorCode) and topic not in _NOT_THERE else topic
        for key, topic in found.items()
    }
