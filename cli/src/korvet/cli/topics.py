"""`korvet topics`: create, list, describe, alter and delete, over gRPC."""

import asyncio
import sys
from collections.abc import Iterable
from typing import Annotated

import typer

from korvet.cli import topic_views
from korvet.cli.addresses import (
    BesideBootstrapOption,
    StorageOption,
    UnusedCoordinatorOption,
    storage_beside,
)
from korvet.cli.failure import Failure
from korvet.cli.progress import Progress
from korvet.cli.storage_connection import connected, explained
from korvet.cli.terminal import JsonOption, console, print_json
from korvet.cli.topic_outcomes import (
    Outcome,
    TopicOutcome,
    change_each,
    change_one,
    created,
    deleted,
    left_alone,
)
from korvet.client import Korvet, KorvetError, PartitionLog, Topic

app = typer.Typer(
    name="topics",
    help="Create, list, describe, alter and delete topics.",
    no_args_is_help=True,
)

NameArgument = Annotated[str, typer.Argument(metavar="TOPIC", show_default=False)]
NamesArgument = Annotated[list[str], typer.Argument(metavar="TOPIC", show_default=False)]
ConfigOption = Annotated[
    list[str] | None,
    typer.Option("--config", "-c", metavar="NAME=VALUE", help="A config. May be repeated."),
]


@app.command()
def create(
    names: NamesArgument,
    partitions: Annotated[
        int | None,
        typer.Option("--partitions", "-p", help="How many; by default as the server says."),
    ] = None,
    config: ConfigOption = None,
    if_not_exists: Annotated[
        bool,
        typer.Option(
            "--if-not-exists", help="Do nothing where there is such a topic already."
        ),
    ] = False,
    storage: StorageOption = None,
    bootstrap: BesideBootstrapOption = None,
    coordinator: UnusedCoordinatorOption = None,
    as_json: JsonOption = False,
) -> None:
    """Create topics."""
    configs = _pairs(config)

    async def change(korvet: Korvet, name: str) -> TopicOutcome:
        try:
            return created(
                await korvet.create_topic(name, partitions=partitions, configs=configs)
            )
        except KorvetError as error:
            if if_not_exists and error.name == "TOPIC_ALREADY_EXISTS":
                return left_alone(name, Outcome.EXISTS)
            raise

    change_each(storage_beside(bootstrap, storage), names, change, as_json=as_json)


@app.command("list")
def list_(
    storage: StorageOption = None,
    bootstrap: BesideBootstrapOption = None,
    coordinator: UnusedCoordinatorOption = None,
    as_json: JsonOption = False,
) -> None:
    """List all topics, with what they hold."""

    async def run() -> tuple[list[Topic], list[PartitionLog]]:
        async with connected(storage_beside(bootstrap, storage)) as korvet:
            return await korvet.list_topics(), await korvet.describe_logs()

    with Progress("topics", None, wanted=True) as progress:
        topics, logs = asyncio.run(run())
        progress.advance(len(topics), 0)
    if as_json:
        print_json(topic_views.listing_json(topics, logs))
    elif topics:
        topic_views.print_listing(topics, logs)
    else:
        console.print("There are no topics yet. Create one: korvet topics create NAME")


@app.command()
def describe(
    name: NameArgument,
    all_configs: Annotated[
        bool, typer.Option("--all", help="Show configs that have their defaults too.")
    ] = False,
    storage: StorageOption = None,
    bootstrap: BesideBootstrapOption = None,
    coordinator: UnusedCoordinatorOption = None,
    as_json: JsonOption = False,
) -> None:
    """Describe a topic: its partitions and its configs."""

    async def run() -> tuple[Topic, list[PartitionLog]]:
        async with connected(storage_beside(bootstrap, storage)) as korvet:
            with explained(name):
                return await korvet.describe_topic(name), await korvet.describe_logs(name)

    topic, logs = asyncio.run(run())
    if as_json:
        print_json(topic_views.description_json(topic, logs))
    else:
        topic_views.print_description(topic, logs, all_configs=all_configs)


@app.command()
def alter(
    name: NameArgument,
    config: ConfigOption = None,
    reset: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Put a config back to its default. Repeatable."),
    ] = None,
    partitions: Annotated[
        int | None, typer.Option("--partitions", "-p", help="More of them, in all.")
    ] = None,
    storage: StorageOption = None,
    bootstrap: BesideBootstrapOption = None,
    coordinator: UnusedCoordinatorOption = None,
    as_json: JsonOption = False,
) -> None:
    """Change a topic's configs, or give it more partitions."""
    configs = _pairs(config)
    if not (configs or reset or partitions is not None):
        raise Failure(
            "There is nothing to change.", "Give --config, --reset or --partitions."
        )

    async def change(korvet: Korvet, name: str) -> TopicOutcome:
        changed: list[str] = []
        failure = None
        if configs or reset:
            topic = await korvet.alter_topic(name, configs=configs, reset=reset or ())
            names = (*configs, *(reset or ()))
            changed += (f"{key} is {topic.configs[key].value}" for key in names)
        if partitions is not None:
            try:
                with explained(name):
                    topic = await korvet.add_partitions(name, partitions)
                changed.append(f"it has {topic_views.partitions(topic)}")
            except Failure as why:
                if not changed:
                    raise
                failure = why
        return TopicOutcome(
            name=name,
            outcome=Outcome.PARTLY_CHANGED if failure else Outcome.CHANGED,
            topic=topic,
            said=f"Changed {name}: {', '.join(changed)}.",
            failure=failure,
        )

    change_one(storage_beside(bootstrap, storage), name, change, as_json=as_json)


@app.command()
def delete(
    names: NamesArgument,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    if_exists: Annotated[
        bool, typer.Option("--if-exists", help="Do nothing where there is no such topic.")
    ] = False,
    storage: StorageOption = None,
    bootstrap: BesideBootstrapOption = None,
    coordinator: UnusedCoordinatorOption = None,
    as_json: JsonOption = False,
) -> None:
    """Delete topics with all their records. Asks first, at a terminal."""
    if not yes and sys.stdin.isatty():
        typer.confirm(f"Delete {', '.join(names)} with all records?", abort=True, err=True)

    async def change(korvet: Korvet, name: str) -> TopicOutcome:
        try:
            await korvet.delete_topic(name)
        except KorvetError as error:
            if if_exists and error.name == "UNKNOWN_TOPIC_OR_PARTITION":
                return left_alone(name, Outcome.MISSING)
            raise
        return deleted(name)

    change_each(storage_beside(bootstrap, storage), names, change, as_json=as_json)


def _pairs(options: Iterable[str] | None) -> dict[str, str]:
    pairs = {}
    for option in options or ():
        name, separator, value = option.partition("=")
        if not separator or not name:
            raise Failure(
                f"--config {option} is not NAME=VALUE.",
                "For example: --config retention.ms=60000",
            )
        pairs[name] = value
    return pairs
