"""The gRPC options that both ends of Korvet's connections share, and channels with them."""

from typing import Final

import grpc

from korvet.runtime import tracing
from korvet.runtime.grpc_tracing import TracedChannel

# gRPC's own 4 MiB is hit at once by coalesced frames and by messages that topics allow.
MAX_MESSAGE_BYTES: Final = 256 * 1024 * 1024

MESSAGE_OPTIONS: Final[tuple[tuple[str, int], ...]] = (
    ("grpc.max_send_message_length", MAX_MESSAGE_BYTES),
    ("grpc.max_receive_message_length", MAX_MESSAGE_BYTES),
)

# A peer that vanished without closing its connection is noticed within half a minute, on
# streams that are idle too.
KEEPALIVE_OPTIONS: Final[tuple[tuple[str, int], ...]] = (
    ("grpc.keepalive_time_ms", 20_000),
    ("grpc.keepalive_timeout_ms", 10_000),
    # Of every ping; gRPC's own minute counts where it is the longer one.
    ("grpc.http2.ping_timeout_ms", 10_000),
    ("grpc.keepalive_permit_without_calls", 1),
    ("grpc.http2.max_pings_without_data", 0),
)

_RECONNECT_OPTIONS: Final[tuple[tuple[str, int], ...]] = (
    # A restarted service is back within a second or two: gRPC's own backoff, up to two
    # minutes, would keep clients away for much longer.
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 1_000),
    # Despite its name this is how long an attempt to connect may take: a busy server needs
    # time for its first answer. One that refuses is tried again by the two above.
    ("grpc.min_reconnect_backoff_ms", 5_000),
    # Each channel has a connection of its own, so that what one carries never holds up
    # another, as it does when gRPC lets equal channels share one.
    ("grpc.use_local_subchannel_pool", 1),
    # A proxy from the environment is for the web, not for services next door.
    ("grpc.enable_http_proxy", 0),
)


def open_channel(address: str) -> grpc.aio.Channel:
    """A channel to "host:port" or "unix:/path.sock"; it connects when first used."""
    channel = grpc.aio.insecure_channel(
        address, options=(*MESSAGE_OPTIONS, *KEEPALIVE_OPTIONS, *_RECONNECT_OPTIONS)
    )
    return TracedChannel(channel, address) if tracing.is_on() else channel
