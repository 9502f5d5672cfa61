"""What can be configured in storage, and why.

A field with a Kafka name is one of Kafka's server-wide settings: the same name works in
`korvet up --set` and is listed by DescribeServer.
"""

from typing import Self

from pydantic import Field, model_validator
from pydantic_settings import SettingsConfigDict

from korvet.kafka.errors import KafkaError
from korvet.proto.storage.v1 import storage_service_pb2 as pb
from korvet.redis.settings import (
    ADDRESSES,
    LONG_MAX,
    RedisServiceSettings,
    described_settings,
    kafka,
)
from korvet.storage.messages import setting_message
from korvet.storage.topic_configs import TopicConfigs


class StorageSettings(RedisServiceSettings):
    """Read from KORVET_STORAGE_*."""

    model_config = SettingsConfigDict(
        env_prefix="KORVET_STORAGE_", frozen=True, extra="forbid"
    )

    listen_address: str = Field(
        default="127.0.0.1:50051",
        pattern=ADDRESSES,
        description="Where to listen: host:port or unix:/path.sock, separated by commas.",
    )
    topic_defaults: dict[str, str] = Field(
        default_factory=dict,
        description="Defaults of topic configs as a JSON object, by the config's name or "
        "by Kafka's name for its broker-wide default.",
    )
    num_partitions: int = Field(
        default=1,
        ge=1,
        le=10_000,
        description="How many partitions a topic gets if its creator does not say.",
        json_schema_extra=kafka("num.partitions"),
    )
    producer_id_expiration_ms: int = Field(
        default=24 * 60 * 60 * 1000,
        ge=1,
        le=LONG_MAX,
        description="How long an idle producer's sequence is remembered in a partition "
        "where its transaction is not open.",
        json_schema_extra=kafka("producer.id.expiration.ms"),
    )
    log_retention_check_interval_ms: int = Field(
        default=5 * 60 * 1000,
        ge=1,
        le=LONG_MAX,
        description="How often retention is applied to partitions that nobody writes to.",
        json_schema_extra=kafka("log.retention.check.interval.ms"),
    )

    @model_validator(mode="after")
    def _check_topic_defaults(self) -> Self:
        try:
            TopicConfigs(self.topic_defaults)
        except KafkaError as error:
            raise ValueError(f"topic defaults: {error.detail}") from None
        return self


def described(settings: StorageSettings) -> list[pb.Config]:
    """Every setting that Kafka has a name for, by that name."""
    configs = [
        setting_message(config)
        for config in TopicConfigs(settings.topic_defaults).server_settings()
    ]
    configs += described_settings(settings)
    return sorted(configs, key=lambda config: config.name)
