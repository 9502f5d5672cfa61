"""Every instrument of every service, as this process's registry has them after imports."""

import importlib
from typing import Final

from korvet.runtime.metrics import REGISTRY
from korvet.runtime.prometheus import metric_name

# What Prometheus makes of a kind: the names of samples are the metric's with one of these.
KINDS: Final = {
    "counter": ("",),
    "gauge": ("",),
    "histogram": ("_bucket", "_sum", "_count"),
}
_SERVICES: Final = (
    "korvet.gateway.__main__", "korvet.storage.server", "korvet.coordinator.server",
)  # fmt: skip


def load_all_instruments() -> None:
    for service in _SERVICES:
        importlib.import_module(service)


def metrics_table() -> list[str]:
    """The table of docs/operations.md, a row a metric."""
    load_all_instruments()
    rows = [
        "| metric | for Prometheus | kind, unit | attributes | |",
        "|---|---|---|---|---|",
    ]
    for each in REGISTRY.instruments:
        attributes = ", ".join(f"`{name}`" for name in each.attributes)
        rows.append(
            f"| `{each.name}` | `{metric_name(each)}` | {each.kind}, {each.unit} |"
            f" {attributes} | {each.description} |"
        )
    return rows
