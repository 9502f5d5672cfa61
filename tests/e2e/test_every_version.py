"""Every API in every version that is advertised gets a proper answer on a live system."""

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from importlib import import_module
from typing import Any, Final

import pytest

from korvet.gateway.handlers import HANDLERS
from korvet.kafka.errors import ErrorCode
from korvet.kafka.message import Message
from korvet.kafka.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from korvet.kafka.messages.add_partitions_to_txn import AddPartitionsToTxnRequest
from korvet.kafka.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
)
from korvet.kafka.messages.alter_replica_log_dirs import AlterReplicaLogDirsRequest
from korvet.kafka.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from korvet.kafka.messages.delete_groups import DeleteGroupsRequest
from korvet.kafka.messages.describe_groups import DescribeGroupsRequest
from korvet.kafka.messages.describe_transactions import DescribeTransactionsRequest
from korvet.kafka.messages.elect_leaders import ElectLeadersRequest
from korvet.kafka.messages.end_txn import EndTxnRequest
from korvet.kafka.messages.heartbeat import HeartbeatRequest
from korvet.kafka.messages.join_group import JoinGroupRequest
from korvet.kafka.messages.leave_group import LeaveGroupRequest
from korvet.kafka.messages.offset_delete import OffsetDeleteRequest
from korvet.kafka.messages.sync_group import SyncGroupRequest
from korvet.kafka.messages.txn_offset_commit import TxnOffsetCommitRequest
from tests.support.korvet_process import KorvetCluster
from tests.support.sample_requests import SAMPLE_REQUESTS, Asked
from tests.support.topic_admin import create_topic
from tests.support.wire_client import WireClient, batch_of

pytestmark = pytest.mark.e2e

# Where the proper answer to the sample is a refusal, as it is in Kafka.
_REFUSALS: Final = {
    AlterReplicaLogDirsRequest.API_KEY: ErrorCode.LOG_DIR_NOT_FOUND,
    ElectLeadersRequest.API_KEY: ErrorCode.ELECTION_NOT_NEEDED,
    AlterPartitionReassignmentsRequest.API_KEY: ErrorCode.NO_REASSIGNMENT_IN_PROGRESS,
    JoinGroupRequest.API_KEY: ErrorCode.UNKNOWN_MEMBER_ID,
    SyncGroupRequest.API_KEY: ErrorCode.UNKNOWN_MEMBER_ID,
    HeartbeatRequest.API_KEY: ErrorCode.UNKNOWN_MEMBER_ID,
    LeaveGroupRequest.API_KEY: ErrorCode.UNKNOWN_MEMBER_ID,
    DeleteGroupsRequest.API_KEY: ErrorCode.GROUP_ID_NOT_FOUND,
    OffsetDeleteRequest.API_KEY: ErrorCode.GROUP_ID_NOT_FOUND,
    AddPartitionsToTxnRequest.API_KEY: ErrorCode.INVALID_PRODUCER_ID_MAPPING,
    AddOffsetsToTxnRequest.API_KEY: ErrorCode.INVALID_PRODUCER_ID_MAPPING,
    TxnOffsetCommitRequest.API_KEY: ErrorCode.INVALID_PRODUCER_ID_MAPPING,
    EndTxnRequest.API_KEY: ErrorCode.INVALID_PRODUCER_ID_MAPPING,
    DescribeTransactionsRequest.API_KEY: ErrorCode.TRANSACTIONAL_ID_NOT_FOUND,
}
_GROUP_ID_NOT_FOUND_FROM: Final = 6
# Produce is advertised from 0, since librdkafka looks for that, but served from 3.
_SERVED: Final = [
    (handler.request_type, version)
    for handler in HANDLERS
    for version in range(handler.min_version, handler.max_version + 1)
    if handler.serves(version)
]


@pytest.mark.parametrize(
    ("request_type", "version"),
    _SERVED,
    ids=[f"{api.__name__.removesuffix('Request')}-v{version}" for api, version in _SERVED],
)
def test_a_request_is_answered_in_its_version(
    korvet: KorvetCluster, topic: str, request_type: type[Message], version: int
) -> None:
    create_topic(korvet.bootstrap, topic)
    with WireClient(korvet.bootstrap) as wire:
        wire.produce(topic, batch_of([b"value"]))
        asked = Asked(topic, wire.find_topic(topic).topic_id, version)
        request = SAMPLE_REQUESTS[request_type.API_KEY](asked)

        wire.send(request, version)
        answer = wire.receive(_response_type(request_type), version)

    refusal = _refusal(request_type, version)
    codes = set(_error_codes(answer))
    assert codes <= {refusal, ErrorCode.NONE}
    if refusal:
        assert refusal in codes


@pytest.mark.parametrize("version", range(5))
def test_the_advertised_versions_are_the_served_ones(
    korvet: KorvetCluster, version: int
) -> None:
    request = ApiVersionsRequest(
        client_software_name="korvet-tests", client_software_version="1"
    )
    with WireClient(korvet.bootstrap) as wire:
        answer = wire.call(request, ApiVersionsResponse, version)

    advertised = {api.api_key: api for api in answer.api_keys}
    assert advertised.keys() == {handler.request_type.API_KEY for handler in HANDLERS}
    for handler in HANDLERS:
        key = handler.request_type.API_KEY
        assert advertised[key].max_version == handler.max_version
        assert advertised[key].min_version in (handler.min_version, 0)


def _refusal(request_type: type[Message], version: int) -> ErrorCode:
    if request_type is DescribeGroupsRequest and version >= _GROUP_ID_NOT_FOUND_FROM:
        return ErrorCode.GROUP_ID_NOT_FOUND
    return _REFUSALS.get(request_type.API_KEY, ErrorCode.NONE)


def _response_type(request_type: type[Message]) -> type[Message]:
    module = import_module(request_type.__module__)
    name = request_type.__name__.removesuffix("Request") + "Response"
    response_type: type[Message] = getattr(module, name)
    return response_type


def _error_codes(value: Any) -> Iterator[int]:
    """Every error code anywhere in an answer."""
    if isinstance(value, list):
        for item in value:
            yield from _error_codes(item)
    elif is_dataclass(value):
        for each in fields(value):
            inner = getattr(value, each.name)
            if each.name.endswith("error_code"):
                yield inner
            else:
                yield from _error_codes(inner)
