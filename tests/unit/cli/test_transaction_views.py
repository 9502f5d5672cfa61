import io
import json

import pytest
from rich.console import Console

from korvet.cli import transaction_views
from korvet.cli.terminal import seconds
from korvet.cli.transaction_model import Transaction
from korvet.proto.coordinator.v1 import coordinator_service_pb2 as pb

Described = pb.DescribeTransactionsResponse.Transaction
Partitions = pb.DescribeTransactionsResponse.Partitions

STARTED = 1_700_000_000_000


def transaction(state: str = "Ongoing", started_ms: int = STARTED) -> Transaction:
    return Transaction.of(
        Described(
            transactional_id="billing-1",
            state=state,
            producer_id=4000,
            producer_epoch=3,
            timeout_ms=60_000,
            started_ms=started_ms,
            topics=[
                Partitions(topic="payments", partitions=[0]),
                Partitions(topic="orders", partitions=[2, 0, 1, 7]),
            ],
            groups=["billing", "audit"],
            coordinator_address="127.0.0.1:50052",
        )
    )


def idle(transactional_id: str = "idle") -> Transaction:
    return Transaction.of(
        Described(transactional_id=transactional_id, state="CompleteCommit", started_ms=-1)
    )


def shown(described: Transaction, now_ms: int = STARTED + 12_300, width: int = 100) -> str:
    text = io.StringIO()
    console = Console(file=text, width=width, emoji=False)
    console.print(transaction_views.description(described, now_ms))
    return text.getvalue()


def test_a_description_says_how_long_it_has_been_open_and_what_is_part_of_it() -> None:
    assert [line.rstrip() for line in shown(transaction()).splitlines()] == [
        "billing-1: Ongoing, open for 12.3 s, aborted in 47.7 s unless it ends before",
        "producer 4000, epoch 3, timeout 1 min, coordinator 127.0.0.1:50052",
        "",
        "Topic     Partitions",
        "orders    0-2, 7",
        "payments  0",
        "",
        "Group",
        "audit",
        "billing",
    ]


def test_what_is_decided_is_not_going_to_time_out() -> None:
    assert "aborted in" not in shown(transaction("PrepareCommit"))
    assert "open for 12.3 s" in shown(transaction("PrepareCommit"))


def test_clocks_that_disagree_make_no_negative_times() -> None:
    assert "open for 0.0 s" in shown(transaction(), now_ms=STARTED - 5_000)
    assert "aborted in 0.0 s" in shown(transaction(), now_ms=STARTED + 90_000)


def test_an_id_without_a_transaction_is_not_open() -> None:
    text = shown(idle())

    assert text.splitlines()[0] == "idle: CompleteCommit"
    assert "coordinator" not in text


def test_names_do_not_steer_the_terminal() -> None:
    text = shown(idle("\x1b[31m[bold]red"))

    assert "\x1b" not in text
    assert "[bold]red" in text


def test_a_listing_has_a_line_each(capsys: pytest.CaptureFixture[str]) -> None:
    transaction_views.print_listing([transaction(), idle()], STARTED + 12_300)

    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert lines[1:] == [
        ["billing-1", "Ongoing", "4000", "3", "12.3", "s", "5", "2"],
        ["idle", "CompleteCommit", "0", "0", "-", "0", "0"],
    ]


def test_programs_get_numbers() -> None:
    described = transaction_views.json_of(transaction(), STARTED + 12_300)

    assert json.loads(json.dumps(described)) == {
        "transactional_id": "billing-1",
        "state": "Ongoing",
        "producer_id": 4000,
        "producer_epoch": 3,
        "timeout_ms": 60_000,
        "started_ms": STARTED,
        "open_for_seconds": 12.3,
        "coordinator": "127.0.0.1:50052",
        "partitions": {"orders": [0, 1, 2, 7], "payments": [0]},
        "groups": ["audit", "billing"],
    }
    nothing = transaction_views.json_of(idle(), STARTED)
    assert nothing["started_ms"] is nothing["open_for_seconds"] is None
    assert nothing["coordinator"] is None


@pytest.mark.parametrize(
    ("length", "text"),
    [
        (0, "0.0 s"),
        (59.94, "59.9 s"),
        (60, "1 min"),
        (900, "15 min"),
        (3600, "1 h 0 min"),
        (86_400 + 90, "24 h 2 min"),
    ],
)
def test_lengths_of_time_are_readable(length: float, text: str) -> None:
    assert seconds(length) == text
