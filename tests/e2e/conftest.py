"""A running Korvet for every end-to-end test.

`korvet` is one that all tests of a run share: use a topic of your own (`topic`) and leave
it running. A test that breaks things, or needs settings of its own, starts its own with
`start_korvet`. The logs of both are in the report of a test that fails.

A test that takes `client` runs with each real Kafka client, one that takes `layout` on
topics of each storage format and offset encoding.
"""

import contextlib
import uuid
from collections.abc import Generator, Iterator, Mapping
from pathlib import Path

import pytest

from tests.support.client_contract import KafkaClient
from tests.support.kafka_clients import CLIENTS
from tests.support.korvet_process import KorvetCluster, StartKorvet
from tests.support.layouts import LAYOUTS
from tests.support.shell import Shell
from tests.support.topic_admin import create_topic


@pytest.fixture(scope="session")
def korvet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KorvetCluster]:
    with KorvetCluster(tmp_path_factory.mktemp("korvet")) as cluster:
        yield cluster
        assert cluster.errors() == []


@pytest.fixture
def start_korvet(tmp_path: Path) -> Iterator[StartKorvet]:
    with contextlib.closing(StartKorvet(tmp_path)) as start:
        yield start


@pytest.fixture
def topic() -> str:
    """A name that no other test has."""
    return f"topic-{uuid.uuid4().hex[:12]}"


@pytest.fixture
def shell(korvet: KorvetCluster) -> Shell:
    """The `korvet` command on the shared Korvet."""
    return Shell(korvet)


@pytest.fixture(params=LAYOUTS)
def layout(request: pytest.FixtureRequest) -> Mapping[str, str]:
    """The configs that say how a topic is kept."""
    return LAYOUTS[request.param]


@pytest.fixture
def log(korvet: KorvetCluster, topic: str, layout: Mapping[str, str]) -> str:
    """A topic of each layout, with one partition, on the shared Korvet."""
    create_topic(korvet.bootstrap, topic, configs=layout)
    return topic


@pytest.fixture(params=CLIENTS, ids=lambda client: client.name)
def client(request: pytest.FixtureRequest) -> KafkaClient:
    chosen: KafkaClient = request.param
    return chosen


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.failed:
        for value in getattr(item, "funcargs", {}).values():
            clusters = value.clusters if isinstance(value, StartKorvet) else [value]
            for cluster in clusters:
                if isinstance(cluster, KorvetCluster):
                    report.sections.append(("Korvet's logs", cluster.logs()))
    return report
