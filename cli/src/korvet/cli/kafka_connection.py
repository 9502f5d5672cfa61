"""Kafka clients for the commands, and what their errors mean to a person."""

import contextlib
import logging
from collections.abc import Iterator

from aiokafka import errors
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.client import AIOKafkaClient

from korvet.cli.addresses import no_such_topic, no_topic_name, nobody_there
from korvet.cli.failure import Failure

# What aiokafka logs, it also raises; and what it raises, we explain.
logging.getLogger("aiokafka").setLevel(logging.CRITICAL)


@contextlib.contextmanager
def explained(address: str, topic: str) -> Iterator[None]:
    """Turn Kafka's errors into sentences."""
    try:
        yield
    except errors.UnknownTopicOrPartitionError:
        raise no_such_topic(topic) from None
    except errors.InvalidTopicError:
        raise no_topic_name(topic) from None
    except errors.KafkaConnectionError:
        raise nobody_there(address, "--bootstrap") from None
    except errors.MessageSizeTooLargeError:
        raise Failure(
            f"A record is too large for {topic}.",
            f"Allow larger ones: korvet topics alter {topic} --config max.message.bytes=…",
        ) from None
    except errors.KafkaTimeoutError as error:
        raise Failure(
            f"Korvet at {address} did not answer in time: {error}.",
            "Its log says why; `korvet up --verbose` shows it.",
        ) from None
    except errors.KafkaError as error:
        raise Failure(f"Korvet at {address} refused: {error}.") from None


async def answers_metadata(address: str) -> bool:
    """Whether a gateway answers there, and lists a broker to go on with."""
    client = AIOKafkaClient(bootstrap_servers=address, request_timeout_ms=2_000)
    try:
        await client.bootstrap()
    except (errors.KafkaError, OSError):
        return False
    else:
        return bool(client.cluster.brokers())
    finally:
        await client.close()


async def check_writable(address: str, topic: str) -> None:
    """Ask for the topic as producers do, which creates it where that is allowed.

    A producer would go on asking for most of a minute where the answer is no.
    """
    admin = AIOKafkaAdminClient(bootstrap_servers=address)
    try:
        await admin.start()
        (found,) = await admin.describe_topics([topic])
    finally:
        await admin.close()
    for refusal in (errors.InvalidTopicError, errors.UnknownTopicOrPartitionError):
        if found["error_code"] == refusal.errno:
            raise refusal


async def partitions_of(address: str, topic: str) -> list[int]:
    """The topic's partitions, without creating it by the question."""
    client = AIOKafkaClient(bootstrap_servers=address)
    try:
        await client.bootstrap()
        cluster = await client.fetch_all_metadata()
        found = cluster.partitions_for_topic(topic)
    finally:
        await client.close()
    if not found:
        raise errors.UnknownTopicOrPartitionError
    return sorted(found)
