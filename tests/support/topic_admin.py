"""Arranges topics for tests, with bare requests: no client's own retries and caches."""

from collections.abc import Mapping

from korvet.kafka.errors import ErrorCode
from korvet.kafka.messages.delete_records import (
    DeleteRecordsRequest,
    DeleteRecordsResponse,
)
from korvet.kafka.messages.incremental_alter_configs import (
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from korvet.kafka.messages.metadata import MetadataRequest, MetadataResponse
from tests.support.wire_client import WireClient

_TOPIC_RESOURCE = 2


def create_topic(
    bootstrap: str,
    name: str,
    *,
    partitions: int = 1,
    configs: Mapping[str, str] | None = None,
) -> None:
    with _wire(bootstrap) as wire:
        created = wire.create_topic(name, configs, partitions=partitions)
    assert created is ErrorCode.NONE, f"{name}: {created!r}"


def delete_topic(bootstrap: str, name: str) -> None:
    with _wire(bootstrap) as wire:
        deleted = wire.delete_topic(name)
    assert deleted is ErrorCode.NONE, f"{name}: {deleted!r}"


def set_config(bootstrap: str, topic: str, name: str, value: str) -> None:
    request = IncrementalAlterConfigsRequest(
        resources=[
            IncrementalAlterConfigsRequest.AlterConfigsResource(
                resource_type=_TOPIC_RESOURCE,
                resource_name=topic,
                configs=[
                    IncrementalAlterConfigsRequest.AlterableConfig(name=name, value=value)
                ],
            )
        ]
    )
    with _wire(bootstrap) as wire:
        (answer,) = wire.call(request, IncrementalAlterConfigsResponse, 1).responses
    assert answer.error_code == ErrorCode.NONE, answer.error_message


def delete_records(bootstrap: str, topic: str, *, before: int, partition: int = 0) -> int:
    """Delete what is before an offset; return the partition's new beginning."""
    cut = DeleteRecordsRequest.DeleteRecordsPartition(
        partition_index=partition, offset=before
    )
    request = DeleteRecordsRequest(
        topics=[DeleteRecordsRequest.DeleteRecordsTopic(name=topic, partitions=[cut])],
        timeout_ms=10_000,
    )
    with _wire(bootstrap) as wire:
        (answer,) = wire.call(request, DeleteRecordsResponse, 2).topics[0].partitions
    assert answer.error_code == ErrorCode.NONE, ErrorCode(answer.error_code)
    return answer.low_watermark


def topic_names(bootstrap: str) -> set[str]:
    with _wire(bootstrap) as wire:
        found = wire.call(MetadataRequest(topics=None), MetadataResponse, 12)
    return {topic.name or "" for topic in found.topics}


def _wire(bootstrap: str) -> WireClient:
    return WireClient(bootstrap.split(",")[0])
