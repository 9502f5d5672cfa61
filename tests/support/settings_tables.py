"""The tables of docs/operations.md, as the code says that they should be."""

from collections.abc import Iterator

from pydantic import SecretStr

from korvet.runtime.settings import ServiceSettings, kafka_settings, variable
from korvet.storage.topic_config_table import COARSE_NAMES, ROWS


def settings_table(settings: type[ServiceSettings]) -> list[str]:
    """A row for each setting, by its variable."""
    kafka_names = {field: name for name, field in kafka_settings(settings).items()}
    rows = ["| variable | Kafka's name | default | |", "|---|---|---|---|"]
    for name, field in settings.model_fields.items():
        default = (
            ""
            if field.is_required()
            else _text(field.get_default(call_default_factory=True))
        )
        kafka_name = f"`{kafka_names[name]}`" if name in kafka_names else ""
        description = (field.description or "").replace("|", "\\|")
        rows.append(
            f"| `{variable(settings, name)}` | {kafka_name} | {default} | {description} |"
        )
    return rows


def topic_configs_table() -> list[str]:
    """A row for each topic config, by its name."""
    coarse: dict[str, list[str]] = {}
    for name, (config, _unit) in COARSE_NAMES.items():
        coarse.setdefault(config, []).append(name)
    rows = ["| config | as a server-wide default | default | |", "|---|---|---|---|"]
    for name, row in sorted(ROWS.items()):
        server_names = [row.server_name] if row.server_name else []
        server_names += coarse.get(name, [])
        spelled = ", ".join(f"`{each}`" for each in server_names)
        fixed = " Fixed at creation." if row.fixed else ""
        text = row.documentation.replace("|", "\\|")
        default = f"`{row.default}`" if row.default else ""
        rows.append(f"| `{name}` | {spelled} | {default} | {text}{fixed} |")
    return rows


def tables_in(document: str) -> Iterator[list[str]]:
    """The tables of a Markdown document, each as its lines."""
    table: list[str] = []
    for line in [*document.splitlines(), ""]:
        if line.startswith("|"):
            table.append(line)
        elif table:
            yield table
            table = []


def _text(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, SecretStr):
        value = value.get_secret_value()
    if isinstance(value, bool):
        value = str(value).lower()
    if value == {}:
        value = "{}"
    return f"`{value}`" if value != "" else ""
