"""The `korvet` command. Each module below adds its own subcommand."""

import os
import sys
from importlib.metadata import version
from typing import Annotated

import typer

from korvet.cli import (
    consume,
    doctor,
    groups,
    lake,
    produce,
    top,
    topics,
    trace,
    transactions,
    up,
)
from korvet.cli.failure import Failure
from korvet.cli.terminal import console, print_failure

app = typer.Typer(
    name="korvet",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)


def _show_version(wanted: bool) -> None:
    if wanted:
        console.print(f"korvet {version('korvet')}")
        raise typer.Exit


@app.callback()
def _options(
    _version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_show_version, is_eager=True, help="Show the version."
        ),
    ] = False,
) -> None:
    """A Kafka-compatible broker whose log lives in Redis Streams."""


app.command()(up.up)
app.add_typer(topics.app)
app.add_typer(groups.app)
app.add_typer(transactions.app)
app.add_typer(lake.app)
app.command()(produce.produce)
app.command()(consume.consume)
app.command()(doctor.doctor)
app.command()(top.top)
app.command()(trace.trace)


def _check_arguments() -> None:
    """What is not UTF-8 is no name in Kafka, and nothing that could be shown."""
    for argument in sys.argv[1:]:
        try:
            argument.encode()
        except UnicodeEncodeError:
            shown = os.fsencode(argument).decode(errors="backslashreplace")
            raise Failure(
                f"{shown} is not UTF-8.",
                "Names are; does the terminal, or the script, use another encoding?",
            ) from None


def main() -> None:
    try:
        _check_arguments()
        app(obj=os.environ)
    except Failure as failure:
        print_failure(failure)
        sys.exit(1)


if __name__ == "__main__":
    main()
