"""Members of a consumer group in Java, and Kafka's own `kafka-consumer-groups`.

A member is a process of its own (tests/e2e/java/GroupMember.java), so that it can be killed
like one. What it says is kept in order from its start, and `wait_for` looks at all of it.
"""

import subprocess
import threading
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple, Self

from tests.support.eventually import eventually_true
from tests.support.java_client import JavaPrograms

_TOOL: Final = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"
# A JVM on a busy machine starts slowly.
_PATIENCE: Final = 60.0


class Event(NamedTuple):
    """What the listener, the poll or a commit told: "assigned", "record", "committed" …"""

    kind: str
    words: tuple[str, ...]


class JavaMember:
    """One KafkaConsumer, which polls until it is closed or killed."""

    def __init__(
        self,
        programs: JavaPrograms,
        bootstrap: str,
        group: str,
        topic: str,
        configs: Mapping[str, str] | None = None,
    ) -> None:
        settings = [f"{name}={value}" for name, value in (configs or {}).items()]
        self._process = subprocess.Popen(
            programs.command("GroupMember", bootstrap, group, topic, *settings),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            encoding="utf-8",
        )
        self._events: list[Event] = []
        self._listener = threading.Thread(target=self._listen)
        self._listener.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    @property
    def events(self) -> list[Event]:
        return list(self._events)

    @property
    def generation(self) -> int:
        """That of the last assignment; 0 before the first."""
        told = self.told("assigned")
        return int(told[-1].words[0]) if told else 0

    @property
    def assignment(self) -> set[int]:
        """The partitions of the topic that it has now."""
        found: set[int] = set()
        for kind, words in self.events:
            if kind == "assigned":
                found |= set(map(int, words[1:]))
            elif kind in ("revoked", "lost"):
                found -= set(map(int, words[1:]))
        return found

    @property
    def values(self) -> list[str]:
        """Of the records it has read, in order."""
        return [words[2] for _, words in self.told("record")]

    def told(self, kind: str) -> list[Event]:
        return [event for event in self.events if event.kind == kind]

    def wait_for(self, is_true: Callable[["JavaMember"], bool]) -> None:
        try:
            eventually_true(lambda: is_true(self), _PATIENCE)
        except TimeoutError:
            raise AssertionError(f"it told only {self.events}") from None

    def commit(self, how: str = "commit") -> dict[int, int]:
        """Commit its positions; return them as they were committed."""
        before = len(self.told("committed"))
        self._command(how)
        self.wait_for(lambda member: len(member.told("committed")) > before)
        words = self.told("committed")[-1].words
        return {
            int(partition): int(offset)
            for partition, offset in zip(words[::2], words[1::2], strict=True)
        }

    def close(self) -> None:
        """As a program that ends well does."""
        self._command("close")
        code = self._process.wait(_PATIENCE)
        self._listener.join(_PATIENCE)
        assert code == 0, self.events
        assert self.events[-1].kind == "closed"

    def kill(self) -> None:
        """As kill -9; nothing if it has ended."""
        self._process.kill()
        self._process.wait(_PATIENCE)
        self._listener.join(_PATIENCE)
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()

    def _command(self, line: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{line}\n")
        self._process.stdin.flush()

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            kind, *words = line.rstrip("\n").split("\t")
            self._events.append(Event(kind, tuple(words)))


class ToolRun(NamedTuple):
    code: int
    text: str

    def rows(self) -> list[dict[str, str]]:
        """Its table, by the names of the columns."""
        lines = [line.split() for line in self.text.splitlines()]
        header = next((line for line in lines if line[:1] == ["GROUP"]), [])
        rows = lines[lines.index(header) + 1 :] if header else []
        return [
            dict(zip(header, row, strict=False)) for row in rows if len(row) >= len(header)
        ]


class ConsumerGroupsTool:
    """`kafka-consumer-groups`, each call a process."""

    def __init__(self, programs: JavaPrograms, bootstrap: str) -> None:
        self._programs = programs
        self._bootstrap = bootstrap

    def run(self, *arguments: str) -> ToolRun:
        done = subprocess.run(
            self._programs.command(
                _TOOL, "--bootstrap-server", self._bootstrap, *arguments
            ),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            encoding="utf-8",
            timeout=_PATIENCE,
            check=False,
        )
        return ToolRun(done.returncode, done.stdout)
