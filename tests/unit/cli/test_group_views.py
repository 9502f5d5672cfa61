import io
from dataclasses import replace
from typing import Any

import pytest
from rich.console import Console

from korvet.cli import group_views
from korvet.cli.group_model import Commit, Group, Member, Position
from korvet.cli.offset_reset import Move

ANN = Member(
    member_id="ann-2f6c1a1e-7f3b-4d2c-9f0e-1b2c3d4e5f60",
    instance_id=None,
    client_id="ann",
    client_host="/127.0.0.1",
    assigned={"orders": [0, 1, 2, 5], "payments": [0]},
)
BOB = Member(
    member_id="bob-1",
    instance_id="till-7",
    client_id="",
    client_host="/10.0.0.2",
    assigned=None,
)


def position(partition: int, lag: int | None, member_id: str | None = None) -> Position:
    return Position(
        topic="orders",
        partition=partition,
        commit=None if lag is None else Commit(1838044556963840, metadata="note"),
        end=1838044556964999,
        lag=lag,
        member_id=member_id,
    )


def group(**changes: Any) -> Group:
    described: dict[str, Any] = {
        "group_id": "billing",
        "state": "Stable",
        "protocol_type": "consumer",
        "protocol_name": "range",
        "generation": 3,
        "coordinator": "127.0.0.1:50052",
        "members": (ANN,),
        "positions": (position(0, 12, ANN.member_id), position(1, None)),
    }
    return Group(**{**described, **changes})


def shown(described: Group, width: int = 120) -> str:
    text = io.StringIO()
    console = Console(file=text, width=width, emoji=False)
    console.print(group_views.description(described))
    return text.getvalue()


def test_a_description_says_how_far_behind_the_group_is() -> None:
    assert "billing: Stable, 1 member, 12 records behind" in shown(group())
    one, none = (group(positions=(position(0, lag),)) for lag in (1, 0))
    assert "1 record behind" in shown(one)
    assert "nothing left to read" in shown(none)
    assert "behind" not in shown(group(positions=()))


def test_a_description_names_protocol_generation_and_coordinator() -> None:
    details = "consumer/range, generation 3, coordinator 127.0.0.1:50052"

    assert details in shown(group())


def test_a_queue_shows_what_waits_and_what_is_pending() -> None:
    taken = replace(position(0, 7), commit=None, pending=3)
    queue = group(protocol_type="queue", protocol_name="", members=(), positions=(taken,))
    idle = replace(queue, positions=(replace(taken, lag=0, pending=0),))

    lines = shown(queue).splitlines()

    assert lines[:2] == [
        "billing: 7 to be taken, 3 taken and not acknowledged",
        "work queue",
    ]
    assert lines[-1].split() == ["orders", "0", "1838044556964999", "7", "3"]
    assert "nothing left to take" in shown(idle)
    assert "consumes nothing" in shown(replace(queue, positions=()))


def test_partitions_refer_to_members_by_number() -> None:
    lines = shown(group()).splitlines()

    assert any(line.split()[:2] == ["1", ANN.member_id] for line in lines)
    assert [line.split() for line in lines[-2:]] == [
        ["orders", "0", "1838044556963840", "1838044556964999", "12", "#1"],
        ["orders", "1", "-", "1838044556964999", "-", "-"],
    ]


def test_partitions_fit_a_narrow_terminal() -> None:
    narrow = shown(group(), width=80).splitlines()

    assert max(map(len, narrow)) <= 80
    assert narrow[-1].split() == ["orders", "1", "-", "1838044556964999", "-", "-"]


def test_instances_are_shown_where_there_are_static_members() -> None:
    assert "Instance" not in shown(group())
    assert "till-7" in shown(group(members=(ANN, BOB)))


def test_a_group_of_offsets_alone_has_no_members_to_show() -> None:
    left = group(
        members=(),
        state="Empty",
        protocol_type="",
        protocol_name="",
        positions=(position(0, 12),),
    )

    text = shown(left)

    assert "billing: Empty, 0 members" in text
    assert "Assigned" not in text


def test_names_are_shown_as_they_are() -> None:
    assert "[red]x[/] :fire:" in shown(group(group_id="[red]x[/] :fire:"))


def test_names_cannot_steer_the_terminal() -> None:
    trickster = replace(BOB, member_id="\x1b[2Jm", client_id="a\nb\x07", assigned={})

    text = shown(group(group_id="\x1b[31mx", members=(trickster,), positions=()))

    assert "\x1b" not in text
    assert r"\x1b[31mx: Stable" in text
    assert r"\x1b[2Jm" in text
    assert r"a\nb\x07" in text


@pytest.mark.parametrize(
    ("assigned", "text"),
    [
        ({}, "-"),
        (None, "(in a format of its own)"),
        ({"orders": [4]}, "orders 4"),
        ({"orders": [0, 1]}, "orders 0-1"),
        ({"orders": [0, 1, 2, 5, 7, 8], "pay": [0]}, "orders 0-2, 5, 7-8; pay 0"),
    ],
)
def test_neighbouring_partitions_are_put_together(
    assigned: dict[str, list[int]] | None, text: str
) -> None:
    assert group_views.assignment(assigned) == text


@pytest.mark.parametrize(
    ("type_", "name", "text"),
    [("consumer", "range", "consumer/range"), ("queue", "", "queue"), ("", "", "-")],
)
def test_a_protocol_is_its_type_and_its_name(type_: str, name: str, text: str) -> None:
    assert group_views.protocol(group(protocol_type=type_, protocol_name=name)) == text


def test_a_listing_as_json_counts() -> None:
    assert group_views.listing_json([group(), group(members=(), positions=())]) == [
        {
            "group": "billing",
            "state": "Stable",
            "protocol_type": "consumer",
            "protocol": "range",
            "lag": lag,
            "pending": None,
            "members": members,
            "partitions": partitions,
        }
        for lag, members, partitions in [(12, 1, 1), (None, 0, 0)]
    ]


def test_a_description_as_json_has_everything() -> None:
    described = group_views.description_json(group(members=(ANN, BOB)))

    assert described["generation"] == 3
    assert described["coordinator"] == "127.0.0.1:50052"
    assert described["members"][0]["assignment"] == ANN.assigned
    assert described["members"][1]["group_instance_id"] == "till-7"
    assert described["members"][1]["assignment"] is None
    assert described["partitions"] == [
        {
            "topic": "orders",
            "partition": 0,
            "committed_offset": 1838044556963840,
            "metadata": "note",
            "log_end_offset": 1838044556964999,
            "lag": 12,
            "pending": None,
            "member_id": ANN.member_id,
        },
        {
            "topic": "orders",
            "partition": 1,
            "committed_offset": None,
            "metadata": None,
            "log_end_offset": 1838044556964999,
            "lag": None,
            "pending": None,
            "member_id": None,
        },
    ]


def test_moves_as_json() -> None:
    moves = [Move(topic="orders", partition=0, before=None, after=7)]

    assert group_views.moves_json(moves) == [
        {"topic": "orders", "partition": 0, "from": None, "to": 7}
    ]
