"""`korvet transactions`: list, describe and abort, over gRPC."""

import asyncio
import sys
import time
from typing import Annotated

import typer

from korvet.cli import transaction_views
from korvet.cli.addresses import (
    BesideBootstrapOption,
    CoordinatorOption,
    StorageOption,
    groups_beside,
)
from korvet.cli.coordinator_connection import Coordinators, other_refusal
from korvet.cli.failure import Failure
from korvet.cli.terminal import JsonOption, console, plain, print_json
from korvet.cli.transaction_model import STATES, Transaction
from korvet.kafka.errors import ErrorCode
from korvet.proto.coordinator.v1 import coordinator_service_pb2 as pb

app = typer.Typer(
    name="transactions",
    help="List, describe and abort transactions.",
    no_args_is_help=True,
)

_ANY_DURATION = -1


def _state(text: str) -> str:
    for state in STATES:
        if state.lower() == text.lower():
            return state
    raise typer.BadParameter(f"{text!r} is none of {', '.join(STATES)}.")


@app.command("list")
def list_(
    states: Annotated[
        list[str] | None,
        typer.Option(
            "--state",
            metavar="STATE",
            parser=_state,
            help=f"Only those in this state: {', '.join(STATES)}. May be repeated.",
        ),
    ] = None,
    longer_than: Annotated[
        float | None,
        typer.Option(
            metavar="SECONDS", min=0, help="Only those open for longer than this."
        ),
    ] = None,
    matching: Annotated[
        str,
        typer.Option(metavar="REGEX", help="Only transactional ids that match this."),
    ] = "",
    storage: StorageOption = None,
    bootstrap: BesideBootstrapOption = None,
    coordinator: CoordinatorOption = None,
    as_json: JsonOption = False,
) -> None:
    """List transactional ids, with what they have open."""
    addresses = groups_beside(bootstrap, storage, coordinator)
    request = pb.ListTransactionsRequest(
        states=states or (),
        running_longer_than_ms=(
            _ANY_DURATION if longer_than is None else int(longer_than * 1000)
        ),
        transactional_id_pattern=matching,
    )

    async def run() -> list[Transaction]:
        async with Coordinators(addresses.coordinator) as coordinators:
            found = await coordinators.list_transactions(request)
            if found.error_code == ErrorCode.INVALID_REGULAR_EXPRESSION:
                raise Failure(
                    f"{matching} is no regular expression.",
                    "It must match whole ids, as in --matching 'billing-.*'.",
                )
            if found.error_code:
                raise other_refusal("transactions", found.error_code)
            ids = sorted(each.transactional_id for each in found.transactions)
            # Without those that have gone meanwhile.
            return [
                Transaction.of(each)
                for each in await coordinators.describe_transactions(ids)
                if not each.error_code
            ]

    transactions = asyncio.run(run())
    if as_json:
        now_ms = _now_ms()
        print_json([transaction_views.json_of(each, now_ms) for each in transactions])
    elif transactions:
        transaction_views.print_listing(transactions, _now_ms())
    elif states or longer_than is not None or matching:
        console.print("There are no such transactions.")
    else:
        console.print(
            "There are no transactions yet. A producer with a transactional id makes one."
        )


@app.command()
def describe(
    transactional_id: Annotated[str, typer.Argument(metavar="ID", show_default=False)],
    storage: StorageOption = None,
    bootstrap: BesideBootstrapOption = None,
    coordinator: CoordinatorOption = None,
    as_json: JsonOption = False,
) -> None:
    """Describe a transactional id: its producer, and what is part of its transaction."""
    addresses = groups_beside(bootstrap, storage, coordinator)

    async def run() -> Transaction:
        async with Coordinators(addresses.coordinator) as coordinators:
            (found,) = await coordinators.describe_transactions([transactional_id])
            if found.error_code:
                raise _refusal(transactional_id, found.error_code)
            return Transaction.of(found)

    transaction = asyncio.run(run())
    if as_json:
        print_json(transaction_views.json_of(transaction, _now_ms()))
    else:
        shown = transaction_views.description(transaction, _now_ms())
        console.print(shown, soft_wrap=False)


@app.command()
def abort(
    transactional_id: Annotated[str, typer.Argument(metavar="ID", show_default=False)],
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    storage: StorageOption = None,
    bootstrap: BesideBootstrapOption = None,
    coordinator: CoordinatorOption = None,
    as_json: JsonOption = False,
) -> None:
    """Abort an open transaction, and fence its producer. Asks first, at a terminal."""
    addresses = groups_beside(bootstrap, storage, coordinator)
    if not yes and sys.stdin.isatty():
        question = (
            f"Abort the transaction of {transactional_id}? Its producer, if it is still"
            " there, will have to start again."
        )
        typer.confirm(question, abort=True, err=True)

    async def run() -> None:
        async with Coordinators(addresses.coordinator) as coordinators:
            code = await coordinators.abort_transaction(transactional_id)
            if code:
                raise _refusal(transactional_id, code)

    asyncio.run(run())
    if as_json:
        print_json({"aborted": transactional_id})
    else:
        console.print(f"Aborted the transaction of {plain(transactional_id)}.")


def _refusal(transactional_id: str, code: int) -> Failure:
    """Why a coordinator refused something about a transactional id."""
    match code:
        case ErrorCode.TRANSACTIONAL_ID_NOT_FOUND:
            return Failure(
                f"There is no transactional id {transactional_id}.",
                "`korvet transactions list` shows those that there are.",
            )
        case ErrorCode.INVALID_TXN_STATE:
            return Failure(
                f"{transactional_id} has no transaction open.",
                f"`korvet transactions describe {transactional_id}` shows its state.",
            )
        case ErrorCode.CONCURRENT_TRANSACTIONS:
            return Failure(
                f"The transaction of {transactional_id} is decided, and being carried out.",
                f"Wait; `korvet transactions describe {transactional_id}` shows when it is"
                " done. Where it takes long, the coordinator's log says why.",
            )
    return other_refusal(transactional_id, code)


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
