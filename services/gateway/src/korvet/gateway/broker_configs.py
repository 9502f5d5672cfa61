"""The gateway's settings under Kafka's names, for DescribeConfigs of the broker."""

from typing import Final

from korvet.gateway.handler import BrokerConfig
from korvet.gateway.settings import GatewaySettings
from korvet.proto.storage.v1 import storage_service_pb2 as pb
from korvet.runtime.settings import kafka_settings

_TYPES: Final[dict[type, "pb.ConfigType.ValueType"]] = {
    bool: pb.CONFIG_TYPE_BOOLEAN,
    int: pb.CONFIG_TYPE_INT,
    str: pb.CONFIG_TYPE_STRING,
}


def advertised(settings: GatewaySettings, port: int) -> tuple[str, int]:
    """The host and port that clients are told, given the port that is listened on."""
    host = settings.advertised_host or settings.listen_host
    return host, settings.advertised_port or port


def broker_configs(settings: GatewaySettings, port: int) -> list[BrokerConfig]:
    """Every setting that Kafka has a name for, by name."""
    advertised_host, advertised_port = advertised(settings, port)
    configs = [
        BrokerConfig(
            name="listeners",
            value=f"PLAINTEXT://{settings.listen_host}:{port}",
            is_set=True,
            type=pb.CONFIG_TYPE_LIST,
            documentation="Where this gateway listens.",
        ),
        BrokerConfig(
            name="advertised.listeners",
            value=f"PLAINTEXT://{advertised_host}:{advertised_port}",
            is_set=True,
            type=pb.CONFIG_TYPE_LIST,
            documentation="What clients are told to connect to.",
        ),
    ]
    for name, field in kafka_settings(GatewaySettings).items():
        value = getattr(settings, field)
        configs.append(
            BrokerConfig(
                name=name,
                value=str(value).lower() if isinstance(value, bool) else str(value),
                is_set=field in settings.model_fields_set,
                type=_TYPES[type(value)],
                documentation=GatewaySettings.model_fields[field].description or "",
            )
        )
    return sorted(configs)
