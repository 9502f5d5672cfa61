"""What Prometheus gets from running services, read with its own client's parser."""

import urllib.request
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from prometheus_client.parser import text_string_to_metric_families

from tests.support.service_process import ServiceProcess


class Sample(NamedTuple):
    name: str
    labels: dict[str, str]
    value: float


def scrape(*services: ServiceProcess) -> list[Sample]:
    """The samples of these services, together."""
    return [sample for service in services for sample in _scraped(_address(service))]


def names(samples: Iterable[Sample]) -> set[str]:
    return {sample.name for sample in samples}


def total(samples: Iterable[Sample], name: str, **labels: str) -> float:
    """The sum of what has these labels; 0 where nothing has."""
    return sum(
        sample.value
        for sample in samples
        if sample.name == name and labels.items() <= sample.labels.items()
    )


def series(samples: Iterable[Sample], name: str, label: str) -> dict[str, float]:
    """The values by one label, of what has it."""
    return {
        sample.labels[label]: sample.value
        for sample in samples
        if sample.name == name and label in sample.labels
    }


def increase(
    service: ServiceProcess, do: Callable[[], object], name: str, **labels: str
) -> float:
    """By how much something grows while something is done."""
    before = total(scrape(service), name, **labels)
    do()
    return total(scrape(service), name, **labels) - before


def _address(service: ServiceProcess) -> str:
    (address,) = (
        value for name, value in service.environ.items() if name.endswith("METRICS_ADDRESS")
    )
    return address


def _scraped(address: str) -> Iterator[Sample]:
    with urllib.request.urlopen(f"http://{address}/metrics", timeout=10) as answer:
        text: str = answer.read().decode()
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            yield Sample(sample.name, dict(sample.labels), sample.value)
