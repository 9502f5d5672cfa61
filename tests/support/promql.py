"""Which metrics an expression of Prometheus's names."""

import re
from collections.abc import Iterable, Iterator
from typing import Any, Final

# In this order: neither what is in quotes or brackets nor what is grouped by is a metric.
_NOT_METRICS: Final = (
    re.compile(r'"(?:[^"\\]|\\.)*"'),
    re.compile(r"\{[^{}]*\}"),
    re.compile(r"\[[^\[\]]*\]"),
    re.compile(r"\b(by|without|on|ignoring|group_left|group_right)\s*\([^()]*\)"),
)
_WORD: Final = re.compile(r"\b[a-zA-Z_:][a-zA-Z0-9_:]*\b(?!\s*\()")
_OPERATORS: Final = frozenset({"and", "or", "unless", "bool", "offset", "inf", "nan"})


def metrics_in(expression: str) -> set[str]:
    for pattern in _NOT_METRICS:
        expression = pattern.sub(" ", expression)
    return set(_WORD.findall(expression)) - _OPERATORS


def panels_of(dashboard: Any) -> Iterator[Any]:
    """The panels of a Grafana dashboard, those inside rows too."""
    for panel in dashboard["panels"]:
        yield panel
        yield from panel.get("panels", ())


def expressions_of(dashboard: Any) -> list[str]:
    """What a Grafana dashboard asks for, its variables included."""
    asked = [
        target["expr"]
        for panel in panels_of(dashboard)
        for target in panel.get("targets", ())
    ]
    for variable in dashboard["templating"]["list"]:
        if variable["type"] == "query":
            metric, _label = re.fullmatch(
                r"label_values\((\w+), (\w+)\)", variable["query"]["query"]
            ).groups()  # type: ignore[union-attr]
            asked.append(metric)
    return asked


def all_metrics(expressions: Iterable[str]) -> set[str]:
    return {metric for expression in expressions for metric in metrics_in(expression)}
