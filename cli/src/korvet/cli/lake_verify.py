"""`korvet lake verify`: whether the lake has what it should have, once, byte for byte."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from korvet.cli.addresses import BesideBootstrapOption, StorageOption, storage_beside
from korvet.cli.failure import Failure
from korvet.cli.lake_options import (
    LOCAL_MASTER,
    LakeOption,
    MasterOption,
    TlsCaOption,
    TlsCertificateOption,
    TlsKeyOption,
    TlsOption,
    lake_session,
)
from korvet.cli.terminal import JsonOption, console, errors, plain, print_json

if TYPE_CHECKING:
    from korvet.pipeline.verify import CheckedRange, Verdict

_SHOWN = 10


def verify(
    lake: LakeOption,
    topics: Annotated[
        str,
        typer.Option(
            "--topics",
            metavar="NAMES",
            help="Topics of the lake, as in `korvet lake archive`; else all of them.",
            show_default=False,
        ),
    ] = ".+",
    counts_only: Annotated[
        bool,
        typer.Option(
            "--counts-only",
            help="Compare with what storage's index counts, and do not read the log again."
            " Not for topics with transactions, whose markers it counts too.",
        ),
    ] = False,
    storage: StorageOption = None,
    bootstrap: BesideBootstrapOption = None,
    tls: TlsOption = False,
    tls_ca: TlsCaOption = None,
    tls_cert: TlsCertificateOption = None,
    tls_key: TlsKeyOption = None,
    master: MasterOption = LOCAL_MASTER,
    as_json: JsonOption = False,
) -> None:
    """Check that no record is missing and none is there twice. Exit status 1 if one is."""
    address = storage_beside(bootstrap, storage)
    with lake_session("korvet lake verify", master) as spark:
        from korvet.pipeline.lake import Lake
        from korvet.pipeline.storage_link import Endpoint, StorageLink
        from korvet.pipeline.topic_selection import TopicSelection
        from korvet.pipeline.verify import verify as check

        selection = TopicSelection.parse(topics)
        endpoint = Endpoint(
            address=address, tls=tls, ca=tls_ca, certificate=tls_cert, key=tls_key
        )
        source = Lake.open(spark, lake)
        there = source.topics()
        selection.check_named(set(there), " in the lake")
        chosen = [topic for topic in there if selection.matches(topic)]
        if not chosen:
            raise Failure(
                "The lake has no such topic.", "`korvet lake archive` makes them."
            )
        verdicts: list[Verdict] = []
        with StorageLink(endpoint) as link:
            for topic in chosen:
                verdict = check(source, link, endpoint, topic, counts_only=counts_only)
                verdicts.append(verdict)
                if not as_json:
                    _print(verdict)
    if as_json:
        print_json([_json(verdict) for verdict in verdicts])
    if not all(verdict.is_right for verdict in verdicts):
        raise typer.Exit(1)


def _print(verdict: "Verdict") -> None:
    topic = plain(verdict.topic)
    if verdict.is_right:
        compared = (
            f"{verdict.compared:,} of them compared with the log"
            if verdict.is_live
            else "not in Korvet any more, so compared with nothing"
        )
        console.print(f"{topic}: {verdict.records:,} records, none twice; {compared}.")
    else:
        errors.print(f"[bold red]{topic} is not right:[/]")
        for each in verdict.duplicates:
            errors.print(f"  twice: {plain(each)}")
        if verdict.strangers:
            errors.print(f"  {verdict.strangers:,} records that no archive accounts for")
        wrong = [each for each in verdict.ranges if not each.is_right]
        for checked in wrong[:_SHOWN]:
            errors.print(f"  {_difference(checked)}")
        if len(wrong) > _SHOWN:
            errors.print(f"  and {len(wrong) - _SHOWN} more ranges")
    for gap in verdict.gaps:
        console.print(
            f"  gap: partition {gap.partition}, offsets {gap.start} up to {gap.end} were"
            " deleted before they were archived"
        )


def _difference(checked: "CheckedRange") -> str:
    where = f"partition {checked.partition}, offsets {checked.start} up to {checked.end}"
    live = checked.live
    if live is None:
        return (
            f"{where}: {checked.lake.records:,} records, the index has {checked.indexed:,}"
        )
    if live.records != checked.lake.records:
        return f"{where}: {checked.lake.records:,} records, the log has {live.records:,}"
    if checked.lake.records > checked.indexed:
        return (
            f"{where}: {checked.lake.records:,} records, the index has {checked.indexed:,}"
        )
    return f"{where}: {live.records:,} records in both, but not the same"


def _json(verdict: "Verdict") -> dict[str, Any]:
    return {
        "topic": verdict.topic,
        "right": verdict.is_right,
        "records": verdict.records,
        "compared": verdict.compared,
        "live": verdict.is_live,
        "duplicates": list(verdict.duplicates),
        "unaccounted": verdict.strangers,
        "gaps": [
            {"partition": gap.partition, "start": gap.start, "end": gap.end}
            for gap in verdict.gaps
        ],
        "wrong_ranges": [
            {
                "partition": each.partition,
                "start": each.start,
                "end": each.end,
                "lake_records": each.lake.records,
                "log_records": None if each.live is None else each.live.records,
                "index_records": each.indexed,
            }
            for each in verdict.ranges
            if not each.is_right
        ],
    }
