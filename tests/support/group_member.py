"""A program that is one member of a consumer group, for `group_members` to start and kill.

It reads, tells what it has read, and then commits that: so what is committed has been told
of, however the process ends. Its argument is the `MemberOptions` as JSON. What happens goes
to standard output, a JSON object a line; the words `stall`, `proceed` and `leave` come in.
"""

import importlib
import json
import sys
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Final, Literal, NamedTuple, Protocol, TypeAlias

Place: TypeAlias = tuple[str, int]
Kind: TypeAlias = Literal["assigned", "revoked", "read", "committed", "told"]

_MODULES: Final = {
    "aiokafka": "tests.support.member_aiokafka",
    "confluent": "tests.support.member_confluent",
    "kafka-python": "tests.support.member_kafka_python",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberOptions:
    library: str
    bootstrap: str
    group: str
    topics: list[str]
    assignor: str = "range"
    # For static membership.
    instance: str = ""
    session_timeout: float = 6.0
    heartbeat_interval: float = 0.3
    max_poll_interval: float = 60.0

    def to_json(self) -> str:
        return json.dumps(asdict(self))


class Taken(NamedTuple):
    """A record as a member got it."""

    topic: str
    partition: int
    offset: int
    value: str


class Report:
    """What happens, as lines of standard output."""

    def __init__(self) -> None:
        self._lock = threading.Lock()

    def assigned(self, places: Iterable[Place]) -> None:
        self._write("assigned", list(places))

    def revoked(self, places: Iterable[Place]) -> None:
        self._write("revoked", list(places))

    def read(self, records: Iterable[Taken]) -> None:
        self._write("read", list(records))

    def committed(self, positions: dict[Place, int]) -> None:
        self._write("committed", [(*place, at) for place, at in positions.items()])

    def told(self, what: object) -> None:
        """An error that the library hands to its user."""
        self._write("told", [str(what)])

    def _write(self, kind: Kind, items: Sequence[object]) -> None:
        with self._lock:
            line = json.dumps({"kind": kind, "at": time.monotonic(), "items": items})
            sys.stdout.write(line + "\n")
            sys.stdout.flush()


class GroupConsumer(Protocol):
    """A library's consumer, subscribed. It reports assignments and commits by itself."""

    def step(self) -> None:
        """Wait a moment for records; report them, then commit them."""

    def close(self) -> None:
        """Leave the group."""


Start: TypeAlias = Callable[[MemberOptions, Report], GroupConsumer]


class Orders:
    """What the test wants, as it comes in; its going away means to end."""

    def __init__(self) -> None:
        self.may_step = threading.Event()
        self.may_step.set()
        self.is_over = threading.Event()
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        for line in sys.stdin:
            match line.strip():
                case "stall":
                    self.may_step.clear()
                case "proceed":
                    self.may_step.set()
                case "leave":
                    break
        self.is_over.set()
        self.may_step.set()


def positions_after(records: Iterable[Taken]) -> dict[Place, int]:
    """What to commit once these have been dealt with."""
    return {(taken.topic, taken.partition): taken.offset + 1 for taken in records}


def main() -> None:
    options = MemberOptions(**json.loads(sys.argv[1]))
    start: Start = importlib.import_module(_MODULES[options.library]).start
    orders = Orders()
    consumer = start(options, Report())
    while not orders.is_over.is_set():
        orders.may_step.wait()
        consumer.step()
    consumer.close()


if __name__ == "__main__":
    main()
