"""A place in a log as a person writes it: an end of it, an offset, or a time."""

from datetime import UTC, datetime, timedelta
from typing import Final, Literal, TypeAlias

from korvet.cli.failure import Failure

Place: TypeAlias = Literal["earliest", "latest"] | int | datetime

# For `--help`: every option that takes a place explains it alike.
PLACE_HELP: Final = (
    "earliest, latest, an offset (42), or a time (2026-01-31, 2026-01-31T12:00,"
    " 1769860800000ms)."
)

# What the protocol has room for.
_LARGEST_OFFSET: Final = 2**63 - 1
_EPOCH: Final = datetime.fromtimestamp(0, UTC)


def parse_place(text: str, option: str) -> Place:
    """A bare number is an offset, one with "ms" a time; a time without a zone is local."""
    if text == "earliest":
        return "earliest"
    if text == "latest":
        return "latest"
    if _is_number(text):
        # Not of any number of digits, which Python would refuse with words of its own.
        if len(text) > len(str(_LARGEST_OFFSET)) or int(text) > _LARGEST_OFFSET:
            raise Failure(
                f"{option} {text} is no place in a log.",
                f"The largest offset is {_LARGEST_OFFSET}.",
            )
        return int(text)
    try:
        if _is_number(milliseconds := text.removesuffix("ms")):
            return _EPOCH + timedelta(milliseconds=int(milliseconds))
        return datetime.fromisoformat(text).astimezone()
    except (ValueError, OverflowError):
        raise Failure(
            f"{option} {text} is no place in a log.", f"Give {PLACE_HELP}"
        ) from None


def timestamp_ms(moment: datetime) -> int:
    return (moment - _EPOCH) // timedelta(milliseconds=1)


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal()
