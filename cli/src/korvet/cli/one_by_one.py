"""For commands that take several names: one that fails does not keep the others from it.

Each outcome is told: what was done on standard output, what failed as an error behind it.
"""

from collections.abc import Awaitable, Callable, Iterable
from typing import Generic, NamedTuple, TypeVar

import typer

from korvet.cli.failure import Failure
from korvet.cli.terminal import print_failure

_Done = TypeVar("_Done")


class Outcomes(NamedTuple, Generic[_Done]):
    done: list[_Done]
    failures: list[Failure]

    def end(self) -> None:
        """Tell of the failures, once the rest is told; exit status 1 if there are any."""
        for failure in self.failures:
            print_failure(failure)
        if self.failures:
            raise typer.Exit(1)


async def one_by_one(
    names: Iterable[str], act: Callable[[str], Awaitable[_Done | None]]
) -> Outcomes[_Done]:
    """`act` returns None where there was nothing to do."""
    outcomes = Outcomes[_Done]([], [])
    for name in names:
        try:
            done = await act(name)
        except Failure as failure:
            outcomes.failures.append(failure)
            if failure.is_unanswered:
                break
        else:
            if done is not None:
                outcomes.done.append(done)
    return outcomes
