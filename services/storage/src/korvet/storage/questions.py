"""For calls about many positions: some at a time, and failures told in Kafka's terms."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Final, TypeVar

import hiredis

from korvet.kafka.errors import ErrorCode, KafkaError
from korvet.proto.storage.v1 import storage_service_pb2 as pb
from korvet.redis.lane import ConnectionLost, NotSent
from korvet.storage.request_limits import check_partitions
from korvet.storage.topic import Topic
from korvet.storage.topic_lookup import TopicLookup, unknown_topic

Answer = TypeVar("Answer")
Question = TypeVar("Question")

# A request may have millions of questions, and each takes memory while it is answered.
AT_ONCE: Final = 256


async def answer_all(
    answer: Callable[[Question], Awaitable[Answer]], questions: Sequence[Question]
) -> list[Answer]:
    """The answers to all questions, in their order, some at a time."""
    check_partitions(questions)
    answers: list[Answer] = []
    for first in range(0, len(questions), AT_ONCE):
        some = questions[first : first + AT_ONCE]
        answers += await asyncio.gather(*map(answer, some))
    return answers


async def answered_by_redis(answer: Awaitable[Answer]) -> Answer:
    """The answer; KAFKA_STORAGE_ERROR where Redis gave none."""
    try:
        return await answer
    except (NotSent, ConnectionLost, hiredis.ReplyError) as error:
        raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, str(error)) from error


async def answered_for(
    lookup: TopicLookup, ref: pb.TopicRef, topic: Topic, answer: Awaitable[Answer]
) -> Answer:
    """The same for a topic that may turn out not to be the one that was asked for."""
    try:
        return await answered_by_redis(answer)
    except KafkaError as error:
        if error.code is not ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            raise
        lookup.is_stale(topic)
        raise KafkaError(unknown_topic(ref), topic.name) from error
