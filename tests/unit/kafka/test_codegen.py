"""The generator, and that its output is what the repository has."""

import json
import shutil
import subprocess
from typing import Any

import pytest

from libs.kafka.codegen.__main__ import JAR, MESSAGES, fetch_jar, render
from libs.kafka.codegen.apis import APIS
from libs.kafka.codegen.description import Versions, parse_message, snake_case


def description(*fields: dict[str, Any], flexible: str = "1+") -> str:
    message = {
        "name": "ThingRequest",
        "apiKey": 1,
        "validVersions": "0-3",
        "flexibleVersions": flexible,
        "fields": fields,
    }
    return "// a comment\n" + json.dumps(message)


def test_the_committed_messages_are_those_that_the_jar_gives() -> None:
    if not JAR.exists():
        if shutil.which("mvn") is None:
            pytest.skip("neither the kafka-clients jar nor Maven is here")
        try:
            fetch_jar()
        except subprocess.SubprocessError:
            pytest.skip("Maven could not fetch the kafka-clients jar")

    committed = {path.name: path.read_text() for path in MESSAGES.glob("*.py")}

    assert committed == render(JAR), "run `make messages` and commit the result"


def test_every_api_has_a_module() -> None:
    names = {path.stem for path in MESSAGES.glob("*.py")}

    assert {snake_case(api) for api in APIS} <= names


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("TopicId", "topic_id"),
        ("timeoutMs", "timeout_ms"),
        ("IsrNodes", "isr_nodes"),
        ("V3AndBelowTopics", "v3_and_below_topics"),
    ],
)
def test_names_become_snake_case(name: str, expected: str) -> None:
    assert snake_case(name) == expected


def test_versions_are_parsed() -> None:
    assert Versions.parse("3") == Versions(3, 3)
    assert Versions.parse("3-5") == Versions(3, 5)
    assert Versions.parse("3+").within(Versions(0, 9)) == Versions(3, 9)
    assert Versions.parse("none").is_empty


def test_fields_outside_the_valid_versions_are_left_out() -> None:
    message = parse_message(
        description(
            {"name": "Old", "type": "int8", "versions": "5+"},
            {"name": "New", "type": "int8", "versions": "2+"},
        )
    )

    assert [(field.name, field.versions) for field in message.fields] == [
        ("new", Versions(2, 3))
    ]


def test_an_array_whose_elements_may_have_no_bytes_is_refused() -> None:
    inner = {"name": "Inner", "type": "int8", "versions": "1+"}
    things = {"name": "Things", "type": "[]Thing", "versions": "0+", "fields": [inner]}

    with pytest.raises(ValueError, match=r"things is empty in v0"):
        parse_message(description(things))


def test_an_unknown_attribute_is_refused() -> None:
    with pytest.raises(ValueError, match="surprise"):
        parse_message(
            description({"name": "A", "type": "int8", "versions": "0+", "surprise": 1})
        )
