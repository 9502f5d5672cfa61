"""Where a person says that something begins: in `--from` and in `--to`."""

from datetime import UTC, datetime, timedelta

import pytest

from korvet.cli.failure import Failure
from korvet.cli.places import parse_place, timestamp_ms

NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("earliest", "earliest"),
        ("latest", "latest"),
        ("0", 0),
        ("1838044556963840", 1838044556963840),
        ("9223372036854775807", 2**63 - 1),
        ("2026-01-31T12:00:00+00:00", NOON),
        ("2026-01-31T12:00:00Z", NOON),
        ("2026-01-31T13:00:00+01:00", NOON),
        ("1769860800000ms", NOON),
        ("1769860800007ms", NOON + timedelta(milliseconds=7)),
        ("0ms", datetime(1970, 1, 1, tzinfo=UTC)),
    ],
)
def test_a_place_is_an_end_an_offset_or_a_time(text: str, place: object) -> None:
    assert parse_place(text, "--to") == place


def test_a_bare_number_is_never_a_time() -> None:
    assert parse_place("1769860800000", "--to") == 1769860800000


@pytest.mark.parametrize("text", ["2026-01-31", "2026-01-31T12:00"])
def test_a_time_without_a_zone_is_local(text: str) -> None:
    parsed = parse_place(text, "--to")

    assert parsed == datetime.fromisoformat(text).astimezone()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "-1",
        "first",
        "EARLIEST",
        "12:00",
        "2026-02-30",
        "ms",
        "-5ms",
        "1.5",
        "9" * 30 + "ms",
    ],
)
def test_anything_else_is_no_place(text: str) -> None:
    with pytest.raises(Failure, match="no place in a log") as raised:
        parse_place(text, "--to")

    assert raised.value.problem.startswith("--to")
    assert "earliest" in raised.value.advice


@pytest.mark.parametrize("text", ["9223372036854775808", "9" * 5000])
def test_an_offset_larger_than_any_is_no_place(text: str) -> None:
    with pytest.raises(Failure, match="no place in a log") as raised:
        parse_place(text, "--from")

    assert "9223372036854775807" in raised.value.advice


@pytest.mark.parametrize("milliseconds", [0, 1, 1769860800001, 1769860800999])
def test_a_time_keeps_its_milliseconds(milliseconds: int) -> None:
    moment = parse_place(f"{milliseconds}ms", "--to")

    assert isinstance(moment, datetime)
    assert timestamp_ms(moment) == milliseconds
