"""What can be configured in a gateway, and why.

A field with a Kafka name is one of Kafka's server-wide settings: the same name works in
`korvet up --set` and is listed by DescribeConfigs of the broker.
"""

from typing import Any, Self

from pydantic import Field, model_validator
from pydantic_settings import SettingsConfigDict

from korvet.runtime.settings import ServiceSettings

_MEBIBYTE = 1024 * 1024
_ADDRESS = r"(unix:[^\s,]+|[^\s,]+:\d+)"
_ADDRESSES = rf"\s*{_ADDRESS}\s*(,\s*{_ADDRESS}\s*)*"
_EVERY_INTERFACE = frozenset({"0.0.0.0", "::", "[::]", ""})  # noqa: S104 - never a default


def _kafka(name: str) -> dict[str, Any]:
    return {"kafka": name}


class GatewaySettings(ServiceSettings):
    """Read from KORVET_GATEWAY_*."""

    model_config = SettingsConfigDict(
        env_prefix="KORVET_GATEWAY_", frozen=True, extra="forbid"
    )

    storage_address: str = Field(
        pattern=f"^{_ADDRESSES}$",
        description="Where storage listens: host:port or unix:/path.sock, separated by "
        "commas. All addresses of a host name are used, and looked up again.",
    )
    coordinator_address: str = Field(
        default="",
        pattern=f"^({_ADDRESSES})?$",
        description="Likewise where coordinators listen; unset, there are no consumer "
        "groups. Coordinators that these name are used as well.",
    )
    listen_host: str = Field(default="127.0.0.1", description="The interface to listen on.")
    listen_port: int = Field(
        default=9092, ge=0, le=65535, description="The port; 0 takes a free one."
    )
    advertised_host: str | None = Field(
        default=None,
        description="What Metadata tells clients to connect to; unset, the listen host.",
    )
    advertised_port: int | None = Field(
        default=None, ge=1, le=65535, description="Likewise; unset, the port it listens on."
    )
    node_id: int = Field(
        default=1,
        ge=0,
        description="This gateway's broker id; no two live gateways may have the same.",
        json_schema_extra=_kafka("node.id"),
    )
    rack: str = Field(
        default="",
        description="The rack or zone that Metadata names for this gateway.",
        json_schema_extra=_kafka("broker.rack"),
    )
    auto_create_topics_enable: bool = Field(
        default=True,
        description="Create a topic that Metadata is asked for, where the client wants it.",
        json_schema_extra=_kafka("auto.create.topics.enable"),
    )

    max_request_bytes: int = Field(
        default=100 * _MEBIBYTE,
        ge=1024,
        description="Larger requests are refused before they are read.",
        json_schema_extra=_kafka("socket.request.max.bytes"),
    )
    max_connections: int = Field(
        default=10_000,
        ge=1,
        description="Connections above this number are closed at once.",
        json_schema_extra=_kafka("max.connections"),
    )
    connections_max_idle_ms: int = Field(
        default=600_000,
        ge=1_000,
        description="Close connections on which nothing has happened for this long.",
        json_schema_extra=_kafka("connections.max.idle.ms"),
    )
    max_requests_in_flight: int = Field(
        default=256,
        ge=1,
        description="How many requests of one connection may be under way; no more are "
        "read until some are answered.",
    )
    max_request_bytes_in_flight: int = Field(
        default=64 * _MEBIBYTE,
        ge=1024,
        description="Likewise for the bytes of one connection's requests.",
    )
    queued_max_request_bytes: int = Field(
        default=256 * _MEBIBYTE,
        ge=_MEBIBYTE,
        description="The bytes of requests that all connections may have under way.",
        json_schema_extra=_kafka("queued.max.request.bytes"),
    )
    fetch_max_bytes: int = Field(
        default=8 * _MEBIBYTE,
        ge=1024,
        description="The largest answer to a fetch, unless a single batch is larger. More "
        "than 8 MiB has no effect: storage reads no more at a time.",
        json_schema_extra=_kafka("fetch.max.bytes"),
    )
    max_fetch_bytes_in_memory: int = Field(
        default=256 * _MEBIBYTE,
        ge=_MEBIBYTE,
        description="Fetches get smaller answers when those that clients have not taken "
        "yet come near this in total.",
    )

    storage_deadline_seconds: float = Field(
        default=10.0, gt=0, description="How long storage may take for a call."
    )
    coordinator_deadline_seconds: float = Field(
        default=10.0,
        gt=0,
        description="How long a coordinator may take for a call, without the time that a "
        "join or sync waits for a rebalance.",
    )
    broker_session_timeout_ms: int = Field(
        default=9_000,
        ge=1_000,
        description="A gateway that has not been heard from for this long is not listed.",
        json_schema_extra=_kafka("broker.session.timeout.ms"),
    )
    drain_seconds: float = Field(
        default=10.0,
        ge=0,
        description="How long requests under way may take to finish at shutdown.",
    )

    @model_validator(mode="after")
    def _advertises_something_reachable(self) -> Self:
        if self.advertised_host is None and self.listen_host in _EVERY_INTERFACE:
            raise ValueError(
                f"KORVET_GATEWAY_ADVERTISED_HOST: required when listening on "
                f"{self.listen_host or 'every interface'}: clients cannot connect to that"
            )
        return self
