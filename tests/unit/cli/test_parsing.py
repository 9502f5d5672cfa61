import pytest
from typer.testing import CliRunner

from korvet.cli.__main__ import app
from korvet.cli.failure import Failure
from korvet.cli.produce import parse_header, parse_separator


def test_separators_and_headers() -> None:
    assert parse_separator(None) is None
    assert parse_separator(r"\t") == b"\t"
    assert parse_separator("::") == b"::"
    assert parse_header("a=b=c") == ("a", b"b=c")
    assert parse_header("a=") == ("a", b"")


@pytest.mark.parametrize("text", ["", "a"])
def test_a_header_needs_a_value(text: str) -> None:
    with pytest.raises(Failure, match="not NAME=VALUE"):
        parse_header(text)


def test_every_command_is_listed() -> None:
    listed = CliRunner().invoke(app, ["--help"]).stdout

    for command in ("up", "topics", "groups", "transactions", "produce", "consume"):
        assert command in listed


@pytest.mark.parametrize(
    "arguments",
    [
        ["bogus"],
        ["up", "--prot", "1"],
        ["consume"],
        ["consume", "x", "--max", "0"],
        ["groups", "describe"],
        ["groups", "describe", "x", "--watch", "--every", "0"],
        ["groups", "reset-offsets", "x", "--topic", "y"],
        ["groups", "delete"],
        ["transactions", "describe"],
        ["transactions", "abort"],
        ["transactions", "list", "--state", "Odd"],
        ["transactions", "list", "--longer-than", "-1"],
    ],
)
def test_a_wrong_command_line_ends_with_two(arguments: list[str]) -> None:
    assert CliRunner().invoke(app, arguments).exit_code == 2
