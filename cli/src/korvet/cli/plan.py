"""What one `korvet up` is to start: everything that is known before the first process."""

import contextlib
import secrets
import socket
from dataclasses import dataclass
from typing import Final

from korvet.cli.failure import Failure
from korvet.cli.server_settings import ServerSettings

HOST: Final = "127.0.0.1"

# None of those that outgoing connections get: a port that is free now is still free when
# its service listens on it, seconds later.
_FREE_PORTS: Final = range(12_000, 32_000)
_ATTEMPTS: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    kafka_port: int
    storage_port: int
    coordinator_port: int
    # None: the usual one, or a free one where that is taken.
    metrics_port: int | None
    redis_url: str | None
    settings: ServerSettings
    verbose: bool
    # Whether to keep the last traces.
    traces: bool

    @property
    def kafka_address(self) -> str:
        return f"{HOST}:{self.kafka_port}"

    @property
    def storage_address(self) -> str:
        return f"{HOST}:{self.storage_port}"

    @property
    def coordinator_address(self) -> str:
        return f"{HOST}:{self.coordinator_port}"


def usable_port(port: int, option: str) -> int:
    """The port, or a free one for 0; a taken one is better found now than by a service."""
    if port == 0:
        return free_port()
    try:
        _listen_for_a_moment(port)
    except OverflowError:
        raise Failure(f"{port} is no port: they go from 1 to 65535.") from None
    except OSError as error:
        raise Failure(
            f"Cannot listen on {HOST}:{port}: {(error.strerror or str(error)).lower()}.",
            f"Stop what uses that port, or choose another one with {option}.",
        ) from error
    return port


def free_port() -> int:
    for port in secrets.SystemRandom().sample(_FREE_PORTS, _ATTEMPTS):
        with contextlib.suppress(OSError):
            _listen_for_a_moment(port)
            return port
    raise Failure(f"There is no free port on {HOST}.")


def _listen_for_a_moment(port: int) -> None:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind((HOST, port))
