"""`korvet top` beside `korvet up`, which needs no set-up for it, and beside a cluster."""

import contextlib
import json
import signal
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from prometheus_client.parser import text_string_to_metric_families

from korvet.cli.plan import free_port
from tests.support.eventually import eventually_true
from tests.support.korvet_process import KorvetCluster
from tests.support.pseudo_terminal import PseudoTerminal
from tests.support.up_process import UpProcess, clean_environ
from tests.support.up_process import korvet as run

pytestmark = pytest.mark.e2e


@pytest.fixture(scope="module")
def up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[UpProcess]:
    with UpProcess(tmp_path_factory.mktemp("up") / "data") as up:
        yield up


@pytest.fixture
def busy(up: UpProcess) -> Iterator[UpProcess]:
    """Somebody produces for as long as the test runs."""
    over = threading.Event()

    def produce() -> None:
        producer = Producer({"bootstrap.servers": up.bootstrap})
        while not over.wait(0.05):
            producer.produce("orders", b"x")
            assert producer.flush(30) == 0

    producing = threading.Thread(target=produce)
    producing.start()
    yield up
    over.set()
    producing.join()


@contextlib.contextmanager
def top_in(
    terminal: PseudoTerminal, environ: dict[str, str]
) -> Iterator["subprocess.Popen[bytes]"]:
    top = subprocess.Popen(
        [sys.executable, "-m", "korvet.cli", "top", "--every", "0.5"],
        env={**clean_environ(environ), "TERM": "xterm-256color"},
        stdin=subprocess.DEVNULL,
        stdout=terminal.end,
        stderr=terminal.end,
    )
    try:
        yield top
        top.send_signal(signal.SIGINT)
        assert top.wait(30) == 0
    finally:
        top.kill()
        top.wait()


@pytest.mark.parametrize("columns", [80, 200])
def test_it_shows_what_goes_on_until_ctrl_c(busy: UpProcess, columns: int) -> None:
    with PseudoTerminal(columns) as terminal:
        with top_in(terminal, busy.addresses):
            terminal.wait_for(r"Produce +[\d.]+ +[\d.]+ ms")
            terminal.wait_for(r"orders +[\d.]+ +[\d.]+ ")
            # Again, in place.
            before = terminal.shown.count("REQUESTS")
            eventually_true(lambda: terminal.shown.count("REQUESTS") >= before + 2)
        terminal.hang_up()

    lines = terminal.shown.replace("\r", "\n").splitlines()
    assert max(map(len, lines)) <= columns
    for process in ("gateway", "storage", "coordinator"):
        assert any(line.startswith(process) and "ready" in line for line in lines)
    assert "Redis " in terminal.shown
    assert "Traceback" not in terminal.shown


def test_a_script_gets_the_rates_of_some_seconds(busy: UpProcess) -> None:
    def topics() -> dict[str, Any]:
        ended = busy.korvet("top", "--json", "--every", "2")
        assert ended.code == 0, ended.err
        answer = json.loads(ended.out)
        return {topic["name"]: topic for topic in answer["topics"]}

    assert topics()["orders"]["records_in"] > 0


def test_one_page_has_the_metrics_of_all_processes(up: UpProcess) -> None:
    with urllib.request.urlopen(f"http://{up.metrics}/metrics", timeout=10) as answer:
        text = answer.read().decode()

    ready = {
        sample.labels["service"]: sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.name == "korvet_ready"
    }
    assert ready == {"gateway": 1, "storage": 1, "coordinator": 1}


def test_a_second_up_serves_its_metrics_elsewhere(up: UpProcess, tmp_path: Path) -> None:
    with UpProcess(tmp_path / "data") as other:
        assert other.metrics != up.metrics
        eventually_true(lambda: f"top --metrics {other.metrics}" in other.output)
        assert other.korvet("top", "--json", "--every", "0.2").code == 0


def test_a_port_for_metrics_that_is_taken_is_refused(up: UpProcess, tmp_path: Path) -> None:
    port = up.metrics.rpartition(":")[2]
    ended = run(
        "up", "--data", str(tmp_path / "data"), "--port", "0", "--storage-port", "0",
        "--coordinator-port", "0", "--metrics-port", port,
    )  # fmt: skip

    assert ended.code == 1
    assert "--metrics-port" in ended.err


def test_the_processes_of_a_cluster_are_named_one_by_one(korvet: KorvetCluster) -> None:
    addresses = [
        value
        for service in korvet.services
        for name, value in service.environ.items()
        if name.endswith("METRICS_ADDRESS")
    ]
    ended = run("top", "--json", "--every", "0.2", "--metrics", ", ".join(addresses))

    answer = json.loads(ended.out)
    assert {process["name"] for process in answer["processes"]} == set(addresses)
    assert all(process["is_ready"] for process in answer["processes"])


def test_where_nothing_serves_metrics_it_says_so() -> None:
    nowhere = f"127.0.0.1:{free_port()}"

    ended = run("top", "--metrics", nowhere)

    assert ended.code == 1
    assert f"Nothing serves metrics at {nowhere}." in ended.err


def test_it_goes_on_when_korvet_has_gone(tmp_path: Path) -> None:
    with (
        PseudoTerminal() as terminal,
        UpProcess(tmp_path / "data") as up,
        top_in(terminal, up.addresses),
    ):
        terminal.wait_for("REQUESTS")
        up.signal(signal.SIGTERM)
        terminal.wait_for("Error: Nothing serves metrics at")
