"""The gRPC client for the commands, and what its errors mean to a person."""

import contextlib
from collections.abc import AsyncIterator, Iterator

from korvet.cli.addresses import no_such_topic
from korvet.cli.failure import Failure
from korvet.cli.grpc_failure import no_answer
from korvet.client import Korvet, KorvetError, UnavailableError


@contextlib.asynccontextmanager
async def connected(address: str) -> AsyncIterator[Korvet]:
    async with Korvet(address) as korvet:
        with answering(address):
            yield korvet


@contextlib.contextmanager
def answering(address: str) -> Iterator[None]:
    """Say what it means that storage gives no answer."""
    try:
        yield
    except UnavailableError as error:
        raise no_answer("storage", address, error.detail) from None


@contextlib.contextmanager
def explained(topic: str) -> Iterator[None]:
    """Turn storage's refusals about a topic into sentences."""
    try:
        yield
    except KorvetError as error:
        if error.name == "UNKNOWN_TOPIC_OR_PARTITION":
            raise no_such_topic(topic) from None
        if error.name == "TOPIC_ALREADY_EXISTS":
            raise Failure(
                error.detail or f"There is already a topic {topic}.",
                "Choose another name, or let it be with --if-not-exists.",
            ) from None
        detail = error.detail.rstrip(".") or "Storage refused"
        raise Failure(f"{detail} ({error.name}).") from None
