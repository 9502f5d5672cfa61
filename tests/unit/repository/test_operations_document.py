"""docs/operations.md and the services' READMEs say what the code says.

A failure prints the right table.
"""

import re
from pathlib import Path

import pytest

from korvet.coordinator.group_lag import LAGS_SHOWN
from korvet.coordinator.settings import CoordinatorSettings
from korvet.gateway.settings import GatewaySettings
from korvet.runtime.metrics import NAMES_SHOWN
from korvet.runtime.settings import ServiceSettings
from korvet.storage import read_calls
from korvet.storage.read_plan import BLOCK_BYTES, BLOCK_RECORDS
from korvet.storage.settings import StorageSettings
from korvet.storage.topic_config_table import ROWS
from tests.support.instruments import metrics_table
from tests.support.settings_tables import settings_table, tables_in, topic_configs_table

ROOT = Path(__file__).parents[3]
DOCUMENT = ROOT / "docs/operations.md"


@pytest.mark.parametrize(
    "expected",
    [
        settings_table(StorageSettings),
        settings_table(CoordinatorSettings),
        settings_table(GatewaySettings),
        topic_configs_table(),
        metrics_table(),
    ],
    ids=["storage", "coordinator", "gateway", "topic configs", "metrics"],
)
def test_a_table_is_that_of_the_code(expected: list[str]) -> None:
    tables = list(tables_in(DOCUMENT.read_text()))

    assert expected in tables, "docs/operations.md should have:\n\n" + "\n".join(expected)


@pytest.mark.parametrize(
    ("service", "settings"), [("storage", StorageSettings), ("gateway", GatewaySettings)]
)
def test_a_services_readme_names_every_setting_and_no_other(
    service: str, settings: type[ServiceSettings]
) -> None:
    readme = (ROOT / "services" / service / "README.md").read_text()
    (table,) = [each for each in tables_in(readme) if each[0].startswith("| setting")]
    named = [
        name for row in table[2:] for name in re.findall(r"`(\w+)`", row.split("|")[1])
    ]

    assert sorted(named) == sorted(map(str.upper, settings.model_fields))


def test_a_fetch_may_be_as_large_as_what_storage_reads_at_a_time() -> None:
    most = read_calls._MAX_READ_BYTES

    assert GatewaySettings.model_fields["fetch_max_bytes"].default == most
    assert f"{most >> 20} MiB" in DOCUMENT.read_text()


def test_how_many_series_there_can_be() -> None:
    document = DOCUMENT.read_text()

    assert f"{NAMES_SHOWN} topics, and {NAMES_SHOWN} groups" in document
    assert f"the lag\nof {LAGS_SHOWN} positions" in document


def test_how_coarse_approximate_trimming_is() -> None:
    documentation = ROWS["approximate.trimming"].documentation

    assert f"{BLOCK_RECORDS} records or {BLOCK_BYTES >> 10} KiB" in documentation
