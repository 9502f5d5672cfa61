"""What can be configured in the coordinator, and why.

A field with a Kafka name is one of Kafka's server-wide settings: the same name works in
`korvet up --set` and is listed by DescribeServer.
"""

from pydantic import Field
from pydantic_settings import SettingsConfigDict

from korvet.redis.settings import ADDRESSES, LONG_MAX, RedisServiceSettings, kafka

_INT_MAX = (1 << 31) - 1


class CoordinatorSettings(RedisServiceSettings):
    """Read from KORVET_COORDINATOR_*."""

    model_config = SettingsConfigDict(
        env_prefix="KORVET_COORDINATOR_", frozen=True, extra="forbid"
    )

    listen_address: str = Field(
        default="127.0.0.1:50052",
        pattern=ADDRESSES,
        description="Where to listen: host:port or unix:/path.sock, separated by commas.",
    )
    advertised_address: str = Field(
        default="",
        pattern=r"^(unix:\S+|\S+:\d+)?$",
        description="Where gateways reach this coordinator, in their own terms; unset, the "
        "first address that it listens on. No two coordinators may have the same.",
    )
    storage_address: str = Field(
        default="127.0.0.1:50051",
        pattern=ADDRESSES,
        description="Where storage listens: host:port or unix:/path.sock, separated by "
        "commas.",
    )
    lease_ms: int = Field(
        default=6000,
        ge=500,
        le=300_000,
        description="A coordinator that has not been heard from for this long loses its "
        "groups and transactional ids to the others.",
    )
    group_min_session_timeout_ms: int = Field(
        default=6000,
        ge=1,
        le=_INT_MAX,
        description="The shortest session time-out that a member may ask for.",
        json_schema_extra=kafka("group.min.session.timeout.ms"),
    )
    group_max_session_timeout_ms: int = Field(
        default=30 * 60 * 1000,
        ge=1,
        le=_INT_MAX,
        description="The longest session time-out that a member may ask for.",
        json_schema_extra=kafka("group.max.session.timeout.ms"),
    )
    group_initial_rebalance_delay_ms: int = Field(
        default=3000,
        ge=0,
        le=_INT_MAX,
        description="How long an empty group's first rebalance waits for more members.",
        json_schema_extra=kafka("group.initial.rebalance.delay.ms"),
    )
    group_max_size: int = Field(
        default=_INT_MAX,
        ge=1,
        le=_INT_MAX,
        description="How many members a group may have.",
        json_schema_extra=kafka("group.max.size"),
    )
    offset_metadata_max_bytes: int = Field(
        default=4096,
        ge=0,
        le=_INT_MAX,
        description="The longest text that may be committed with an offset, in characters "
        "as Java counts them.",
        json_schema_extra=kafka("offset.metadata.max.bytes"),
    )
    offsets_retention_minutes: int = Field(
        default=7 * 24 * 60,
        ge=1,
        le=_INT_MAX,
        description="How long the offsets of a group without members are kept, and those "
        "of topics that its members are not subscribed to.",
        json_schema_extra=kafka("offsets.retention.minutes"),
    )
    offsets_retention_check_interval_ms: int = Field(
        default=10 * 60 * 1000,
        ge=1,
        le=LONG_MAX,
        description="How often offsets that have expired are looked for.",
        json_schema_extra=kafka("offsets.retention.check.interval.ms"),
    )

    transaction_max_timeout_ms: int = Field(
        default=15 * 60 * 1000,
        ge=1,
        le=_INT_MAX,
        description="The longest time-out that a transactional producer may ask for.",
        json_schema_extra=kafka("transaction.max.timeout.ms"),
    )
    transactional_id_expiration_ms: int = Field(
        default=7 * 24 * 60 * 60 * 1000,
        ge=1,
        le=_INT_MAX,
        description="How long a transactional id without an open transaction is kept.",
        json_schema_extra=kafka("transactional.id.expiration.ms"),
    )

    @property
    def address(self) -> str:
        """Where gateways reach this coordinator."""
        return self.advertised_address or self.listen_addresses[0]

    @property
    def storage_addresses(self) -> list[str]:
        return [address.strip() for address in self.storage_address.split(",")]
