"""What entries.lua makes of the arguments that it is passed, without a Redis."""

from collections.abc import Iterator, Sequence

from korvet.storage.offsets import DENSE
from korvet.storage.record_arguments import Word
from korvet.storage.record_format import Entry


def entries_of(arguments: Sequence[Word], first: int = 0) -> list[Entry]:
    """The stream's entries, on a dense topic from this offset on."""
    records = _alike(arguments) if arguments[0] == "alike" else _any(arguments)
    return [
        (
            DENSE.entry_id(offset).encode(),
            [word if isinstance(word, bytes) else str(word).encode() for word in words],
        )
        for offset, words in enumerate(records, first)
    ]


def _alike(arguments: Sequence[Word]) -> Iterator[list[Word]]:
    fields, timed = int(arguments[1]), int(arguments[2])
    names = arguments[3 : 3 + fields]
    position = 4 + fields
    times: list[Word] = []
    for _ in range(int(arguments[3 + fields])):
        time, count = arguments[position : position + 2]
        times += [time] * int(count)
        position += 2
    while position < len(arguments):
        words: list[Word] = []
        for place, name in enumerate(names, 1):
            if place == timed:
                words += (name, times.pop(0))
            else:
                words += (name, arguments[position])
                position += 1
        yield words


def _any(arguments: Sequence[Word]) -> Iterator[list[Word]]:
    position = 1
    while position < len(arguments):
        end = position + 1 + int(arguments[position])
        yield list(arguments[position + 1 : end])
        position = end
