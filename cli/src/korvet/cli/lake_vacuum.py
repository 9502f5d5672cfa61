"""`korvet lake vacuum`: files that no table has any more are deleted, after some time."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from korvet.cli.failure import Failure
from korvet.cli.lake_options import LOCAL_MASTER, LakeOption, MasterOption, lake_session
from korvet.cli.lake_topics import ALL_TOPICS, LakeTopicsOption, topics_of
from korvet.cli.terminal import JsonOption, console, plain, print_json, readable_bytes

if TYPE_CHECKING:
    from korvet.pipeline.upkeep import Vacuumed

# As in korvet.pipeline.upkeep, which needs Spark; a test compares them.
SAFE_HOURS = 168.0


def vacuum(
    lake: LakeOption,
    topics: LakeTopicsOption = ALL_TOPICS,
    keep_hours: Annotated[
        float,
        typer.Option(
            metavar="HOURS", min=0, help="What was replaced since then is kept for readers."
        ),
    ] = SAFE_HOURS,
    force: Annotated[
        bool,
        typer.Option(
            "--force",
            help="Keep less than a week, though whoever is reading may miss its files.",
        ),
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only say what would be deleted.")
    ] = False,
    master: MasterOption = LOCAL_MASTER,
    as_json: JsonOption = False,
) -> None:
    """Delete files that were replaced by `compact`, or left behind by a killed job."""
    if keep_hours < SAFE_HOURS and not (force or dry_run):
        raise Failure(
            f"--keep-hours {keep_hours:g} is less than {SAFE_HOURS:g}, a week: jobs that"
            " have been reading for longer than that, or are writing, would lose files.",
            "Where no job is running, give --force with it; --dry-run shows what goes.",
        )
    with lake_session("korvet lake vacuum", master) as spark:
        from korvet.pipeline import upkeep
        from korvet.pipeline.lake import Lake

        source = Lake.open(spark, lake)
        done = []
        for topic in topics_of(source, topics):
            done.append(upkeep.vacuum(source, topic, keep_hours, dry_run=dry_run))
            if not as_json:
                console.print(_said(done[-1], dry_run=dry_run))
    if as_json:
        print_json([asdict(each) for each in done])


def _said(done: "Vacuumed", *, dry_run: bool) -> str:
    topic = plain(done.topic)
    left = f"{_files(done.files_left)} of {readable_bytes(done.size_left)}"
    if not done.files:
        return f"{topic}: nothing to delete, it has {left}."
    what = "would delete" if dry_run else "deleted"
    gone = f"{_files(done.files)} of {readable_bytes(done.size_bytes)}"
    return f"{topic}: {what} {gone}, and keeps {left}."


def _files(count: int) -> str:
    return "1 file" if count == 1 else f"{count:,} files"
