"""What configs belong to, as DescribeConfigs, AlterConfigs and their kin name it.

Only topics have configs that can change. Those of a broker are the settings that its
services were started with; groups, client metrics and loggers have none here, which is what
a client is told, rather than that there are no such things.
"""

import re
from collections.abc import Mapping
from enum import IntEnum
from typing import Final

from korvet.kafka.errors import ErrorCode, KafkaError
from korvet.proto.storage.v1 import storage_service_pb2 as pb

# An int32 has no more digits, and Python refuses to read thousands of them.
_WHOLE_NUMBER: Final = re.compile(r"[+-]?[0-9]{1,10}")


class ResourceType(IntEnum):
    TOPIC = 2
    BROKER = 4
    BROKER_LOGGER = 8
    CLIENT_METRICS = 16
    GROUP = 32


class ConfigSource(IntEnum):
    """Where a value comes from, under Kafka's names and numbers."""

    DYNAMIC_TOPIC_CONFIG = 1
    STATIC_BROKER_CONFIG = 4
    DEFAULT_CONFIG = 5


SOURCES: Final[Mapping["pb.ConfigSource.ValueType", ConfigSource]] = {
    pb.CONFIG_SOURCE_TOPIC: ConfigSource.DYNAMIC_TOPIC_CONFIG,
    pb.CONFIG_SOURCE_SERVER: ConfigSource.STATIC_BROKER_CONFIG,
    pb.CONFIG_SOURCE_DEFAULT: ConfigSource.DEFAULT_CONFIG,
}


def resource_type(number: int) -> ResourceType:
    """Raises INVALID_REQUEST for a number that Kafka has no resource for."""
    try:
        return ResourceType(number)
    except ValueError:
        raise KafkaError(
            ErrorCode.INVALID_REQUEST, f"Unknown resource type {number}"
        ) from None


def check_broker(name: str, node_id: int) -> None:
    """Refuse a broker that is not this one: each answers for itself."""
    if not _WHOLE_NUMBER.fullmatch(name):
        detail = f"Broker id must be an integer, but it is: {name}"
        raise KafkaError(ErrorCode.INVALID_REQUEST, detail)
    if int(name) != node_id:
        detail = f"Unexpected broker id, expected {node_id}, but received {name}"
        raise KafkaError(ErrorCode.INVALID_REQUEST, detail)
