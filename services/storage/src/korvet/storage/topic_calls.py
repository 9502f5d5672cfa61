"""The gRPC calls about topics. They translate; the rules are in the catalogue."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Iterable, Sequence
from typing import Final

from korvet.kafka.errors import ErrorCode, KafkaError
from korvet.proto.storage.v1 import storage_service_pb2 as pb
from korvet.redis.failures import InvalidRequestError
from korvet.storage.catalogue import MAX_PARTITIONS, Catalogue
from korvet.storage.messages import TopicDescriber
from korvet.storage.topic import Topic
from korvet.storage.topic_configs import ConfigChange
from korvet.storage.topic_names import check_topic_name

_MAX_TOPICS: Final = 10_000
# So many are described before others get a turn.
_DESCRIBED_AT_ONCE: Final = 100


class TopicCalls:
    def __init__(self, catalogue: Catalogue, describer: TopicDescriber) -> None:
        self._catalogue = catalogue
        self._describer = describer

    async def create_topics(
        self, request: pb.CreateTopicsRequest
    ) -> pb.CreateTopicsResponse:
        topics = request.topics
        _check_size(topics)
        repeated = _repeated(topic.name for topic in topics)
        too_many = sum(topic.partitions for topic in topics) > MAX_PARTITIONS
        response = pb.CreateTopicsResponse()
        for topic in topics:
            if too_many:
                detail = f"At most {MAX_PARTITIONS} partitions can be created at once."
                refusal = KafkaError(ErrorCode.POLICY_VIOLATION, detail)
            elif topic.name in repeated:
                refusal = _duplicate("topic", topic.name)
            else:
                creation = self._catalogue.create(
                    topic.name,
                    partitions=topic.partitions if topic.HasField("partitions") else None,
                    configs=topic.configs,
                    validate_only=request.validate_only,
                )
                response.topics.append(await self._result(topic.name, creation))
                continue
            response.topics.append(_refused(topic.name, refusal))
        return response

    async def describe_topics(
        self, request: pb.DescribeTopicsRequest
    ) -> pb.DescribeTopicsResponse:
        response = pb.DescribeTopicsResponse()
        if request.all:
            for topic in await self._catalogue.describe_all():
                await self._add_description(response, topic.name, topic)
            return response
        _check_size(request.topics)
        named = await self._catalogue.describe(
            {ref.name for ref in request.topics if not ref.id}
        )
        identified = await self._catalogue.describe_ids(
            {ref.id for ref in request.topics if ref.id}
        )
        for ref in request.topics:
            topic_or_none = identified[ref.id] if ref.id else named[ref.name]
            await self._add_description(
                response, ref.name, topic_or_none, by_id=bool(ref.id)
            )
        return response

    async def delete_topics(
        self, request: pb.DeleteTopicsRequest
    ) -> pb.DeleteTopicsResponse:
        _check_size(request.topics)
        repeated = _repeated(ref.id or ref.name for ref in request.topics)
        response = pb.DeleteTopicsResponse()
        for ref in request.topics:
            result = response.topics.add(name=ref.name, id=ref.id)
            try:
                if (ref.id or ref.name) in repeated:
                    raise _duplicate("topic", ref.name)
                deletion = await (
                    self._catalogue.delete(topic_id=ref.id)
                    if ref.id
                    else self._catalogue.delete(name=ref.name)
                )
            except KafkaError as error:
                result.error_code = error.code
                result.error_message = error.detail
            else:
                result.name = deletion.name
                result.id = deletion.id
                result.version = deletion.version
        return response

    async def create_partitions(
        self, request: pb.CreatePartitionsRequest
    ) -> pb.CreatePartitionsResponse:
        _check_size(request.topics)
        repeated = _repeated(growth.topic for growth in request.topics)
        response = pb.CreatePartitionsResponse()
        for growth in request.topics:
            if growth.topic in repeated:
                response.topics.append(
                    _refused(growth.topic, _duplicate("topic", growth.topic))
                )
                continue
            growing = self._catalogue.add_partitions(
                growth.topic, growth.count, validate_only=request.validate_only
            )
            response.topics.append(await self._result(growth.topic, growing))
        return response

    async def alter_topic_configs(
        self, request: pb.AlterTopicConfigsRequest
    ) -> pb.AlterTopicConfigsResponse:
        _check_size(request.topics)
        repeated = _repeated(change.topic for change in request.topics)
        response = pb.AlterTopicConfigsResponse()
        for change in request.topics:
            if change.topic in repeated:
                response.topics.append(
                    _refused(change.topic, _duplicate("topic", change.topic))
                )
                continue
            altering = self._catalogue.alter_configs(
                change.topic,
                [ConfigChange(c.name, c.operation, c.value) for c in change.changes],
                replace_all=change.replace_all,
                validate_only=request.validate_only,
            )
            response.topics.append(await self._result(change.topic, altering))
        return response

    async def _result(self, name: str, change: Awaitable[Topic]) -> pb.TopicResult:
        try:
            topic = await change
        except KafkaError as error:
            return _refused(name, error)
        return pb.TopicResult(name=name, topic=self._describer.message(topic))

    async def _add_description(
        self,
        response: pb.DescribeTopicsResponse,
        name: str,
        topic: Topic | None,
        *,
        by_id: bool = False,
    ) -> None:
        if topic is None:
            response.topics.append(_refused(name, _unknown(name, by_id=by_id)))
            return
        result = response.topics.add(name=topic.name)
        result.topic.CopyFrom(self._describer.message(topic))
        if len(response.topics) % _DESCRIBED_AT_ONCE == 0:
            await asyncio.sleep(0)


def _check_size(topics: Sequence[object]) -> None:
    if len(topics) > _MAX_TOPICS:
        raise InvalidRequestError(
            f"at most {_MAX_TOPICS} topics at once, not {len(topics)}"
        )


def _repeated(items: Iterable[str | bytes]) -> set[str | bytes]:
    return {item for item, count in Counter(items).items() if count > 1}


def _duplicate(what: str, name: str) -> KafkaError:
    return KafkaError(ErrorCode.INVALID_REQUEST, f"Duplicate {what} in the request: {name}")


def _unknown(name: str, *, by_id: bool) -> KafkaError:
    if by_id:
        return KafkaError(ErrorCode.UNKNOWN_TOPIC_ID, "There is no topic of this id.")
    try:
        check_topic_name(name)
    except KafkaError as error:
        return error
    return KafkaError(
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"Topic '{name}' does not exist."
    )


def _refused(name: str, error: KafkaError) -> pb.TopicResult:
    return pb.TopicResult(name=name, error_code=error.code, error_message=error.detail)
