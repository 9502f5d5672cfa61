"""`korvet up --set`: Kafka's names for settings -> the services' environment.

A name is either one of Kafka's server-wide settings, which some service declares among its
own, or the default of a topic config, by its topic or its broker-wide name. Everything is
checked here, before anything starts, with the services' own rules.
"""

import difflib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, TypeVar

from korvet.cli.failure import Failure
from korvet.coordinator.settings import CoordinatorSettings
from korvet.gateway.settings import GatewaySettings
from korvet.kafka.errors import KafkaError
from korvet.runtime.settings import (
    InvalidSettingsError,
    ServiceSettings,
    kafka_settings,
    read,
    variable,
)
from korvet.storage.settings import StorageSettings
from korvet.storage.topic_config_table import COARSE_NAMES, ROWS
from korvet.storage.topic_configs import TopicConfigs

_Settings = TypeVar("_Settings", bound=ServiceSettings)

_SERVICES: Final[tuple[type[ServiceSettings], ...]] = (
    StorageSettings,
    CoordinatorSettings,
    GatewaySettings,
)

TOPIC_DEFAULT_NAMES: Final = frozenset(
    {*ROWS, *COARSE_NAMES, *(row.server_name for row in ROWS.values() if row.server_name)}
)

# What differs on one machine, unless it is set: there, a group's first members come one by
# one and at a person's pace, who would wait for nobody.
EMBEDDED_DEFAULTS: Final[Mapping[str, str]] = {
    variable(CoordinatorSettings, "group_initial_rebalance_delay_ms"): "0"
}


_PORT: Final = "The address is 127.0.0.1 and the port is chosen with --port."
_NO_TOPIC: Final = "There is no such topic: Redis keeps them in other keys."
_ONE_REPLICA: Final = (
    "A partition has one replica here, and Redis does the replication: leave it out."
)
# Kafka's settings that people bring along, and that are no settings here.
DECIDED_ELSEWHERE: Final[Mapping[str, str]] = {
    "listeners": _PORT,
    "advertised.listeners": _PORT,
    "port": _PORT,
    "host.name": _PORT,
    "log.dir": "The data is in the folder that --data names.",
    "log.dirs": "The data is in the folder that --data names.",
    "broker.id": "Its name is node.id, as in Kafka 4.",
    "process.roles": "There are no controllers to set up: leave it out.",
    "controller.quorum.voters": "There are no controllers to set up: leave it out.",
    "zookeeper.connect": "There is no ZooKeeper to set up: leave it out.",
    "default.replication.factor": _ONE_REPLICA,
    "offsets.topic.replication.factor": _ONE_REPLICA,
    "transaction.state.log.replication.factor": _ONE_REPLICA,
    "transaction.state.log.min.isr": _ONE_REPLICA,
    "offsets.topic.num.partitions": _NO_TOPIC,
    "transaction.state.log.num.partitions": _NO_TOPIC,
    "delete.topic.enable": "Topics can always be deleted: leave it out.",
}
# Of names, from 0 to 1; below it they only look alike.
_CLOSE: Final = 0.8


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSettings:
    """What was set, as variables of each service."""

    variables: Mapping[str, str]
    topic_defaults: Mapping[str, str]

    def storage_environ(self, *, redis_url: str, addresses: list[str]) -> dict[str, str]:
        return {
            **self._variables_of(StorageSettings),
            variable(StorageSettings, "topic_defaults"): json.dumps(
                dict(self.topic_defaults)
            ),
            variable(StorageSettings, "redis_url"): redis_url,
            variable(StorageSettings, "listen_address"): ",".join(addresses),
        }

    def coordinator_environ(
        self,
        *,
        redis_url: str,
        addresses: list[str],
        advertised_address: str,
        storage_address: str,
    ) -> dict[str, str]:
        return {
            **self._variables_of(CoordinatorSettings),
            variable(CoordinatorSettings, "redis_url"): redis_url,
            variable(CoordinatorSettings, "listen_address"): ",".join(addresses),
            variable(CoordinatorSettings, "advertised_address"): advertised_address,
            variable(CoordinatorSettings, "storage_address"): storage_address,
        }

    def gateway_environ(
        self, *, storage_address: str, coordinator_address: str, host: str, port: int
    ) -> dict[str, str]:
        return {
            **self._variables_of(GatewaySettings),
            variable(GatewaySettings, "storage_address"): storage_address,
            variable(GatewaySettings, "coordinator_address"): coordinator_address,
            variable(GatewaySettings, "listen_host"): host,
            variable(GatewaySettings, "listen_port"): str(port),
        }

    def check(self, service: type[_Settings], environ: Mapping[str, str]) -> _Settings:
        """What the service will read when it starts; fail now for what it would refuse."""
        try:
            return read(service, environ)
        except InvalidSettingsError as error:
            problems = "\n".join(f"  {self._as_typed(service, p)}" for p in error.problems)
            raise Failure(
                f"The settings cannot be used:\n{problems}",
                "Correct --set, --redis or the environment.",
            ) from None

    def _as_typed(self, service: type[ServiceSettings], problem: str) -> str:
        """A problem with the name that was given to --set, where that was its source."""
        for name, field in kafka_settings(service).items():
            of_service = variable(service, field)
            if of_service in self.variables and problem.startswith(f"{of_service}:"):
                return f"--set {name}{problem.removeprefix(of_service)}"
        return problem

    def _variables_of(self, service: type[ServiceSettings]) -> dict[str, str]:
        """Those of one service; its log comes to us as JSON, of which we show a part."""
        prefix = service.model_config.get("env_prefix", "")
        ours = {
            name: value for name, value in self.variables.items() if name.startswith(prefix)
        }
        return {**ours, variable(service, "log_style"): "json"}


def parse(options: Iterable[str]) -> ServerSettings:
    """Check NAME=VALUE options; fail with near matches for a name that does not exist."""
    variables: dict[str, str] = {}
    topic_defaults: dict[str, str] = {}
    for option in options:
        name, separator, value = option.partition("=")
        if not separator:
            raise Failure(
                f"--set {option} is not NAME=VALUE.", "For example: --set num.partitions=3"
            )
        found = False
        for service in _SERVICES:
            field = kafka_settings(service).get(name)
            if field is not None:
                variables[variable(service, field)] = value
                found = True
        if name in TOPIC_DEFAULT_NAMES:
            topic_defaults[name] = value
            found = True
        if not found:
            raise _unknown(name)
    try:
        TopicConfigs(topic_defaults)
    except KafkaError as error:
        raise Failure(f"--set cannot be used: {error.detail}.") from None
    return ServerSettings(variables=variables, topic_defaults=topic_defaults)


def _unknown(name: str) -> Failure:
    if reason := DECIDED_ELSEWHERE.get(name):
        return Failure(f"{name} cannot be set.", reason)
    known = {*TOPIC_DEFAULT_NAMES}
    for service in _SERVICES:
        known |= kafka_settings(service).keys()
    near = difflib.get_close_matches(name, sorted(known), n=3, cutoff=_CLOSE)
    advice = f"Did you mean {' or '.join(near)}?" if near else ""
    return Failure(
        f"There is no setting {name}.", advice or "docs/operations.md lists them all."
    )
