"""Runs one request. The only place that answers for failures.

A refusal (KafkaError) and a bug both become the API's own error response. Where the API has
none, or no such API or version is served, the client is hung up on, as Kafka does.
"""

import logging
from typing import Any

from korvet.gateway.handler import Handler, RequestContext
from korvet.kafka.errors import ErrorCode, KafkaError
from korvet.kafka.message import Message

log = logging.getLogger(__name__)


class UnanswerableError(Exception):
    """The client cannot be given an answer that it understands: hang up."""


async def dispatch(
    handler: Handler[Any, Any], request: Message, context: RequestContext
) -> Message | None:
    """Answer a request; None where it has no answer (Produce with acks=0)."""
    try:
        answer: Message | None = await handler.handle(request, context)
    except KafkaError as error:
        refusal = error
    except Exception:
        name = handler.request_type.__name__
        log.exception("%s v%d failed", name, context.api_version)
        refusal = KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR)
    else:
        return answer
    refused: Message | None = handler.refuse(request, refusal, context.api_version)
    if refused is None:
        raise UnanswerableError(f"{handler.request_type.__name__}: {refusal}")
    return refused
