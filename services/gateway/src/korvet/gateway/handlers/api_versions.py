"""ApiVersions (18), v0-v4: which APIs and versions this gateway serves.

Versions
    v1  throttle_time_ms.
    v3  flexible; the client says what software it is (KIP-511). The response header stays
        v0, so that a client can read it before it knows what the server understands.
        And features: which are supported, and which are in force (finalized).
    v4  features whose min_version is 0 (KIP-1022). Clients of v3 cannot read those, so they
        are told only what is in force.

A version above v4 is answered in v0 with UNSUPPORTED_VERSION and the list, and the client
starts over with one from it. The only feature is transaction.version 2: Java's producers
then have an epoch for each transaction, and add partitions by producing to them (KIP-890).
Those of Kafka's metadata log and of groups say nothing about Korvet.
"""

import re
from collections.abc import Sequence
from typing import Final

from korvet.gateway.handler import ApiRange, Handler, Node, RequestContext
from korvet.kafka.errors import ErrorCode, KafkaError
from korvet.kafka.frames import RequestHead, encode_response
from korvet.kafka.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse

_SOFTWARE: Final = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")
_NAMES_SOFTWARE_FROM: Final = 3
_MIN_VERSION_0_FROM: Final = 4
_TRANSACTIONS: Final = "transaction.version"
_TRANSACTION_VERSION: Final = 2
# Clients start at -1, and take features in only with a higher one. Ours never change.
_FEATURES_EPOCH: Final = 0


async def handle(
    request: ApiVersionsRequest, context: RequestContext
) -> ApiVersionsResponse:
    if context.api_version >= _NAMES_SOFTWARE_FROM and not (
        _SOFTWARE.fullmatch(request.client_software_name)
        and _SOFTWARE.fullmatch(request.client_software_version)
    ):
        raise KafkaError(ErrorCode.INVALID_REQUEST, "client software name or version")
    return ApiVersionsResponse(
        api_keys=_listed(context.node.apis),
        supported_features=_supported(context.api_version),
        finalized_features_epoch=_FEATURES_EPOCH,
        finalized_features=[
            ApiVersionsResponse.FinalizedFeatureKey(
                name=_TRANSACTIONS,
                max_version_level=_TRANSACTION_VERSION,
                min_version_level=_TRANSACTION_VERSION,
            )
        ],
    )


def _supported(version: int) -> list[ApiVersionsResponse.SupportedFeatureKey]:
    if version < _MIN_VERSION_0_FROM:
        return []
    return [
        ApiVersionsResponse.SupportedFeatureKey(
            name=_TRANSACTIONS, min_version=0, max_version=_TRANSACTION_VERSION
        )
    ]


def refuse(
    request: ApiVersionsRequest, error: KafkaError, version: int
) -> ApiVersionsResponse:
    return ApiVersionsResponse(error_code=error.code)


def refuse_version(head: RequestHead, frame: bytes, node: Node) -> bytes:
    answer = ApiVersionsResponse(
        error_code=ErrorCode.UNSUPPORTED_VERSION, api_keys=_listed(node.apis)
    )
    return encode_response(head.correlation_id, answer, 0)


def _listed(apis: Sequence[ApiRange]) -> list[ApiVersionsResponse.ApiVersion]:
    return [
        ApiVersionsResponse.ApiVersion(
            api_key=api.api_key, min_version=api.min_version, max_version=api.max_version
        )
        for api in apis
    ]


HANDLER: Final = Handler(
    ApiVersionsRequest,
    min_version=0,
    max_version=4,
    handle=handle,
    refuse=refuse,
    refuse_version=refuse_version,
)
