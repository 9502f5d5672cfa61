"""AlterReplicaLogDirs (34), v1-v2: move replicas to another log directory.

Versions
    v2  flexible.

There is one directory, Redis, and every replica is in it already. So moving one there
succeeds and does nothing, and any other directory is not found.
"""

from collections.abc import Mapping
from typing import Final

from korvet.gateway.cluster import TopicView
from korvet.gateway.handler import Handler, RequestContext
from korvet.gateway.handlers.describe_log_dirs import LOG_DIR
from korvet.kafka.errors import ErrorCode, KafkaError
from korvet.kafka.messages.alter_replica_log_dirs import (
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirsResponse,
)


async def handle(
    request: AlterReplicaLogDirsRequest, context: RequestContext
) -> AlterReplicaLogDirsResponse:
    topics = await context.cluster.find_names(
        topic.name
        for directory in request.dirs
        if directory.path == LOG_DIR
        for topic in directory.topics
    )

    def move(path: str, name: str, partition: int) -> ErrorCode:
        if path != LOG_DIR:
            return ErrorCode.LOG_DIR_NOT_FOUND
        topic = topics[name]
        if not isinstance(topic, TopicView):
            return topic
        leaders = context.cluster.leaders(topic)
        if not 0 <= partition < len(leaders):
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        is_here = leaders[partition] == context.node.node_id
        return ErrorCode.NONE if is_here else ErrorCode.REPLICA_NOT_AVAILABLE

    return _response(
        {
            name: {
                partition: move(path, name, partition)
                for partition, path in partitions.items()
            }
            for name, partitions in _moves(request).items()
        }
    )


def refuse(
    request: AlterReplicaLogDirsRequest, error: KafkaError, version: int
) -> AlterReplicaLogDirsResponse:
    return _response(
        {
            name: dict.fromkeys(partitions, error.code)
            for name, partitions in _moves(request).items()
        }
    )


def _moves(request: AlterReplicaLogDirsRequest) -> dict[str, dict[int, str]]:
    """Where each partition is to go, by topic: the answer has no directories."""
    moves: dict[str, dict[int, str]] = {}
    for directory in request.dirs:
        for topic in directory.topics:
            paths = dict.fromkeys(topic.partitions, directory.path)
            moves.setdefault(topic.name, {}).update(paths)
    return moves


def _response(
    codes: Mapping[str, Mapping[int, ErrorCode]],
) -> AlterReplicaLogDirsResponse:
    return AlterReplicaLogDirsResponse(
        results=[
            AlterReplicaLogDirsResponse.AlterReplicaLogDirTopicResult(
                topic_name=name,
                partitions=[
                    AlterReplicaLogDirsResponse.AlterReplicaLogDirPartitionResult(
                        partition_index=index, error_code=code
                    )
                    for index, code in partitions.items()
                ],
            )
            for name, partitions in codes.items()
        ]
    )


HANDLER: Final = Handler(
    AlterReplicaLogDirsRequest,
    min_version=1,
    max_version=2,
    handle=handle,
    refuse=refuse,
    cancellable=True,
)
