"""Turns what a call could not do into a gRPC status: the one place where that is decided.

A refusal that a Kafka client understands is a code inside the answer and never comes here.
"""

import logging
from collections.abc import Awaitable
from typing import Any, TypeAlias, TypeVar

import grpc

from korvet.kafka.errors import KafkaError
from korvet.runtime.logs import LimitedLog
from redis.exceptions import RedisError

log = LimitedLog(logging.getLogger(__name__))

_Context: TypeAlias = "grpc.aio.ServicerContext[Any, Any]"
_Answer = TypeVar("_Answer")


class NotReadyError(Exception):
    """The process has not got far enough to answer."""


class InvalidRequestError(ValueError):
    """A request that cannot be answered however often it is sent; the message says why."""


async def answered(context: _Context, call: Awaitable[_Answer]) -> _Answer:
    """The call's answer; UNAVAILABLE where Redis gave none."""
    try:
        return await call
    except (RedisError, NotReadyError) as error:
        log.warning("a call failed, since Redis did: %s", error)
        await context.abort(grpc.StatusCode.UNAVAILABLE, f"Redis: {error}")
    except KafkaError as error:
        # Where the answer has no room for a code, the whole call could not be answered.
        await context.abort(grpc.StatusCode.UNAVAILABLE, str(error))
    except InvalidRequestError as error:
        await context.abort(grpc.StatusCode.INVALID_ARGUMENT, str(error))
