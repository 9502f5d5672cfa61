"""`korvet doctor` beside a Korvet that is well, and beside some that are not."""

import json
from typing import Any

import pytest

from korvet.cli.plan import free_port
from tests.support.eventually import eventually_true
from tests.support.korvet_process import KorvetCluster, StartKorvet
from tests.support.pseudo_terminal import PseudoTerminal
from tests.support.shell import Shell
from tests.support.up_process import korvet as run

pytestmark = pytest.mark.e2e


def examine(korvet: KorvetCluster, *, problems: int | None = None) -> dict[str, list[Any]]:
    """Its findings by what they are about, as a script gets them."""
    ended = Shell(korvet)("doctor", "--json")
    answer = json.loads(ended.out)
    assert problems in (None, answer["problems"]), answer
    assert ended.code == (1 if answer["problems"] else 0)
    found: dict[str, list[Any]] = {}
    for each in answer["findings"]:
        found.setdefault(each["about"], []).append(each)
    return found


def test_a_korvet_that_is_well_is_said_to_be(korvet: KorvetCluster, shell: Shell) -> None:
    ended = shell("doctor")

    assert ended.code == 0, ended.err
    shown = ended.out.decode()
    assert f"Storage at {korvet.storage} serves." in shown
    assert f"Coordinator at {korvet.coordinator} serves." in shown
    assert "Redis writes an append-only file: before it answers" in shown
    assert "All clocks show the same time." in shown


def test_a_redis_that_may_lose_records_is_found(start_korvet: StartKorvet) -> None:
    korvet = start_korvet()
    with korvet.redis.client() as redis:
        redis.config_set("maxmemory-policy", "allkeys-lru")
        redis.config_set("maxmemory", str(1 << 30))
        redis.config_set("appendonly", "no")

    found = examine(korvet, problems=1)

    (policy,) = (each for each in found["redis"] if each["severity"] == "problem")
    assert "allkeys-lru" in policy["what"]
    assert found["memory"][0]["severity"] == "fine"
    assert found["durability"][0]["severity"] == "warning"


def test_a_redis_that_is_away_is_found(start_korvet: StartKorvet) -> None:
    korvet = start_korvet()
    korvet.redis.stop()

    def is_found() -> bool:
        found = examine(korvet)
        # The coordinator serves on for as long as nobody can have taken its groups.
        waiting = (found[name][0]["what"] for name in ("storage", "coordinator"))
        return found["redis"][0]["severity"] == "problem" and all(
            "does not serve" in each for each in waiting
        )

    eventually_true(is_found, within=30)


def test_a_gateway_that_advertises_a_wrong_address_is_found(
    start_korvet: StartKorvet,
) -> None:
    wrong = free_port()
    korvet = start_korvet(environ={"KORVET_GATEWAY_ADVERTISED_PORT": str(wrong)})

    found = examine(korvet, problems=1)

    assert f"127.0.0.1:{wrong}" in found["kafka"][1]["what"]
    assert "KORVET_GATEWAY_ADVERTISED_HOST" in found["kafka"][1]["advice"]


def test_a_service_that_is_not_there_is_found(start_korvet: StartKorvet) -> None:
    korvet = start_korvet()
    korvet.coordinators[0].kill()

    found = examine(korvet, problems=1)

    assert found["coordinator"][0]["severity"] == "problem"
    assert korvet.coordinator in found["coordinator"][0]["what"]


@pytest.mark.parametrize("columns", [80, 200])
def test_it_fits_the_terminal(korvet: KorvetCluster, columns: int) -> None:
    with PseudoTerminal(columns) as terminal:
        process = Shell(korvet).start("doctor", stdout=terminal.end, stderr=terminal.end)
        terminal.wait_for("It works|All is well")
        assert process.wait(30) == 0
        terminal.hang_up()

    lines = terminal.shown.splitlines()
    assert max(len(line.rstrip()) for line in lines) <= columns
    # A long one is wrapped below its own beginning.
    (advice,) = [n for n, line in enumerate(lines) if "CONFIG SET maxmemory" in line]
    assert lines[advice].startswith("      redis-cli")
    assert lines[advice + 1].startswith("      " if columns == 80 else "ok")


def test_the_status_of_a_shell_says_whether_there_is_a_problem() -> None:
    nowhere = f"127.0.0.1:{free_port()}"
    ended = run(
        "doctor", "--bootstrap", nowhere, "--storage", nowhere, "--coordinator", nowhere
    )

    assert ended.code == 1
    assert f"Nothing speaks Kafka at {nowhere}." in ended.out.decode()
