"""What a call may meet, as the code in its answer: the one place where that is decided.

A refusal is Kafka's own code; another owner is NOT_COORDINATOR with that one's address; a
Redis that is away is COORDINATOR_NOT_AVAILABLE, which clients retry; a bug is
UNKNOWN_SERVER_ERROR and a traceback in the log.
"""

import logging
from collections.abc import Awaitable
from typing import Protocol, TypeVar

import hiredis

from korvet.coordinator.owned_store import NotOwnerError
from korvet.kafka.errors import ErrorCode, KafkaError
from korvet.redis.lane import ConnectionLost, NotSent

log = logging.getLogger(__name__)

_Response_co = TypeVar("_Response_co", covariant=True)
_Response = TypeVar("_Response")

REDIS_IS_AWAY = (NotSent, ConnectionLost, hiredis.ReplyError)


class Refusing(Protocol[_Response_co]):
    """Makes a response that refuses the whole call: the response's own class."""

    def __call__(self, *, error_code: int, coordinator_address: str) -> _Response_co: ...


async def answered(answer: Awaitable[_Response], refuse: Refusing[_Response]) -> _Response:
    try:
        return await answer
    except Exception as error:  # noqa: BLE001 - each kind has its code
        code, address = explained(error)
        return refuse(error_code=code, coordinator_address=address)


def explained(error: Exception) -> tuple[ErrorCode, str]:
    """The code, and where to go instead."""
    if isinstance(error, KafkaError):
        return error.code, ""
    if isinstance(error, NotOwnerError):
        return ErrorCode.NOT_COORDINATOR, error.address
    if isinstance(error, REDIS_IS_AWAY):
        return ErrorCode.COORDINATOR_NOT_AVAILABLE, ""
    log.error("a call failed", exc_info=error)
    return ErrorCode.UNKNOWN_SERVER_ERROR, ""
