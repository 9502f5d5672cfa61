"""`korvet lake archive`: what topics hold becomes Delta tables, once or as it comes."""

import signal
import threading
import time
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

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
    TopicsOption,
    lake_session,
)
from korvet.cli.terminal import (
    JsonOption,
    console,
    errors,
    plain,
    print_json,
    readable_bytes,
)

if TYPE_CHECKING:
    from korvet.pipeline.planning import Gap
    from korvet.pipeline.storage_link import StorageLink, TopicInfo
    from korvet.pipeline.topic_archive import Done
    from korvet.pipeline.topic_selection import TopicSelection


class OnGap(StrEnum):
    FAIL = "fail"
    CONTINUE = "continue"


def archive(
    lake: LakeOption,
    topics: TopicsOption,
    continuous: Annotated[
        bool,
        typer.Option("--continuous", help="Go on as records come, until Ctrl-C."),
    ] = False,
    every: Annotated[
        float,
        typer.Option(
            metavar="SECONDS",
            min=0.1,
            help="With --continuous: how long to wait for more. A commit brings a file or"
            " more, so a longer wait makes larger files.",
        ),
    ] = 10.0,
    on_gap: Annotated[
        OnGap,
        typer.Option(
            help="What to do where records were deleted before they were archived."
        ),
    ] = OnGap.FAIL,
    records_per_commit: Annotated[
        int, typer.Option(min=1, help="At most so many records in one commit.")
    ] = 2_000_000,
    storage: StorageOption = None,
    bootstrap: BesideBootstrapOption = None,
    tls: TlsOption = False,
    tls_ca: TlsCaOption = None,
    tls_cert: TlsCertificateOption = None,
    tls_key: TlsKeyOption = None,
    master: MasterOption = LOCAL_MASTER,
    as_json: JsonOption = False,
) -> None:
    """Archive topics into the lake: every committed record, exactly once.

    The same command goes on where the last one ended, however it ended.
    """
    address = storage_beside(bootstrap, storage)
    with lake_session("korvet lake archive", master) as spark:
        from korvet.pipeline.archive import Archive
        from korvet.pipeline.lake import Lake
        from korvet.pipeline.storage_link import Endpoint, StorageLink
        from korvet.pipeline.topic_archive import ArchiveSettings
        from korvet.pipeline.topic_selection import TopicSelection

        shown = _Shown(as_json)
        selection = TopicSelection.parse(topics)
        endpoint = Endpoint(
            address=address, tls=tls, ca=tls_ca, certificate=tls_cert, key=tls_key
        )
        settings = ArchiveSettings(
            endpoint=endpoint,
            records_per_commit=records_per_commit,
            skips_gaps=on_gap is OnGap.CONTINUE,
            on_gap=shown.gap,
        )
        target = Lake.create(spark, lake)
        with StorageLink(endpoint) as link:
            chosen = _chosen(link, selection)
            job = Archive(target, link, settings, on_done=shown.done)
            try:
                if continuous:
                    shown.following(chosen)
                    job.follow(lambda: _matching(link, selection), every, threading.Event())
                else:
                    if not chosen:
                        raise Failure(f"There is no topic that matches {topics}.")
                    job.once(chosen)
            except KeyboardInterrupt:
                errors.print("\nStopped. The same command goes on where this one was.")
                raise typer.Exit(128 + signal.SIGINT) from None
        shown.end(chosen)


def _chosen(link: "StorageLink", selection: "TopicSelection") -> list["TopicInfo"]:
    there = link.topics()
    selection.check_named({topic.name for topic in there}, " in Korvet")
    return [topic for topic in there if selection.matches(topic.name)]


def _matching(link: "StorageLink", selection: "TopicSelection") -> list["TopicInfo"]:
    return [topic for topic in link.topics() if selection.matches(topic.name)]


class _Shown:
    """Says what is being done: a line, or with --json an object, for each commit."""

    def __init__(self, as_json: bool) -> None:
        self._as_json = as_json
        self._since = time.monotonic()
        self._last: dict[str, float] = {}
        self._records = 0
        self._bytes = 0

    def following(self, topics: list["TopicInfo"]) -> None:
        names = ", ".join(topic.name for topic in topics) or "none yet"
        errors.print(f"Archiving as records come, until Ctrl-C: {plain(names)}")

    def done(self, topic: str, done: "Done") -> None:
        now = time.monotonic()
        rate = done.records / max(now - self._last.get(topic, self._since), 1e-3)
        self._last[topic] = now
        self._records += done.records
        self._bytes += done.bytes
        if self._as_json:
            print_json(
                {
                    "topic": topic,
                    "records": done.records,
                    "bytes": done.bytes,
                    "lag": done.lag,
                    "records_per_second": round(rate),
                }
            )
        else:
            console.print(
                f"{plain(topic)}: {done.records:,} records, {readable_bytes(done.bytes)},"
                f" {rate:,.0f}/s; {done.lag:,} to go"
            )

    def gap(self, gap: "Gap") -> None:
        errors.print(
            f"[bold yellow]Gap:[/] {plain(gap.topic)}-{gap.partition}, offsets {gap.start}"
            f" up to {gap.end} were deleted before they were archived."
        )

    def end(self, topics: list["TopicInfo"]) -> None:
        if self._as_json:
            return
        count = f"{len(topics)} topics" if len(topics) != 1 else plain(topics[0].name)
        if self._records:
            console.print(
                f"Archived {self._records:,} records of {count},"
                f" {readable_bytes(self._bytes)} in the lake."
            )
        else:
            console.print(f"There was nothing new in {count}.")
