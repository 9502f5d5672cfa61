"""The topic that a replay writes to: it is made where there is none."""

import asyncio
from collections.abc import Callable
from typing import Final

from aiokafka import errors
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.client import AIOKafkaClient

from korvet.pipeline.failure import LakeError
from korvet.pipeline.kafka_security import KafkaSecurity

_SOON: Final = 30.0
_PAUSE: Final = 0.1


async def ensure_topic(
    bootstrap: str, topic: str, new: Callable[[], int], security: KafkaSecurity
) -> int:
    """How many partitions the topic has; where there is none, it gets so many."""
    try:
        async with asyncio.timeout(_SOON):
            found = await _partitions(bootstrap, topic, security)
        if found:
            return found
        # Spark's answer takes as long as it takes.
        wanted = await asyncio.to_thread(new)
        async with asyncio.timeout(_SOON):
            await _create(bootstrap, topic, wanted, security)
            while not found:
                await asyncio.sleep(_PAUSE)
                found = await _partitions(bootstrap, topic, security)
            return found
    except errors.InvalidTopicError:
        raise LakeError(
            f"{topic!r} cannot be the name of a topic.",
            "A name has up to 249 ASCII letters, digits, '.', '_' and '-', and does not"
            " begin with '__'.",
        ) from None
    except (errors.KafkaError, OSError, TimeoutError) as error:
        raise refusal(error, bootstrap, topic) from None


def refusal(error: BaseException, bootstrap: str, topic: str) -> LakeError:
    """What an error of the target means to a person."""
    problem, advice = explanation(error, bootstrap, topic)
    return LakeError(problem, advice)


def explanation(error: BaseException, bootstrap: str, topic: str) -> tuple[str, str]:
    again = "Then give the same command again: it goes on where it was."
    match error:
        case errors.ProducerFenced():
            problem = "Another run of this replay has taken over."
            advice = "Let that one finish, or end it and give the command again."
        case errors.MessageSizeTooLargeError() | errors.RecordListTooLargeError():
            allow = f"korvet topics alter {topic} --config max.message.bytes=…"
            problem = f"A record is too large for {topic}."
            advice = f"Allow larger ones: {allow}. {again}"
        case errors.UnknownError():
            problem = (
                f"{topic} refuses a record, as topics do that take only JSON, or only"
                " records with a key."
            )
            advice = f"`korvet topics describe {topic}` shows its configs."
        case errors.OffsetMetadataTooLargeError():
            problem = (
                "There is too much to remember of how far this replay is: its topic was"
                " made too often, or has many more partitions than the other."
            )
            advice = "Replay one of its histories at a time, with --topic-id."
        case errors.KafkaConnectionError() | OSError() | TimeoutError():
            problem = f"Korvet does not answer at {bootstrap}: {_words(error)}."
            advice = f"Is it running? --bootstrap says where it is. {again}"
        case _:
            problem, advice = f"Korvet at {bootstrap} refused: {_words(error)}.", again
    return problem, advice


def _words(error: BaseException) -> str:
    return str(error).rstrip(".") or type(error).__name__


async def _partitions(bootstrap: str, topic: str, security: KafkaSecurity) -> int:
    """None of them where there is no such topic: the question does not make it."""
    client = AIOKafkaClient(bootstrap_servers=bootstrap, **security.options())
    try:
        await client.bootstrap()
        cluster = await client.fetch_all_metadata()
        return len(cluster.partitions_for_topic(topic) or ())
    finally:
        await client.close()


async def _create(
    bootstrap: str, topic: str, partitions: int, security: KafkaSecurity
) -> None:
    admin = AIOKafkaAdminClient(bootstrap_servers=bootstrap, **security.options())
    try:
        await admin.start()
        new = NewTopic(name=topic, num_partitions=partitions, replication_factor=1)
        answer = await admin.create_topics([new])
    finally:
        await admin.close()
    for _, code, *_ in answer.topic_errors:
        error = errors.for_code(code)
        if error not in (errors.NoError, errors.TopicAlreadyExistsError):
            raise error
