"""`korvet groups`: list, describe, reset-offsets and delete, over gRPC."""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated

import typer
from rich.console import RenderableType

from korvet.cli import group_views
from korvet.cli.addresses import (
    BesideBootstrapOption,
    CoordinatorOption,
    GroupAddresses,
    StorageOption,
    groups_beside,
)
from korvet.cli.coordinator_connection import Coordinators, has_members, refusal
from korvet.cli.failure import Failure
from korvet.cli.group_model import QUEUE, Group
from korvet.cli.group_reader import read_groups
from korvet.cli.log_positions import LogPositions
from korvet.cli.offset_reset import Reset, plan_reset
from korvet.cli.one_by_one import Outcomes, one_by_one
from korvet.cli.places import PLACE_HELP, parse_place
from korvet.cli.terminal import JsonOption, console, errors, plain, print_json
from korvet.cli.watching import watch
from korvet.kafka.errors import ErrorCode

app = typer.Typer(
    name="groups",
    help="List, describe, reset and delete consumer groups.",
    no_args_is_help=True,
)

GroupArgument = Annotated[str, typer.Argument(metavar="GROUP", show_default=False)]


@app.command("list")
def list_(
    storage: StorageOption = None,
    bootstrap: BesideBootstrapOption = None,
    coordinator: CoordinatorOption = None,
    as_json: JsonOption = False,
) -> None:
    """List all groups, with how many records they are behind."""
    addresses = groups_beside(bootstrap, storage, coordinator)

    async def run() -> list[Group]:
        async with _connected(addresses) as (coordinators, log):
            return await read_groups(coordinators, log, await coordinators.list_groups())

    groups = asyncio.run(run())
    if as_json:
        print_json(group_views.listing_json(groups))
    elif groups:
        group_views.print_listing(groups)
    else:
        console.print("There are no groups yet. A consumer with a group id makes one.")


@app.command()
def describe(
    group: GroupArgument,
    watching: Annotated[
        bool, typer.Option("--watch", "-w", help="Show it again and again, until Ctrl-C.")
    ] = False,
    every: Annotated[
        float, typer.Option(metavar="SECONDS", min=0.1, help="How often, with --watch.")
    ] = 2.0,
    storage: StorageOption = None,
    bootstrap: BesideBootstrapOption = None,
    coordinator: CoordinatorOption = None,
    as_json: JsonOption = False,
) -> None:
    """Describe a group: its members, and how far each partition is read."""
    addresses = groups_beside(bootstrap, storage, coordinator)
    if watching and as_json:
        raise Failure(
            "--watch is for people to look at, --json for programs.",
            "A program asks again by itself: leave one of the two out.",
        )

    async def run() -> None:
        async with _connected(addresses) as (coordinators, log):

            async def read() -> Group:
                found = await read_groups(coordinators, log, [group])
                if not found:
                    raise refusal(group, ErrorCode.GROUP_ID_NOT_FOUND)
                return found[0]

            async def draw() -> RenderableType:
                return group_views.description(await read())

            if watching:
                await watch(draw, every, console)
            elif as_json:
                print_json(group_views.description_json(await read()))
            else:
                console.print(await draw(), soft_wrap=False)

    asyncio.run(run())


@app.command("reset-offsets")
def reset_offsets(
    group: GroupArgument,
    topic: Annotated[
        str, typer.Option(metavar="TOPIC", show_default=False, help="The topic.")
    ],
    to: Annotated[
        str,
        typer.Option(
            metavar="WHERE", show_default=False, help=f"Where to go on: {PLACE_HELP}"
        ),
    ],
    partition: Annotated[
        list[int] | None,
        typer.Option(help="Only this partition. May be repeated; by default all."),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only show what would change.")
    ] = False,
    storage: StorageOption = None,
    bootstrap: BesideBootstrapOption = None,
    coordinator: CoordinatorOption = None,
    as_json: JsonOption = False,
) -> None:
    """Move a group's committed offsets. Its consumers must be stopped."""
    addresses = groups_beside(bootstrap, storage, coordinator)
    place = parse_place(to, "--to")
    if not group:
        raise refusal(group, ErrorCode.INVALID_GROUP_ID)

    async def run() -> Reset:
        async with _connected(addresses) as (coordinators, log):
            (found,) = await coordinators.describe([group])
            if found.protocol_type == QUEUE:
                raise refusal(group, ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
            if found.members:
                raise has_members(group)
            committed = await coordinators.commits(group)
            reset = await plan_reset(log, committed, topic, partition, place)
            if not dry_run:
                await coordinators.commit(group, reset.commits)
            return reset

    reset = asyncio.run(run())
    if as_json:
        print_json(group_views.moves_json(reset.moves))
        return
    group_views.print_moves(reset.moves)
    if isinstance(place, int) and any(move.after != place for move in reset.moves):
        errors.print(f"\nWhere the log has no offset {place}, its nearest one is taken.")
    if dry_run:
        console.print("\nNothing was changed: this was a dry run.")


@app.command()
def delete(
    groups: Annotated[list[str], typer.Argument(metavar="GROUP", show_default=False)],
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    if_exists: Annotated[
        bool, typer.Option(help="Do nothing where there is no such group.")
    ] = False,
    storage: StorageOption = None,
    bootstrap: BesideBootstrapOption = None,
    coordinator: CoordinatorOption = None,
    as_json: JsonOption = False,
) -> None:
    """Delete groups with what they have committed. Asks first, at a terminal."""
    addresses = groups_beside(bootstrap, storage, coordinator)
    if not yes and sys.stdin.isatty():
        question = f"Delete {', '.join(groups)} with all committed offsets?"
        typer.confirm(question, abort=True, err=True)

    async def run() -> Outcomes[str]:
        async with Coordinators(addresses.coordinator) as coordinators:

            async def delete_one(group: str) -> str | None:
                code = await coordinators.delete(group)
                if code == ErrorCode.GROUP_ID_NOT_FOUND and if_exists:
                    return None
                if code != ErrorCode.NONE:
                    raise refusal(group, code)
                return group

            return await one_by_one(groups, delete_one)

    outcomes = asyncio.run(run())
    if as_json:
        print_json(outcomes.done)
    else:
        for group in outcomes.done:
            console.print(f"Deleted {plain(group)}.")
    outcomes.end()


@asynccontextmanager
async def _connected(
    addresses: GroupAddresses,
) -> AsyncIterator[tuple[Coordinators, LogPositions]]:
    async with (
        Coordinators(addresses.coordinator) as coordinators,
        LogPositions.connected(addresses.storage) as log,
    ):
        yield coordinators, log
