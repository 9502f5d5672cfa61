"""Runs one request. The only place that answers for failures.

A refusal (KafkaError) and a bug both become the API's own error response. Where the API has
none, or no such API or version is served, the client is hung up on, as Kafka does.
"""

import asyncio
import logging
from time import perf_counter
from typing import Any, Final

from korvet.gateway.handler import Handler, RequestContext
from korvet.gateway.request_spans import begin_request, end_refused, end_request
from korvet.kafka.errors import ErrorCode, KafkaError
from korvet.kafka.first_error import first_error
from korvet.kafka.message import Message
from korvet.runtime import metrics, tracing
from korvet.runtime.tracing import Work

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

    def __init__(self, api: str, refusal: KafkaError) -> None:
        super().__init__(f"{api}: {refusal}")
        self.code = refusal.code


async def dispatch(
    handler: Handler[Any, Any], request: Message, context: RequestContext
) -> Message | None:
    """Answer a request; None where it has no answer (Produce with acks=0)."""
    if (
        tracing.wants_trace()
        and (work := begin_request(handler, request, context)) is not None
    ):
        return await _traced(work, handler, request, context)
    return await _answer(handler, request, context)


async def _traced(
    work: Work, handler: Handler[Any, Any], request: Message, context: RequestContext
) -> Message | None:
    try:
        with work:
            answer = await _answer(handler, request, context)
    except UnanswerableError as error:
        end_refused(work, error.code)
        raise
    except asyncio.CancelledError:
        # The client has gone.
        work.end("cancelled", is_failure=False)
        raise
    end_request(work, answer)
    return answer


async def _answer(
    handler: Handler[Any, Any], request: Message, context: RequestContext
) -> Message | None:
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
        raise UnanswerableError(handler.request_type.__name__, refusal)
    return refused


def _measure(handler: Handler[Any, Any], started: float, code: int) -> None:
    error = ErrorCode(code).name if code else ""
    _duration.of("kafka", handler.name, error).observe(perf_counter() - started)
