"""Runs one request. The only place that answers for failures.

A refusal (KafkaError) and a bug both become the API's own error response. Where the API has
none, or no such API or version is served, the client is hung up on, as Kafka does.
"""

import logging
from time import perf_counter
from typing import Any, Final

from korvet.gateway.handler import Handler, RequestContext
from korvet.kafka.errors import ErrorCode, KafkaError
from korvet.kafka.first_error import first_error
from korvet.kafka.message import Message
from korvet.runtime import metrics

log = logging.getLogger(__name__)

_duration: Final = metrics.histogram(
    "rpc.server.call.duration",
    unit="s",
    description="Of Kafka requests, from decoded to answered: a fetch's waiting for records"
    " and a join's for the others are part of it. error.type is the answer's first error.",
    attributes=("rpc.system.name", "rpc.method", "error.type"),
)


class UnanswerableError(Exception):
    """The client cannot be given an answer that it understands: hang up."""


async def dispatch(
    handler: Handler[Any, Any], request: Message, context: RequestContext
) -> Message | None:
    """Answer a request; None where it has no answer (Produce with acks=0)."""
    started = perf_counter()
    try:
        answer: Message | None = await handler.handle(request, context)
    except KafkaError as error:
        refusal = error
    except Exception:
        name = handler.request_type.__name__
        log.exception("%s v%d failed", name, context.api_version)
        refusal = KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR)
    else:
        _measure(
            handler, started, ErrorCode.NONE if answer is None else first_error(answer)
        )
        return answer
    _measure(handler, started, refusal.code)
    refused: Message | None = handler.refuse(request, refusal, context.api_version)
    if refused is None:
        raise UnanswerableError(f"{handler.request_type.__name__}: {refusal}")
    return refused


def _measure(handler: Handler[Any, Any], started: float, code: int) -> None:
    error = ErrorCode(code).name if code else ""
    _duration.of("kafka", handler.name, error).observe(perf_counter() - started)
