"""`korvet lake replay`: records of the lake become records of a topic again."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING, Annotated

import typer

from korvet.cli.addresses import DEFAULT_BOOTSTRAP, BootstrapOption
from korvet.cli.failure import Failure
from korvet.cli.kafka_security_options import (
    KafkaMechanismOption,
    KafkaPasswordOption,
    KafkaTlsOption,
    KafkaUserOption,
)
from korvet.cli.lake_options import (
    LOCAL_MASTER,
    LakeOption,
    MasterOption,
    TlsCaOption,
    TlsCertificateOption,
    TlsKeyOption,
    lake_session,
)
from korvet.cli.places import PLACE_HELP, parse_place, timestamp_ms
from korvet.cli.progress import Progress
from korvet.cli.terminal import JsonOption, console, errors, plain, print_json

if TYPE_CHECKING:
    from korvet.pipeline.replay import Plan

_POLL_SECONDS = 0.5


def replay(
    lake: LakeOption,
    topic: Annotated[str, typer.Option(help="The topic in the lake.", show_default=False)],
    to: Annotated[
        str,
        typer.Option(
            help="The topic to write to; made with as many partitions where there is none.",
            show_default=False,
        ),
    ],
    start: Annotated[
        str | None,
        typer.Option("--from", metavar="WHERE", help=f"From here on: {PLACE_HELP}"),
    ] = None,
    until: Annotated[
        str | None,
        typer.Option(metavar="WHERE", help="Before here: an offset or a time likewise."),
    ] = None,
    partition: Annotated[
        list[int] | None,
        typer.Option(min=0, help="Only this partition of the lake's. May be repeated."),
    ] = None,
    key: Annotated[
        list[str] | None,
        typer.Option(metavar="TEXT", help="Only records with this key. May be repeated."),
    ] = None,
    topic_id: Annotated[
        str | None,
        typer.Option(help="Only the topic as of this id, where it was made several times."),
    ] = None,
    pace: Annotated[
        float | None,
        typer.Option(
            metavar="FACTOR",
            help="At the pace of the timestamps, 1, or so much faster; else at full speed.",
        ),
    ] = None,
    name: Annotated[
        str | None,
        typer.Option(
            help="Under this name it remembers how far it is; by default what the other"
            " options say. Another name replays all of it again."
        ),
    ] = None,
    bootstrap: BootstrapOption = DEFAULT_BOOTSTRAP,
    tls: KafkaTlsOption = False,
    tls_ca: TlsCaOption = None,
    tls_cert: TlsCertificateOption = None,
    tls_key: TlsKeyOption = None,
    user: KafkaUserOption = None,
    password: KafkaPasswordOption = "",
    mechanism: KafkaMechanismOption = "SCRAM-SHA-256",
    master: MasterOption = LOCAL_MASTER,
    as_json: JsonOption = False,
) -> None:
    """Write a topic's records from the lake to a topic, byte for byte.

    The same command goes on where it was interrupted: no record is written twice.
    """
    if pace is not None and not pace > 0:
        raise Failure(
            f"--pace {pace:g} is no pace.", "1 is the original one, 2 twice that."
        )
    bounds = _bounds(start, until)
    with lake_session("korvet lake replay", master) as spark:
        from korvet.pipeline import replay as job
        from korvet.pipeline.kafka_security import KafkaSecurity
        from korvet.pipeline.lake import Lake

        selection = job.Selection(
            **bounds,
            partitions=tuple(sorted(set(partition or ()))),
            keys=tuple(sorted({each.encode() for each in key or ()})),
            topic_id=topic_id,
        )
        security = KafkaSecurity(
            tls=tls,
            ca=tls_ca,
            certificate=tls_cert,
            key=tls_key,
            mechanism=mechanism,
            user=user,
            password=password,
        )
        request = job.Request(
            topic=topic,
            to=to,
            bootstrap=bootstrap,
            selection=selection,
            name=name,
            security=security,
        )
        source = Lake.open(spark, lake)
        plan = job.plan(source, request)
        if plan.done and plan.left:
            errors.print(f"{plan.done:,} records are in {plain(to)} already; going on.")
        try:
            with _shown(plan):
                written = sum(job.run(source, plan, pace).values()) if plan.left else 0
        except KeyboardInterrupt:
            errors.print("\nInterrupted. The same command goes on where it was.")
            raise typer.Exit(128 + signal.SIGINT) from None
    if as_json:
        print_json(
            {
                "topic": topic,
                "to": to,
                "name": plan.target.replay,
                "written": written,
                "written_before": plan.done,
            }
        )
    else:
        console.print(_said(plan, topic, to, written))


def _said(plan: "Plan", topic: str, to: str, written: int) -> str:
    source, target = plain(topic), plain(to)
    if written:
        return f"Replayed {written:,} records of {source} to {target}."
    if plan.done:
        return (
            f"Nothing is left: {target} has all {plan.done:,} records of this replay."
            " With another --name it would get them again."
        )
    return f"The lake has no such records of {source}."


def _bounds(start: str | None, until: str | None) -> dict[str, int]:
    """The selection's bounds, by its names for them."""
    bounds = {}
    for text, option, offset, time in (
        (start, "--from", "from_offset", "since_ms"),
        (until, "--until", "to_offset", "until_ms"),
    ):
        place = None if text is None else parse_place(text, option)
        if place == ("latest" if option == "--from" else "earliest"):
            raise Failure(f"{option} {text} leaves nothing to replay.")
        if isinstance(place, datetime):
            bounds[time] = timestamp_ms(place)
        elif isinstance(place, int):
            bounds[offset] = place
    return bounds


@contextmanager
def _shown(plan: "Plan") -> Iterator[None]:
    """Show how far it is, as it is committed, which is what an interruption leaves."""
    from korvet.pipeline.failure import LakeError
    from korvet.pipeline.replay import committed_records

    ended = threading.Event()

    with Progress("records", plan.left, wanted=True) as progress:

        def poll() -> None:
            while not ended.wait(_POLL_SECONDS):
                try:
                    new = committed_records(plan.target) - plan.done - progress.items
                except LakeError:
                    # The replay itself waits for Korvet, and says if that was in vain.
                    continue
                progress.advance(new, new)

        watching = threading.Thread(target=poll, daemon=True)
        if errors.is_terminal:
            watching.start()
        try:
            yield
        finally:
            ended.set()
            if watching.is_alive():
                watching.join()
