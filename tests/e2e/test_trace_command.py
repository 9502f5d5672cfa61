"""`korvet trace` beside `korvet up --trace`, which keeps the last requests in memory."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from korvet.cli.plan import free_port
from tests.support.eventually import eventually_true
from tests.support.pseudo_terminal import PseudoTerminal
from tests.support.up_process import UpProcess, clean_environ
from tests.support.up_process import korvet as run

pytestmark = pytest.mark.e2e


@pytest.fixture(scope="module")
def up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[UpProcess]:
    with UpProcess(tmp_path_factory.mktemp("up") / "data", "--trace") as up:
        assert up.korvet("produce", "orders", stdin=b"one\ntwo\n").code == 0
        assert up.korvet("consume", "orders", "--from", "earliest").out == b"one\ntwo\n"
        eventually_true(lambda: bool(traces(up, "--api", "Fetch")))
        yield up


def traces(up: UpProcess, *options: str) -> list[Any]:
    ended = up.korvet("trace", "--json", *options)
    assert ended.code == 0, ended.err
    found: list[Any] = json.loads(ended.out)
    return found


def names(trace: Any) -> list[tuple[str, str]]:
    return [(span["service"], span["name"].rpartition("/")[2]) for span in trace["spans"]]


def test_a_request_is_seen_through_every_process(up: UpProcess) -> None:
    (trace,) = traces(up, "--api", "Produce", "--topic", "orders", "--last", "1")

    assert sorted(names(trace)) == [
        ("gateway", "Append"),
        ("gateway", "Produce orders"),
        ("storage", "Append"),
        ("storage", "EVALSHA append"),
    ]


@pytest.mark.parametrize("columns", [80, 200])
def test_it_is_a_waterfall_in_the_terminal(up: UpProcess, columns: int) -> None:
    with PseudoTerminal(columns) as terminal:
        shown = subprocess.run(
            [sys.executable, "-m", "korvet.cli", "trace", "--api", "produce"],
            env={**clean_environ(up.addresses), "TERM": "xterm-256color"},
            stdin=subprocess.DEVNULL,
            stdout=terminal.end,
            stderr=terminal.end,
            timeout=30,
            check=True,
        )
        terminal.hang_up()

    assert shown.returncode == 0
    lines = terminal.shown.splitlines()
    assert max(len(line.rstrip()) for line in lines) <= columns
    assert any(re.search(r"gateway +Produce orders.*█.* ms", line) for line in lines)
    assert any(re.search(r"storage +EVALSHA append.*ms", line) for line in lines)
    # Where there is room, the most telling attributes are beside the bars.
    assert ("records=2" in terminal.shown) is (columns == 200)


def test_requests_can_be_chosen(up: UpProcess) -> None:
    (one,) = traces(up, "--api", "Produce", "--last", "1")

    assert traces(up, one["trace_id"][:12]) == [one]
    assert traces(up, "--topic", "another") == []
    assert traces(up, "--slower-than", "60000") == []
    assert len(traces(up, "--last", "2")) == 2


def test_no_value_of_a_record_is_in_a_trace(up: UpProcess) -> None:
    value = "that-nobody-is-to-see"
    assert up.korvet("produce", "secrets", stdin=f"{value}\n".encode()).code == 0
    eventually_true(lambda: bool(traces(up, "--topic", "secrets", "--api", "Produce")))

    assert value not in json.dumps(traces(up, "--last", "1000"))


def test_an_up_without_traces_says_how_to_have_them(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    with UpProcess(tmp_path_factory.mktemp("plain") / "data") as plain:
        ended = plain.korvet("trace")

    assert ended.code == 1
    assert "korvet up --trace" in ended.err


def test_where_nobody_answers_it_says_so() -> None:
    nowhere = f"127.0.0.1:{free_port()}"

    ended = run("trace", "--metrics", nowhere)

    assert ended.code == 1
    assert nowhere in ended.err
