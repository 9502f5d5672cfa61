"""Which topics of a lake a command is about: `--topics`, or all of them."""

from typing import TYPE_CHECKING, Annotated

import typer

from korvet.cli.failure import Failure

if TYPE_CHECKING:
    from korvet.pipeline.lake import Lake

ALL_TOPICS = ".+"
LakeTopicsOption = Annotated[
    str,
    typer.Option(
        "--topics",
        metavar="NAMES",
        help="Topics of the lake, as in `korvet lake archive`; else all of them.",
        show_default=False,
    ),
]


def topics_of(lake: "Lake", text: str) -> list[str]:
    """Those that are meant, in order; a failure where there is none."""
    from korvet.pipeline.topic_selection import TopicSelection

    selection = TopicSelection.parse(text)
    there = lake.topics()
    selection.check_named(set(there), " in the lake")
    chosen = [topic for topic in there if selection.matches(topic)]
    if not chosen:
        raise Failure("The lake has no such topic.", "`korvet lake archive` makes them.")
    return chosen
