"""Changes to many topics, one after the other, and what became of each.

What fails for one topic says nothing of the others, so all are tried, and what was done is
told whatever happens: a person, or a script, must not have to look for it afterwards.
"""

import asyncio
import signal
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, TypeAlias

import typer

from korvet.cli.failure import Failure
from korvet.cli.grpc_failure import no_answer
from korvet.cli.progress import Progress
from korvet.cli.storage_connection import explained
from korvet.cli.terminal import console, errors, print_failure, print_json
from korvet.cli.topic_views import partitions, topic_json
from korvet.client import Korvet, Topic, UnavailableError


class Outcome(StrEnum):
    """The words are those of --json."""

    CREATED = "created"
    EXISTS = "exists"
    CHANGED = "changed"
    # Its configs are, and then it could not have more partitions.
    PARTLY_CHANGED = "partly changed"
    DELETED = "deleted"
    MISSING = "missing"
    FAILED = "failed"
    NOT_TRIED = "not tried"


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicOutcome:
    name: str
    outcome: Outcome
    topic: Topic | None = None
    # For people, of what was done.
    said: str = ""
    failure: Failure | None = None

    def to_json(self) -> dict[str, Any]:
        topic = topic_json(self.topic) if self.topic else {"name": self.name}
        error = {"error": self.failure.problem} if self.failure else {}
        return {**topic, "outcome": str(self.outcome), **error}


Change: TypeAlias = Callable[[Korvet, str], Awaitable[TopicOutcome]]


def created(topic: Topic) -> TopicOutcome:
    return TopicOutcome(
        name=topic.name,
        outcome=Outcome.CREATED,
        topic=topic,
        said=f"Created {topic.name} with {partitions(topic)}.",
    )


def left_alone(name: str, outcome: Outcome) -> TopicOutcome:
    """There is one already, or none, as was allowed."""
    word = "already" if outcome is Outcome.EXISTS else "not"
    return TopicOutcome(name=name, outcome=outcome, said=f"{name} is {word} there.")


def deleted(name: str) -> TopicOutcome:
    return TopicOutcome(name=name, outcome=Outcome.DELETED, said=f"Deleted {name}.")


def change_one(address: str, name: str, change: Change, *, as_json: bool) -> None:
    """The same for a command that takes one name, and answers one JSON object."""
    change_each(address, [name], change, as_json=as_json, is_one=True)


def change_each(
    address: str,
    names: Sequence[str],
    change: Change,
    *,
    as_json: bool,
    is_one: bool = False,
) -> None:
    """Carry out a change and tell of it; ends the command unless all went well."""
    outcomes: list[TopicOutcome] = []
    is_interrupted = False
    try:
        asyncio.run(_change_each(address, names, change, outcomes))
    except KeyboardInterrupt:
        is_interrupted = True
        errors.print("\nInterrupted.")
    untried = names[len(outcomes) :]
    outcomes += (TopicOutcome(name=each, outcome=Outcome.NOT_TRIED) for each in untried)
    if as_json:
        objects = [each.to_json() for each in outcomes]
        print_json(objects[0] if is_one else objects)
    else:
        for each in outcomes:
            if each.said:
                console.print(each.said)
    failures = [each.failure for each in outcomes if each.failure]
    for failure in failures:
        print_failure(failure)
    if untried:
        errors.print(f"Nothing was done for {', '.join(untried)}.")
    if is_interrupted:
        raise typer.Exit(128 + signal.SIGINT)
    if failures:
        raise typer.Exit(1)


async def _change_each(
    address: str, names: Sequence[str], change: Change, outcomes: list[TopicOutcome]
) -> None:
    """Add what became of each, as far as storage answers."""
    async with Korvet(address) as korvet:
        with Progress("topics", len(names), wanted=True) as progress:
            for name in names:
                try:
                    with explained(name):
                        outcomes.append(await change(korvet, name))
                except Failure as failure:
                    outcomes.append(_failed(name, failure))
                except UnavailableError as error:
                    no_more = no_answer("storage", address, error.detail)
                    outcomes.append(_failed(name, no_more))
                    return
                progress.advance(1, 1)


def _failed(name: str, failure: Failure) -> TopicOutcome:
    return TopicOutcome(name=name, outcome=Outcome.FAILED, failure=failure)
