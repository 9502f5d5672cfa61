import io
import json

import pytest
from rich.console import Console

from korvet.cli.child_log import ChildLog, LogLine


def line(level: str, message: str, **more: str) -> str:
    return json.dumps({"level": level, "message": message, **more})


@pytest.fixture
def output() -> io.StringIO:
    return io.StringIO()


def test_warnings_and_errors_are_shown_and_the_rest_is_not(output: io.StringIO) -> None:
    log = ChildLog(Console(file=output, width=200), verbose=False)

    shown = [
        log.show("Storage", line("INFO", "ready")),
        log.show("Storage", line("WARNING", "slow [b]Redis[/b]")),
        log.show("Gateway", line("ERROR", "failed", exception="Traceback: x")),
        log.show("Gateway", "Fatal Python error"),
        log.show("Redis", "1:M 18 Nov # WARNING overcommit_memory"),
    ]

    assert shown == [False, True, True, True, False]
    assert output.getvalue().splitlines() == [
        "storage: slow [b]Redis[/b]",
        "gateway: failed",
        "Traceback: x",
        "gateway: Fatal Python error",
    ]


def test_verbose_shows_everything(output: io.StringIO) -> None:
    log = ChildLog(Console(file=output, width=200), verbose=True)

    log.show("Storage", line("DEBUG", "detail"))
    log.show("Redis", "ready")

    assert output.getvalue() == "storage: detail\nredis: ready\n"


@pytest.mark.parametrize("text", ["", "{", "[1]", '{"level": "INFO"}', "null", "12"])
def test_a_line_of_no_known_form_counts_as_an_error(text: str) -> None:
    assert LogLine.parse(text) == ("ERROR", text)
