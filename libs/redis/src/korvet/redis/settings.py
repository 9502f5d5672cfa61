"""What the settings of every service on Redis share."""

from typing import Any, Final

from pydantic import Field, SecretStr, field_validator

from korvet.proto.storage.v1 import storage_service_pb2 as pb
from korvet.runtime.settings import ServiceSettings, kafka_settings
from redis.asyncio.connection import parse_url

ADDRESSES: Final = r"^\s*(unix:\S+|\S+:\d+)\s*(,\s*(unix:\S+|\S+:\d+)\s*)*$"
LONG_MAX: Final = (1 << 63) - 1


def kafka(name: str) -> dict[str, Any]:
    """Marks a field as one of Kafka's server-wide settings (`json_schema_extra`)."""
    return {"kafka": name}


class RedisServiceSettings(ServiceSettings):
    """A gRPC service that keeps what it knows in Redis."""

    redis_url: SecretStr = Field(
        default=SecretStr("redis://127.0.0.1:6379/0"),
        description="The Redis that keeps everything: redis://, rediss:// or unix://, with "
        "user, password and database number where it needs them.",
    )
    keyspace: str = Field(
        default="korvet",
        pattern=r"^[a-zA-Z0-9._-]+$",
        description="What all keys in Redis begin with.",
    )
    allow_eviction: bool = Field(
        default=False,
        description="Start on a Redis whose maxmemory-policy deletes keys when it is full.",
    )
    listen_address: str = Field(
        pattern=ADDRESSES,
        description="Where to listen: host:port or unix:/path.sock, separated by commas.",
    )
    stream_port: int = Field(
        default=0,
        ge=0,
        le=65535,
        description="Where gateways open their streams, at the hosts of the addresses to "
        "listen at; 0 takes a free port. They ask for it, and need to be told nothing.",
    )
    drain_seconds: float = Field(
        default=5.0,
        ge=0,
        description="How long calls under way may take to finish after SIGTERM.",
    )

    @field_validator("redis_url")
    @classmethod
    def _check_redis_url(cls, url: SecretStr) -> SecretStr:
        try:
            parse_url(url.get_secret_value())
        except ValueError:
            # Not redis-py's words, which may quote a password.
            raise ValueError(
                "it must be redis://, rediss:// or unix://, as in redis://HOST:PORT"
            ) from None
        return url

    @property
    def listen_addresses(self) -> list[str]:
        return [address.strip() for address in self.listen_address.split(",")]


def described_settings(settings: RedisServiceSettings) -> list[pb.Config]:
    """Every setting that Kafka has a name for, by that name."""
    configs = []
    for name, field in kafka_settings(type(settings)).items():
        info = type(settings).model_fields[field]
        is_set = field in settings.model_fields_set
        configs.append(
            pb.Config(
                name=name,
                value=str(getattr(settings, field)),
                source=pb.CONFIG_SOURCE_SERVER if is_set else pb.CONFIG_SOURCE_DEFAULT,
                type=pb.CONFIG_TYPE_LONG if name.endswith("ms") else pb.CONFIG_TYPE_INT,
                documentation=info.description or "",
                read_only=True,
                default_value=str(info.default),
            )
        )
    return configs
