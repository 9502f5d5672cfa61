"""What every service's settings share: how the environment becomes a frozen object.

A service subclasses `ServiceSettings`, gives it an `env_prefix`, and calls `load` from its
`__main__`, the only module that reads `os.environ`. Every problem is reported at once, and
a variable with the service's prefix that names no setting is one: a misspelt setting must
not silently leave the default in force.
"""

import difflib
import sys
from collections.abc import Iterator, Mapping
from typing import Any, Literal, TypeVar

from pydantic import Field, ValidationError
from pydantic.fields import FieldInfo
from pydantic_settings import (
    BaseSettings,
    EnvSettingsSource,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
)

from korvet.runtime.logs import Style

# The exit status for a wrong command line or environment, as shells and argparse have it.
EXIT_USAGE = 2

_Settings = TypeVar("_Settings", bound="ServiceSettings")


class ServiceSettings(BaseSettings):
    """Base of each service's settings. Built directly, it reads no environment."""

    model_config = SettingsConfigDict(frozen=True, extra="forbid")

    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = Field(
        default="INFO", description="The least of what is logged."
    )
    log_style: Style | None = Field(
        default=None,
        description="`json` or `text`; unset, it is text at a terminal and JSON elsewhere.",
    )
    metrics_address: str | None = Field(
        default=None,
        pattern=r"^(unix:\S+|\S+:\d+)$",
        description="Where Prometheus finds metrics: host:port or unix:/path.sock, under"
        " /metrics. Unset, nowhere: they name topics and groups to whoever can connect.",
    )

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        return (init_settings,)


class InvalidSettingsError(ValueError):
    """Settings that cannot be used; `problems` has a line for each reason."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__("; ".join(problems))
        self.problems = problems


def load(settings_class: type[_Settings], environ: Mapping[str, str]) -> _Settings:
    """Read a service's settings, or say what is wrong with them and exit with 2."""
    try:
        return read(settings_class, environ)
    except InvalidSettingsError as error:
        lines = "".join(f"  {problem}\n" for problem in error.problems)
        sys.stderr.write(f"The settings in the environment cannot be used:\n{lines}")
        raise SystemExit(EXIT_USAGE) from None


def read(settings_class: type[_Settings], environ: Mapping[str, str]) -> _Settings:
    """Read a service's settings; raise InvalidSettingsError naming every problem."""
    problems = list(_misspelt(settings_class, environ))
    values: dict[str, Any] = {}
    source = EnvSettingsSource(settings_class)
    source.env_vars = {name.lower(): value for name, value in environ.items()}
    for name, field in settings_class.model_fields.items():
        try:
            raw, _, is_complex = source.get_field_value(field, name)
            value = source.prepare_field_value(name, field, raw, is_complex)
        except ValueError as error:
            problems.append(f"{variable(settings_class, name)}: not valid JSON: {error}")
            # Its being missing too would be a second report of the same mistake.
            values[name] = _placeholder(field)
            continue
        if raw is not None:
            values[name] = value
    try:
        settings = settings_class(**values)
    except ValidationError as error:
        problems += (_problem(settings_class, details) for details in error.errors())
        raise InvalidSettingsError(problems) from None
    if problems:
        raise InvalidSettingsError(problems)
    return settings


def variable(settings_class: type[ServiceSettings], field: str) -> str:
    """The environment variable that sets a field."""
    return f"{settings_class.model_config.get('env_prefix', '')}{field}".upper()


def kafka_settings(settings_class: type[ServiceSettings]) -> dict[str, str]:
    """Kafka's name of each server-wide setting that has one -> the field's name.

    Such a field is declared with `json_schema_extra={"kafka": "num.partitions"}`.
    """
    names: dict[str, str] = {}
    for field_name, field in settings_class.model_fields.items():
        extra = field.json_schema_extra
        if isinstance(extra, dict) and isinstance(name := extra.get("kafka"), str):
            names[name] = field_name
    return names


def _misspelt(
    settings_class: type[ServiceSettings], environ: Mapping[str, str]
) -> Iterator[str]:
    prefix = settings_class.model_config.get("env_prefix", "").upper()
    known = {variable(settings_class, field) for field in settings_class.model_fields}
    for name in sorted(environ):
        if prefix and name.upper().startswith(prefix) and name.upper() not in known:
            near = difflib.get_close_matches(name.upper(), known, n=1)
            hint = f"; did you mean {near[0]}?" if near else ""
            yield f"{name}: there is no such setting{hint}"


def _problem(settings_class: type[ServiceSettings], details: Any) -> str:
    location = details["loc"]
    if not location:
        return str(details["msg"])
    name = variable(settings_class, str(location[0]))
    inside = "".join(f"[{part}]" for part in location[1:])
    if details["type"] == "missing":
        return f"{name}{inside}: required, but not set"
    return f"{name}{inside}: {details['msg']}"


def _placeholder(field: FieldInfo) -> Any:
    return {} if field.is_required() else field.get_default(call_default_factory=True)
