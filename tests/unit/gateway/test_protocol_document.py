"""docs/protocol.md says what the gateway serves, and nothing else."""

import importlib
import inspect
import pkgutil
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from korvet.gateway.handlers import HANDLERS
from korvet.kafka import messages
from korvet.kafka.message import Message

DOCUMENT = Path(__file__).parents[3] / "docs" / "protocol.md"
# Of Kafka 4.1, from Produce on without gaps.
API_KEYS = range(93)


class Served(NamedTuple):
    name: str
    min_version: int
    max_version: int


def rows(heading: str) -> Iterator[list[str]]:
    """The cells of the table under a heading, without its two header rows."""
    _, _, rest = DOCUMENT.read_text(encoding="utf-8").partition(f"\n## {heading}\n")
    section, _, _ = rest.partition("\n## ")
    table = [line for line in section.splitlines() if line.startswith("|")]
    for line in table[2:]:
        yield [cell.strip() for cell in line.strip("|").split("|")]


def documented() -> dict[int, Served]:
    served = {}
    for name, key, versions, _ in rows("Served"):
        lowest, _, highest = versions.partition("–")  # noqa: RUF001 - as it is written there
        served[int(key)] = Served(name, int(lowest), int(highest or lowest))
    return served


def api_name(request_type: type[Message]) -> str:
    return request_type.__name__.removesuffix("Request")


def request_types() -> Iterator[type[Message]]:
    """Every request that the codec has."""
    for module in pkgutil.iter_modules(messages.__path__):
        loaded = importlib.import_module(f"{messages.__name__}.{module.name}")
        for name, member in inspect.getmembers(loaded, inspect.isclass):
            if name.endswith("Request") and issubclass(member, Message):
                yield member


def test_the_table_is_what_api_versions_advertises() -> None:
    advertised = {
        handler.api_key: Served(
            api_name(handler.request_type),
            handler.advertised.min_version,
            handler.advertised.max_version,
        )
        for handler in HANDLERS
    }

    assert documented() == advertised


def test_every_served_api_is_listed_once_and_in_order() -> None:
    keys = [int(key) for _, key, _, _ in rows("Served")]

    assert keys == sorted(set(keys))


def test_every_other_api_of_kafka_is_listed_with_a_reason() -> None:
    unserved = {int(key): reason for _, key, reason in rows("Not served")}

    assert sorted([*documented(), *unserved]) == list(API_KEYS)
    assert all(unserved.values())


def test_apis_that_are_not_served_go_by_kafkas_names() -> None:
    names = {int(key): name for name, key, _ in rows("Not served")}
    known = {kind.API_KEY: api_name(kind) for kind in request_types()}

    assert (
        known.items() <= {**names, **{k: v.name for k, v in documented().items()}}.items()
    )


def test_handlers_say_their_key_and_versions_in_their_first_line() -> None:
    for handler in HANDLERS:
        module = inspect.getmodule(handler.handle)
        assert module is not None
        assert module.__doc__ is not None
        lowest, highest = handler.min_version, handler.max_version
        versions = f"v{lowest}" if lowest == highest else f"v{lowest}-v{highest}"
        head = f"{api_name(handler.request_type)} ({handler.api_key}), {versions}: "
        assert re.match(re.escape(head), module.__doc__), module.__name__
