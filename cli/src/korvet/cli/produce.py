"""`korvet produce`: the lines of standard input become records of a topic.

Bytes go through as they are; only the newline at the end of a line is not part of it.
"""

import asyncio
import os
import signal
import stat
import sys
from dataclasses import dataclass, field
from typing import Annotated, Any, Final

import typer
from aiokafka import AIOKafkaProducer
from aiokafka.structs import RecordMetadata

from korvet.cli.addresses import DEFAULT_BOOTSTRAP, BootstrapOption, no_such_partition
from korvet.cli.failure import Failure
from korvet.cli.input_lines import input_lines
from korvet.cli.kafka_connection import check_writable, explained
from korvet.cli.progress import Progress
from korvet.cli.terminal import JsonOption, errors, print_json

# As large as a topic can be told to accept; the topic's own limit decides.
_LARGEST_RECORD: Final = 64 * 1024 * 1024


def produce(
    topic: Annotated[str, typer.Argument(metavar="TOPIC", show_default=False)],
    key_separator: Annotated[
        str | None,
        typer.Option(
            metavar="TEXT", help=r"What is before it on a line is the key; \t is a tab."
        ),
    ] = None,
    header: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=VALUE", help="A header of every record. Repeatable."),
    ] = None,
    partition: Annotated[
        int | None,
        typer.Option(help="Where to; by default the key decides, or each batch anew."),
    ] = None,
    bootstrap: BootstrapOption = DEFAULT_BOOTSTRAP,
    as_json: JsonOption = False,
) -> None:
    """Write the lines of standard input to a topic, one record a line."""
    plan = _Plan(
        topic=topic,
        separator=parse_separator(key_separator),
        headers=[parse_header(each) for each in header or ()],
        partition=partition,
    )
    if sys.stdin.isatty():
        errors.print("Type records, one a line. Ctrl-D ends.")
    summary = _Summary()
    is_interrupted = False
    with explained(bootstrap, topic):
        try:
            asyncio.run(_produce(plan, bootstrap, summary))
        except KeyboardInterrupt:
            is_interrupted = True
    if as_json:
        print_json(summary.to_json(topic))
    else:
        noun = "record" if summary.records == 1 else "records"
        how = "\nInterrupted: " if is_interrupted else ""
        errors.print(f"{how}{summary.records:,} {noun} to {topic}.")
    if is_interrupted:
        raise typer.Exit(128 + signal.SIGINT)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Plan:
    topic: str
    separator: bytes | None
    headers: list[tuple[str, bytes]]
    partition: int | None

    def split(self, line: bytes, number: int) -> tuple[bytes | None, bytes]:
        if self.separator is None:
            return None, line
        key, separator, value = line.partition(self.separator)
        if not separator:
            raise Failure(
                f"Line {number} has no {self.separator.decode(errors='replace')!r}.",
                "The lines before it are written. Without --key-separator none is needed.",
            )
        return key, value


@dataclass(slots=True)
class _Summary:
    records: int = 0
    # Partition -> how many records, the first offset, the last one.
    partitions: dict[int, tuple[int, int, int]] = field(default_factory=dict)

    def add(self, written: RecordMetadata) -> None:
        self.records += 1
        count, first, last = self.partitions.get(
            written.partition, (0, written.offset, written.offset)
        )
        self.partitions[written.partition] = (
            count + 1,
            min(first, written.offset),
            max(last, written.offset),
        )

    def to_json(self, topic: str) -> Any:
        return {
            "topic": topic,
            "records": self.records,
            "partitions": [
                {
                    "partition": partition,
                    "records": count,
                    "first_offset": first,
                    "last_offset": last,
                }
                for partition, (count, first, last) in sorted(self.partitions.items())
            ],
        }


async def _produce(plan: _Plan, bootstrap: str, summary: _Summary) -> None:
    await check_writable(bootstrap, plan.topic)
    failed: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def on_written(written: "asyncio.Future[RecordMetadata]") -> None:
        if error := written.exception():
            if not failed.done():
                failed.set_exception(error)
        else:
            summary.add(written.result())

    producer = AIOKafkaProducer(
        bootstrap_servers=bootstrap,
        enable_idempotence=True,
        linger_ms=5,
        max_batch_size=256 * 1024,
        max_request_size=_LARGEST_RECORD,
    )
    try:
        await producer.start()
        known = await producer.partitions_for(plan.topic)
        if plan.partition is not None and plan.partition not in known:
            raise no_such_partition(plan.topic, plan.partition, len(known))
        # Where lines are typed, a bar would write over them.
        wanted = not sys.stdin.isatty()
        with Progress("records", _size_of_input(), wanted=wanted) as progress:
            number = 0
            async for line in input_lines(sys.stdin.fileno(), _LARGEST_RECORD):
                number += 1
                key, value = plan.split(line, number)
                written = await producer.send(
                    plan.topic,
                    value,
                    key=key,
                    partition=plan.partition,
                    headers=plan.headers,
                )
                written.add_done_callback(on_written)
                progress.advance(1, len(line) + 1)
                if failed.done():
                    break
            await producer.flush()
    finally:
        await producer.stop()
    if failed.done():
        failed.result()


def _size_of_input() -> int | None:
    status = os.fstat(sys.stdin.fileno())
    return status.st_size if stat.S_ISREG(status.st_mode) else None


def parse_separator(text: str | None) -> bytes | None:
    if text is None:
        return None
    if not text:
        raise Failure("--key-separator is empty.", r"Give a text, such as : or \t.")
    # What a shell's quotes keep as two characters.
    return text.replace(r"\t", "\t").encode()


def parse_header(text: str) -> tuple[str, bytes]:
    name, separator, value = text.partition("=")
    if not separator:
        raise Failure(f"--header {text} is not NAME=VALUE.")
    return name, value.encode()
