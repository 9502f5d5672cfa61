"""DeleteTopics (20), v1-v6: delete topics with all their records.

Versions
    v4  flexible.
    v5  error messages.
    v6  topic ids, as well as names. By id, a topic made again under the name is safe.

Deletion cannot be disabled. The names are free at once; memory is given back later.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from korvet.gateway.handler import Handler, RequestContext
from korvet.kafka.errors import ErrorCode, KafkaError
from korvet.kafka.messages.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse
from korvet.kafka.primitives import ZERO_UUID
from korvet.proto.storage.v1 import storage_service_pb2 as pb

_Asked = DeleteTopicsRequest.DeleteTopicState
_Result = DeleteTopicsResponse.DeletableTopicResult


async def handle(
    request: DeleteTopicsRequest, context: RequestContext
) -> DeleteTopicsResponse:
    counts = _asked(request)
    named_twice = await _named_twice(counts, context)
    results: dict[tuple[str | None, bytes], _Result] = {}
    deletion = pb.DeleteTopicsRequest()
    sent: list[tuple[str | None, bytes]] = []
    for (name, topic_id), count in counts.items():
        refusal = _refusal(name, topic_id, count)
        if refusal is None and topic_id in named_twice.values():
            # As in Kafka, its name is answered alone.
            continue
        if refusal is None and name is not None and name in named_twice:
            detail = "The provided topic name maps to an ID that was already supplied."
            refusal = KafkaError(ErrorCode.INVALID_REQUEST, detail)
            results[name, topic_id] = _refused(name, named_twice[name], refusal)
        elif refusal is not None:
            results[name, topic_id] = _refused(name, topic_id, refusal)
        else:
            deletion.topics.append(
                pb.TopicRef(id=topic_id) if name is None else pb.TopicRef(name=name)
            )
            sent.append((name, topic_id))
    if sent:
        response = await context.storage.delete_topics(deletion)
        for key, result in zip(sent, response.topics, strict=True):
            results[key] = _result(key, result)
            if not result.error_code:
                context.cluster.apply_deletion(result.name, result.version)
    answered = [results[key] for key in counts if key in results]
    return DeleteTopicsResponse(responses=answered)


async def _named_twice(
    asked: Iterable[tuple[str | None, bytes]], context: RequestContext
) -> Mapping[str, bytes]:
    """Name -> id of the topics that are given by their name and by their id as well."""
    names = {name for name, topic_id in asked if name and topic_id == ZERO_UUID}
    ids = {topic_id for name, topic_id in asked if name is None and topic_id != ZERO_UUID}
    if not names or not ids:
        return {}
    found = await context.cluster.find_ids(ids)
    return {
        topic.name: topic_id
        for topic_id, topic in found.items()
        if not isinstance(topic, ErrorCode) and topic.name in names
    }


def refuse(
    request: DeleteTopicsRequest, error: KafkaError, version: int
) -> DeleteTopicsResponse:
    return DeleteTopicsResponse(
        responses=[_refused(name, topic_id, error) for name, topic_id in _asked(request)]
    )


def _asked(request: DeleteTopicsRequest) -> Counter[tuple[str | None, bytes]]:
    """What is to be deleted, in order, and how often each is named."""
    topics: Sequence[_Asked] = [
        *(_Asked(name=name) for name in request.topic_names),
        *request.topics,
    ]
    return Counter((topic.name, topic.topic_id) for topic in topics)


def _refusal(name: str | None, topic_id: bytes, count: int) -> KafkaError | None:
    if name is None and topic_id == ZERO_UUID:
        detail = "Neither topic name nor id were specified."
    elif name is not None and topic_id != ZERO_UUID:
        detail = "You may not specify both topic name and topic id."
    elif count > 1:
        detail = "Duplicate topic id." if name is None else "Duplicate topic name."
    else:
        return None
    return KafkaError(ErrorCode.INVALID_REQUEST, detail)


def _result(
    asked: tuple[str | None, bytes], result: pb.DeleteTopicsResponse.Result
) -> _Result:
    if result.error_code:
        error = KafkaError(ErrorCode(result.error_code), result.error_message)
        return _refused(*asked, error)
    return _Result(name=result.name, topic_id=result.id)


def _refused(name: str | None, topic_id: bytes, error: KafkaError) -> _Result:
    return _Result(
        name=name,
        topic_id=topic_id,
        error_code=error.code,
        error_message=error.detail or None,
    )


HANDLER: Final = Handler(
    DeleteTopicsRequest, min_version=1, max_version=6, handle=handle, refuse=refuse
)
