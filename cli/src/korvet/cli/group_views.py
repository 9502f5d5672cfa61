"""How groups look: as tables for people, as JSON for programs."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich.console import Group as Lines
from rich.console import RenderableType
from rich.text import Text

from korvet.cli.group_model import QUEUE, Group, Member, Position
from korvet.cli.offset_reset import Move
from korvet.cli.terminal import Column, plain, print_table, ranges, table_of

_NOTHING = "-"


def print_listing(groups: Sequence[Group]) -> None:
    has_queues = any(group.protocol_type == QUEUE for group in groups)
    print_table(
        [
            Column("Group"),
            Column("State"),
            Column("Protocol"),
            Column("Members", is_number=True),
            Column("Partitions", is_number=True),
            Column("Lag", is_number=True),
            *([Column("Pending", is_number=True)] if has_queues else []),
        ],
        [
            (
                group.group_id,
                group.state,
                protocol(group),
                len(group.members),
                group.partitions,
                _number(group.lag),
                *([_number(group.pending)] if has_queues else []),
            )
            for group in groups
        ],
    )


def listing_json(groups: Sequence[Group]) -> Any:
    return [
        {
            **_group_json(group),
            "members": len(group.members),
            "partitions": group.partitions,
        }
        for group in groups
    ]


def description(group: Group) -> RenderableType:
    """The group, its members, and its partitions; members are numbered to fit a line."""
    numbers = {member.member_id: n for n, member in enumerate(group.members, start=1)}
    parts: list[RenderableType] = [_heading(group)]
    if group.members:
        parts += ["", _member_table(group.members, numbers)]
    if group.protocol_type == QUEUE and group.positions:
        parts += ["", _queue_table(group.positions)]
    elif group.positions:
        parts += ["", _position_table(group.positions, numbers)]
    return Lines(*parts)


def description_json(group: Group) -> Any:
    return {
        **_group_json(group),
        "generation": group.generation,
        "coordinator": group.coordinator or None,
        "members": [
            {
                "member_id": member.member_id,
                "group_instance_id": member.instance_id,
                "client_id": member.client_id,
                "client_host": member.client_host,
                "assignment": member.assigned,
            }
            for member in group.members
        ],
        "partitions": [
            {
                "topic": each.topic,
                "partition": each.partition,
                "committed_offset": None if each.commit is None else each.commit.offset,
                "metadata": None if each.commit is None else each.commit.metadata,
                "log_end_offset": each.end,
                "lag": each.lag,
                "pending": each.pending,
                "member_id": each.member_id,
            }
            for each in group.positions
        ],
    }


def print_moves(moves: Iterable[Move]) -> None:
    print_table(
        [
            Column("Topic"),
            Column("Partition", is_number=True),
            Column("From", is_number=True),
            Column("To", is_number=True),
        ],
        [
            (
                move.topic,
                move.partition,
                _NOTHING if move.before is None else move.before,
                move.after,
            )
            for move in moves
        ],
    )


def moves_json(moves: Iterable[Move]) -> Any:
    return [
        {
            "topic": move.topic,
            "partition": move.partition,
            "from": move.before,
            "to": move.after,
        }
        for move in moves
    ]


def protocol(group: Group) -> str:
    """As in "consumer/range"; the second part is known while the group is stable."""
    return "/".join(filter(None, (group.protocol_type, group.protocol_name))) or _NOTHING


def assignment(assigned: Mapping[str, Sequence[int]] | None) -> str:
    """As in "orders 0-3, 7; payments 0"."""
    if assigned is None:
        return "(in a format of its own)"
    return (
        "; ".join(f"{topic} {ranges(numbers)}" for topic, numbers in assigned.items())
        or _NOTHING
    )


def _heading(group: Group) -> Text:
    if group.protocol_type == QUEUE:
        return _text(group, _queue_state(group), "work queue")
    members = "1 member" if len(group.members) == 1 else f"{len(group.members)} members"
    parts = [group.state, members]
    if group.lag is not None:
        parts.append(_behind(group.lag))
    details = [f"generation {group.generation}"]
    if group.protocol_type:
        details.insert(0, protocol(group))
    if group.coordinator:
        details.append(f"coordinator {group.coordinator}")
    return _text(group, ", ".join(parts), ", ".join(details))


def _text(group: Group, state: str, details: str) -> Text:
    text = Text.from_markup(
        f"[bold]{plain(group.group_id)}[/]: {state}\n[dim]{plain(details)}[/]",
        emoji=False,
        overflow="fold",
    )
    # Wrapped like the tables below, where the console itself would let a line run on.
    text.no_wrap = False
    return text


def _queue_state(group: Group) -> str:
    if group.lag is None:
        return "consumes nothing"
    waiting = "nothing left to take" if group.lag == 0 else f"{group.lag:,} to be taken"
    return f"{waiting}, {group.pending or 0:,} taken and not acknowledged"


def _queue_table(positions: Sequence[Position]) -> RenderableType:
    return table_of(
        [
            Column("Topic"),
            Column("Partition", is_number=True),
            Column("Log end", is_number=True),
            Column("Lag", is_number=True),
            Column("Pending", is_number=True),
        ],
        [
            (
                each.topic,
                each.partition,
                each.end,
                _number(each.lag),
                _number(each.pending),
            )
            for each in positions
        ],
    )


def _behind(lag: int) -> str:
    if lag == 0:
        return "nothing left to read"
    return "1 record behind" if lag == 1 else f"{lag:,} records behind"


def _member_table(members: Sequence[Member], numbers: Mapping[str, int]) -> RenderableType:
    are_static = any(member.instance_id for member in members)
    columns = [Column("#", is_number=True), Column("Member")]
    columns += [Column("Instance")] if are_static else []
    columns += [Column("Client"), Column("Host"), Column("Assigned")]
    return table_of(
        columns,
        [
            (
                numbers[member.member_id],
                member.member_id,
                *([member.instance_id or _NOTHING] if are_static else []),
                member.client_id or _NOTHING,
                member.client_host,
                assignment(member.assigned),
            )
            for member in members
        ],
    )


def _position_table(
    positions: Sequence[Position], numbers: Mapping[str, int]
) -> RenderableType:
    return table_of(
        [
            Column("Topic"),
            Column("Partition", is_number=True),
            Column("Committed", is_number=True),
            Column("Log end", is_number=True),
            Column("Lag", is_number=True),
            Column("Member", is_number=True),
        ],
        [
            (
                each.topic,
                each.partition,
                _NOTHING if each.commit is None else each.commit.offset,
                each.end,
                _number(each.lag),
                _NOTHING if each.member_id is None else f"#{numbers[each.member_id]}",
            )
            for each in positions
        ],
    )


def _group_json(group: Group) -> dict[str, Any]:
    return {
        "group": group.group_id,
        "state": group.state,
        "protocol_type": group.protocol_type,
        "protocol": group.protocol_name,
        "lag": group.lag,
        "pending": group.pending,
    }


def _number(number: int | None) -> str:
    return _NOTHING if number is None else f"{number:,}"
