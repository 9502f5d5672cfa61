"""`korvet lake compact`: many small files of a lake's tables become few large ones."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from korvet.cli.lake_options import LOCAL_MASTER, LakeOption, MasterOption, lake_session
from korvet.cli.lake_topics import ALL_TOPICS, LakeTopicsOption, topics_of
from korvet.cli.terminal import JsonOption, console, plain, print_json, readable_bytes

if TYPE_CHECKING:
    from korvet.pipeline.upkeep import Compacted


def compact(
    lake: LakeOption,
    topics: LakeTopicsOption = ALL_TOPICS,
    file_mib: Annotated[
        int,
        typer.Option(
            "--file-size", metavar="MIB", min=1, help="How large files are to become."
        ),
    ] = 256,
    master: MasterOption = LOCAL_MASTER,
    as_json: JsonOption = False,
) -> None:
    """Join small files. The old ones stay for whoever reads them, until `vacuum`."""
    with lake_session("korvet lake compact", master) as spark:
        from korvet.pipeline import upkeep
        from korvet.pipeline.lake import Lake

        source = Lake.open(spark, lake)
        done = []
        for topic in topics_of(source, topics):
            done.append(upkeep.compact(source, topic, file_mib << 20))
            if not as_json:
                console.print(_said(done[-1]))
    if as_json:
        print_json([asdict(each) for each in done])


def _said(done: "Compacted") -> str:
    topic = plain(done.topic)
    if not done.files_removed:
        return f"{topic}: nothing to join, it has {_files(done.files_left)}."
    size = readable_bytes(done.size_bytes)
    return (
        f"{topic}: {_files(done.files_removed)} became {done.files_added:,}, of {size};"
        f" it has {_files(done.files_left)} now."
    )


def _files(count: int) -> str:
    return "1 file" if count == 1 else f"{count:,} files"
