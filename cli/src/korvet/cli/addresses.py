"""Where the commands find Korvet, and what to say when it, or a topic, is not there."""

import contextlib
import re
import shlex
import socket
from collections.abc import Callable
from typing import Annotated, NamedTuple

import typer

from korvet.cli.failure import Failure
from korvet.client import DEFAULT_ADDRESS
from korvet.storage.topic_names import is_topic_name

DEFAULT_BOOTSTRAP = "127.0.0.1:9092"
DEFAULT_STORAGE = DEFAULT_ADDRESS
DEFAULT_COORDINATOR = "127.0.0.1:50052"
# OpenTelemetry's port for Prometheus to scrape.
METRICS_PORT = 9464
DEFAULT_METRICS = f"127.0.0.1:{METRICS_PORT}"


def _checked(option: str) -> Callable[[str | None], str | None]:
    """Addresses are looked at before anybody is asked, whose errors would be obscure."""

    def check(value: str | None) -> str | None:
        for address in value.split(",") if value else ():
            host, _, port = address.strip().rpartition(":")
            is_socket = host == "unix" and option != "--bootstrap"
            if not is_socket and not (host and _is_port(port)):
                raise Failure(
                    f"{option} {value} is not HOST:PORT.",
                    f"For example: {option} {_EXAMPLES[option]}",
                )
        return value

    return check


def _is_port(text: str) -> bool:
    return bool(re.fullmatch(r"\d{1,5}", text)) and 0 < int(text) < 1 << 16


_EXAMPLES = {
    "--bootstrap": DEFAULT_BOOTSTRAP,
    "--storage": DEFAULT_STORAGE,
    "--coordinator": DEFAULT_COORDINATOR,
    "--metrics": DEFAULT_METRICS,
}

BootstrapOption = Annotated[
    str,
    typer.Option(
        "--bootstrap",
        metavar="HOST:PORT",
        callback=_checked("--bootstrap"),
        envvar="KORVET_BOOTSTRAP",
        help="Where Korvet speaks Kafka.",
    ),
]
# For commands that only need storage: they take what the others take, so that one set of
# options fits every command.
StorageOption = Annotated[
    str | None,
    typer.Option(
        "--storage",
        metavar="HOST:PORT",
        callback=_checked("--storage"),
        envvar="KORVET_STORAGE",
        help="Where Korvet's storage speaks gRPC.",
        show_default=DEFAULT_STORAGE,
    ),
]
BesideBootstrapOption = Annotated[
    str | None,
    typer.Option(
        "--bootstrap",
        metavar="HOST:PORT",
        callback=_checked("--bootstrap"),
        envvar="KORVET_BOOTSTRAP",
        help="Where Korvet speaks Kafka. Not used here: give --storage with it.",
        show_default=DEFAULT_BOOTSTRAP,
    ),
]
CoordinatorOption = Annotated[
    str | None,
    typer.Option(
        "--coordinator",
        metavar="HOST:PORT",
        callback=_checked("--coordinator"),
        envvar="KORVET_COORDINATOR",
        help="Where Korvet's coordinator speaks gRPC.",
        show_default=DEFAULT_COORDINATOR,
    ),
]
MetricsOption = Annotated[
    str,
    typer.Option(
        "--metrics",
        metavar="HOST:PORT",
        callback=_checked("--metrics"),
        envvar="KORVET_METRICS",
        help="Where Korvet serves its metrics; of several processes, separated by commas.",
    ),
]
UnusedCoordinatorOption = Annotated[
    str | None,
    typer.Option(
        "--coordinator",
        metavar="HOST:PORT",
        callback=_checked("--coordinator"),
        envvar="KORVET_COORDINATOR",
        help="Where Korvet's coordinator speaks gRPC. Not used here.",
        show_default=DEFAULT_COORDINATOR,
    ),
]


class GroupAddresses(NamedTuple):
    coordinator: str
    storage: str


def storage_beside(bootstrap: str | None, storage: str | None) -> str:
    """Storage's address, which must be that of the Korvet that the caller means."""
    if bootstrap not in (None, DEFAULT_BOOTSTRAP) and storage is None:
        raise Failure(
            f"This command uses gRPC, and where that is beside {bootstrap} is not known.",
            "`korvet up` says where. Give it with --storage HOST:PORT (or KORVET_STORAGE).",
        )
    return storage or DEFAULT_STORAGE


def groups_beside(
    bootstrap: str | None, storage: str | None, coordinator: str | None
) -> GroupAddresses:
    """The coordinator's address and storage's, which must be those of one Korvet."""
    defaults = (DEFAULT_BOOTSTRAP, DEFAULT_STORAGE, DEFAULT_COORDINATOR)
    for given, default in zip((bootstrap, storage, coordinator), defaults, strict=True):
        if given in (None, default):
            continue
        for address, what, option in (
            (coordinator, "coordinator", "--coordinator"),
            (storage, "storage", "--storage"),
        ):
            if address is None:
                raise Failure(
                    f"This command uses gRPC, and where the {what} is beside {given} is"
                    " not known.",
                    f"`korvet up` says where. Give it with {option} HOST:PORT (or"
                    f" {_variable(option)}).",
                )
    return GroupAddresses(
        coordinator=coordinator or DEFAULT_COORDINATOR, storage=storage or DEFAULT_STORAGE
    )


def nobody_there(address: str, option: str) -> Failure:
    if _somebody_listens(address):
        protocol = "Kafka" if option == "--bootstrap" else "gRPC"
        return Failure(
            f"Something listens at {address}, but does not speak {protocol}.",
            f"`korvet up` says where everything is. Give it with {option} HOST:PORT (or"
            f" {_variable(option)}).",
        )
    return Failure(
        f"Nothing answers at {address}.",
        f"Is Korvet running? Start it with `korvet up`, or say where it is with"
        f" {option} HOST:PORT (or {_variable(option)}).",
        is_unanswered=True,
    )


def no_metrics(address: str) -> Failure:
    return Failure(
        f"Nothing serves metrics at {address}.",
        "`korvet up` says where it does, and elsewhere the services' METRICS_ADDRESS is"
        " that. Give it with --metrics HOST:PORT (or KORVET_METRICS).",
        is_unanswered=True,
    )


def _somebody_listens(addresses: str) -> bool:
    for address in addresses.split(","):
        host, _, port = address.strip().rpartition(":")
        if host != "unix":
            with contextlib.suppress(OSError):
                socket.create_connection((host.strip("[]"), int(port)), timeout=1).close()
                return True
    return False


def no_such_topic(topic: str) -> Failure:
    if not is_topic_name(topic):
        return no_topic_name(topic)
    return Failure(
        f"There is no topic {topic}.",
        "`korvet topics list` shows those that there are, and"
        f" `korvet topics create {shlex.quote(topic)}` makes it.",
    )


def no_topic_name(topic: str) -> Failure:
    return Failure(
        f"{topic!r} cannot be the name of a topic.",
        "A name has up to 249 ASCII letters, digits, '.', '_' and '-', and does not"
        " begin with '__'.",
    )


def no_such_partition(topic: str, partition: int, count: int) -> Failure:
    only = "Its only one is 0." if count == 1 else f"Its partitions are 0 to {count - 1}."
    return Failure(f"{topic} has no partition {partition}.", only)


def _variable(option: str) -> str:
    return f"KORVET_{option.removeprefix('--').upper()}"
