import pytest
import typer

from korvet.cli.failure import Failure
from korvet.cli.one_by_one import one_by_one


async def act(name: str) -> str | None:
    if name == "nothing to do":
        return None
    if name == "refused":
        raise Failure("It was refused.")
    if name == "away":
        raise Failure("Nobody answers.", is_unanswered=True)
    return name.upper()


async def test_one_that_fails_does_not_keep_the_others_from_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    outcomes = await one_by_one(["a", "refused", "nothing to do", "b"], act)

    assert outcomes.done == ["A", "B"]
    with pytest.raises(typer.Exit) as end:
        outcomes.end()
    assert end.value.exit_code == 1
    assert "It was refused." in capsys.readouterr().err


async def test_what_was_done_is_told_also_where_nobody_answers_any_more() -> None:
    outcomes = await one_by_one(["a", "away", "b", "away"], act)

    assert outcomes.done == ["A"]
    assert [each.problem for each in outcomes.failures] == ["Nobody answers."]


async def test_without_failures_the_command_goes_on() -> None:
    (await one_by_one(["a", "nothing to do"], act)).end()
