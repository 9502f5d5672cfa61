import pytest
from pydantic import Field
from pydantic_settings import SettingsConfigDict

from korvet.runtime.settings import (
    InvalidSettingsError,
    ServiceSettings,
    kafka_settings,
    load,
    read,
    variable,
)


class OvenSettings(ServiceSettings):
    model_config = SettingsConfigDict(env_prefix="KORVET_OVEN_")

    fuel: str
    degrees: int = Field(default=180, ge=0, json_schema_extra={"kafka": "oven.degrees"})
    racks: dict[str, str] = Field(default_factory=dict)


def test_the_environment_becomes_settings() -> None:
    environ = {
        "KORVET_OVEN_FUEL": "wood",
        "KORVET_OVEN_DEGREES": "200",
        "KORVET_OVEN_RACKS": '{"top": "bread"}',
        "PATH": "/bin",
        "KORVET_KILN_FUEL": "gas",
    }

    settings = read(OvenSettings, environ)

    assert settings == OvenSettings(fuel="wood", degrees=200, racks={"top": "bread"})


def test_settings_built_directly_read_no_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("KORVET_OVEN_DEGREES", "999")

    assert OvenSettings(fuel="wood").degrees == 180


def test_every_problem_is_named_at_once() -> None:
    environ = {
        "KORVET_OVEN_DEGREES": "hot",
        "KORVET_OVEN_RACKS": "{top",
        "KORVET_OVEN_DEGRES": "1",
    }

    with pytest.raises(InvalidSettingsError) as raised:
        read(OvenSettings, environ)

    problems = "\n".join(raised.value.problems)
    assert len(raised.value.problems) == 4
    assert "KORVET_OVEN_FUEL: required, but not set" in problems
    assert "KORVET_OVEN_DEGREES: Input should be a valid integer" in problems
    assert "KORVET_OVEN_RACKS: not valid JSON" in problems
    assert "KORVET_OVEN_DEGRES: there is no such setting; did you mean" in problems


def test_a_misspelt_variable_alone_is_refused() -> None:
    with pytest.raises(InvalidSettingsError, match="there is no such setting"):
        read(OvenSettings, {"KORVET_OVEN_FUEL": "wood", "KORVET_OVEN_COLOUR": "red"})


def test_a_problem_inside_a_value_says_where() -> None:
    environ = {"KORVET_OVEN_FUEL": "wood", "KORVET_OVEN_RACKS": '{"top": [1]}'}

    with pytest.raises(InvalidSettingsError, match=r"KORVET_OVEN_RACKS\[top\]: "):
        read(OvenSettings, environ)


def test_load_exits_with_two_and_a_readable_list(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit) as raised:
        load(OvenSettings, {"KORVET_OVEN_DEGREES": "-1"})

    assert raised.value.code == 2
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "The settings in the environment cannot be used:"
    assert sorted(line.split(":")[0] for line in lines[1:]) == [
        "  KORVET_OVEN_DEGREES",
        "  KORVET_OVEN_FUEL",
    ]


def test_settings_cannot_change_after_the_start() -> None:
    settings = OvenSettings(fuel="wood")

    with pytest.raises(ValueError, match="frozen"):
        settings.degrees = 1


def test_a_field_knows_its_variable_and_its_kafka_name() -> None:
    assert variable(OvenSettings, "degrees") == "KORVET_OVEN_DEGREES"
    assert kafka_settings(OvenSettings) == {"oven.degrees": "degrees"}
