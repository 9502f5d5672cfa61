"""The dashboard and the alert rules name only metrics and labels that the code has.

tests/e2e/test_metrics.py shows that a Korvet under load really has all of them.
"""

import json
import re
from itertools import combinations
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from korvet.runtime.metrics import REGISTRY
from korvet.runtime.prometheus import label_name, metric_name
from tests.support.instruments import KINDS, load_all_instruments
from tests.support.promql import all_metrics, expressions_of, metrics_in, panels_of

ROOT: Final = Path(__file__).parents[3] / "deploy"
DASHBOARD: Final = json.loads((ROOT / "grafana/korvet.json").read_text())
ALERTS: Final = yaml.safe_load((ROOT / "prometheus/alerts.yaml").read_text())
RULES: Final[list[dict[str, Any]]] = [
    rule for group in ALERTS["groups"] for rule in group["rules"]
]
EXPRESSIONS: Final = [*expressions_of(DASHBOARD), *(rule["expr"] for rule in RULES)]

# What Prometheus itself adds to what it scrapes, and to the buckets of histograms.
_ADDED_LABELS: Final = frozenset({"job", "instance", "le"})


@pytest.fixture(scope="module", autouse=True)
def _instruments() -> None:
    load_all_instruments()


def test_every_metric_that_is_asked_for_is_one_of_the_codes() -> None:
    known = {
        f"{metric_name(each)}{suffix}"
        for each in REGISTRY.instruments
        for suffix in KINDS[each.kind]
    }

    assert all_metrics(EXPRESSIONS) - known == set()


def test_every_label_that_is_asked_for_is_one_of_the_codes() -> None:
    known = {
        label_name(attribute)
        for each in REGISTRY.instruments
        for attribute in each.attributes
    }
    asked: set[str] = set()
    for expression in EXPRESSIONS:
        for matchers in re.findall(r"\{([^{}]*)\}", expression):
            asked.update(re.findall(r"(\w+)\s*[=!]~?", re.sub(r'"[^"]*"', '""', matchers)))
        for labels in re.findall(r"\b(?:by|on)\s*\(([^()]*)\)", expression):
            asked.update(re.findall(r"\w+", labels))
    templates = json.dumps([DASHBOARD["panels"], RULES])
    asked.update(re.findall(r"\$labels\.(\w+)", templates))
    asked.update(re.findall(r"\{\{(\w+)\}\}", templates))

    assert asked - known - _ADDED_LABELS == set()


def test_most_of_what_is_told_is_shown() -> None:
    shown = all_metrics(EXPRESSIONS)
    unseen = {
        metric_name(each)
        for each in REGISTRY.instruments
        if not any(f"{metric_name(each)}{suffix}" in shown for suffix in KINDS[each.kind])
    }

    assert unseen == set()


def test_counters_are_shown_as_what_they_grow_by() -> None:
    counters = {
        metric_name(each) for each in REGISTRY.instruments if each.kind == "counter"
    }
    for expression in EXPRESSIONS:
        for counter in counters & metrics_in(expression):
            assert re.search(rf"(rate|increase)\({counter}(\{{[^}}]*\}})?\[", expression), (
                expression
            )


def test_panels_do_not_lie_on_each_other() -> None:
    places = [panel["gridPos"] for panel in panels_of(DASHBOARD)]

    for one, other in combinations(places, 2):
        assert (
            one["x"] + one["w"] <= other["x"]
            or other["x"] + other["w"] <= one["x"]
            or one["y"] + one["h"] <= other["y"]
            or other["y"] + other["h"] <= one["y"]
        ), (one, other)
    assert all(place["x"] + place["w"] <= 24 for place in places)


def test_panels_and_rules_have_names_of_their_own() -> None:
    ids = [panel["id"] for panel in panels_of(DASHBOARD)]
    alerts = [rule["alert"] for rule in RULES]

    assert len(set(ids)) == len(ids)
    assert len(set(alerts)) == len(alerts)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: str(rule["alert"]))
def test_an_alert_says_what_is_wrong_and_how_bad_it_is(rule: dict[str, Any]) -> None:
    assert rule["labels"]["severity"] in ("critical", "warning", "info")
    assert rule["annotations"]["summary"]
    assert rule["annotations"]["description"]
