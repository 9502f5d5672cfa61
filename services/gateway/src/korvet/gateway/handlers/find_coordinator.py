"""FindCoordinator (10), v0-v6: which broker to ask about a group or a transactional id.

Versions
    v1  key_type, with 1 for transactional ids, and error messages.
    v3  flexible.
    v4  several keys at once (KIP-699).
    v5  TRANSACTION_ABORTABLE as an error (KIP-890).
    v6  key_type 2, share groups (KIP-932).

Every gateway finds the coordinator that owns a group or a transactional id, and serves
whoever asks. All name the same one for it nevertheless: a client that has asked two of them
and hears two names (librdkafka asks several when it starts) drops the connection on which
its first JoinGroup is, and its group waits for the member that never comes.

Not supported: share groups, which are INVALID_REQUEST, as on a Kafka without them.
"""

from collections.abc import Sequence
from typing import Final

from korvet.gateway.cluster import Broker
from korvet.gateway.handler import Handler, RequestContext
from korvet.kafka.errors import ErrorCode, KafkaError
from korvet.kafka.messages.find_coordinator import (
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from korvet.runtime.turns import in_turns

_Coordinator = FindCoordinatorResponse.Coordinator

# Groups and transactional ids.
_KEY_TYPES: Final = (0, 1)
_SEVERAL_KEYS_FROM: Final = 4


async def handle(
    request: FindCoordinatorRequest, context: RequestContext
) -> FindCoordinatorResponse:
    if request.key_type not in _KEY_TYPES:
        raise KafkaError(
            ErrorCode.INVALID_REQUEST,
            f"there are no coordinators of type {request.key_type}",
        )
    version, cluster = context.api_version, context.cluster
    found = [
        _found(key, cluster.coordinator(key))
        async for key in in_turns(_keys(request, version))
    ]
    return _response(found, version)


def refuse(
    request: FindCoordinatorRequest, error: KafkaError, version: int
) -> FindCoordinatorResponse:
    return _response(
        [
            _Coordinator(
                key=key,
                node_id=-1,
                port=-1,
                error_code=error.code,
                error_message=error.detail or None,
            )
            for key in _keys(request, version)
        ],
        version,
    )


def _keys(request: FindCoordinatorRequest, version: int) -> Sequence[str]:
    return request.coordinator_keys if version >= _SEVERAL_KEYS_FROM else [request.key]


def _found(key: str, broker: Broker) -> _Coordinator:
    return _Coordinator(
        key=key,
        node_id=broker.node_id,
        host=broker.host,
        port=broker.port,
        error_message=None,
    )


def _response(found: list[_Coordinator], version: int) -> FindCoordinatorResponse:
    if version >= _SEVERAL_KEYS_FROM:
        return FindCoordinatorResponse(coordinators=found)
    (only,) = found
    return FindCoordinatorResponse(
        error_code=only.error_code,
        error_message=only.error_message,
        node_id=only.node_id,
        host=only.host,
        port=only.port,
    )


HANDLER: Final = Handler(
    FindCoordinatorRequest, min_version=0, max_version=6, handle=handle, refuse=refuse
)
