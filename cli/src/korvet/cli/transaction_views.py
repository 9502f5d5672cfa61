"""How transactions look: as tables for people, as JSON for programs."""

from collections.abc import Sequence
from typing import Any

from rich.console import Group as Lines
from rich.console import RenderableType
from rich.text import Text

from korvet.cli.terminal import Column, plain, print_table, ranges, seconds, table_of
from korvet.cli.transaction_model import Transaction

_NOTHING = "-"


def print_listing(transactions: Sequence[Transaction], now_ms: int) -> None:
    print_table(
        [
            Column("Transactional id"),
            Column("State"),
            Column("Producer", is_number=True),
            Column("Epoch", is_number=True),
            Column("Open for", is_number=True),
            Column("Partitions", is_number=True),
            Column("Groups", is_number=True),
        ],
        [
            (
                each.transactional_id,
                each.state,
                each.producer_id,
                each.producer_epoch,
                _duration(each.open_for(now_ms)),
                each.partition_count,
                len(each.groups),
            )
            for each in transactions
        ],
    )


def description(transaction: Transaction, now_ms: int) -> RenderableType:
    parts: list[RenderableType] = [_heading(transaction, now_ms)]
    if transaction.partitions:
        topics = [(topic, ranges(each)) for topic, each in transaction.partitions.items()]
        parts += ["", table_of([Column("Topic"), Column("Partitions")], topics)]
    if transaction.groups:
        groups = [(group,) for group in transaction.groups]
        parts += ["", table_of([Column("Group")], groups)]
    return Lines(*parts)


def json_of(transaction: Transaction, now_ms: int) -> Any:
    return {
        "transactional_id": transaction.transactional_id,
        "state": transaction.state,
        "producer_id": transaction.producer_id,
        "producer_epoch": transaction.producer_epoch,
        "timeout_ms": transaction.timeout_ms,
        "started_ms": transaction.started_ms,
        "open_for_seconds": transaction.open_for(now_ms),
        "coordinator": transaction.coordinator or None,
        "partitions": {topic: list(each) for topic, each in transaction.partitions.items()},
        "groups": list(transaction.groups),
    }


def _heading(transaction: Transaction, now_ms: int) -> Text:
    parts = [transaction.state]
    if (open_for := transaction.open_for(now_ms)) is not None:
        parts.append(f"open for {seconds(open_for)}")
    if (aborted_in := transaction.aborted_in(now_ms)) is not None:
        parts.append(f"aborted in {seconds(aborted_in)} unless it ends before")
    details = [
        f"producer {transaction.producer_id}",
        f"epoch {transaction.producer_epoch}",
        f"timeout {seconds(transaction.timeout_ms / 1000)}",
    ]
    if transaction.coordinator:
        details.append(f"coordinator {transaction.coordinator}")
    text = Text.from_markup(
        f"[bold]{plain(transaction.transactional_id)}[/]: {', '.join(parts)}\n"
        f"[dim]{plain(', '.join(details))}[/]",
        emoji=False,
        overflow="fold",
    )
    # Wrapped like the tables below, where the console itself would let a line run on.
    text.no_wrap = False
    return text


def _duration(length: float | None) -> str:
    return _NOTHING if length is None else seconds(length)
