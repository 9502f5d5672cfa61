"""The Java client, where there is a JDK and Maven: run as programs of our own.

They take part in tests as lines in and lines out; tests/e2e/java/*.java say which.
"""

import base64
import fcntl
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, Literal, NamedTuple, TypeAlias

from tests.support.client_contract import Codec, NewRecord, ReadRecord
from tests.support.history import Partition

_ROOT: Final = Path(__file__).resolve().parents[2]
_SOURCES: Final = _ROOT / "tests/e2e/java"
_JARS: Final = _ROOT / ".jars/java-client"
_COPIER: Final = "org.apache.kafka.tools.TransactionalMessageCopier"
_TRANSACTIONS: Final = "org.apache.kafka.tools.TransactionsCommand"
_TOOLS: Final = ("java", "javac", "mvn")
_DOWNLOAD_DEADLINE: Final = 300
_RUN_DEADLINE: Final = 60


JavaEnd: TypeAlias = Literal["commit", "abort", "fence"]


class JavaMissingError(Exception):
    """Why the Java client cannot be run on this machine."""


class Write(NamedTuple):
    topic: str
    codec: Codec
    record: NewRecord


class JavaTransaction(NamedTuple):
    end: JavaEnd
    writes: Sequence[tuple[Partition, bytes]]
    # Who commits an offset with it.
    group: str = ""
    group_topic: str = ""
    group_offset: int = 0


class JavaTransacted(NamedTuple):
    """How it ended: "committed", "aborted", or the name of an exception."""

    outcome: str
    offsets: list[int]


class JavaPrograms:
    """Our programs, compiled into a folder, and what is in the jars beside them."""

    def __init__(self, folder: Path) -> None:
        self._class_path = f"{_jars()}/*:{folder}"
        command = ["javac", "-Werror", "-Xlint:all", "-cp", self._class_path]
        _run([*command, "-d", str(folder), *map(str, sorted(_SOURCES.glob("*.java")))])

    def command(self, name: str, *arguments: str) -> list[str]:
        """What runs a class."""
        java = ["java", "-XX:TieredStopAtLevel=1", "-cp", self._class_path]
        return [*java, name, *arguments]


class JavaClient:
    """Each call is a process."""

    def __init__(self, programs: JavaPrograms) -> None:
        self._programs = programs

    def write(self, bootstrap: str, writes: Sequence[Write]) -> list[int]:
        """Produce in this order; return the offsets."""
        lines = []
        for topic, codec, record in writes:
            words = [topic, codec, str(record.timestamp_ms)]
            words += [_word(record.key), _word(record.value)]
            for name, value in record.headers:
                words += [_word(name.encode()), _word(value)]
            lines.append(words)
        return [int(offset) for (offset,) in self._call("write", bootstrap, lines)]

    def read(self, bootstrap: str, counts: Mapping[str, int]) -> list[ReadRecord]:
        """So many records of each topic, from its beginning."""
        lines = [[topic, str(count)] for topic, count in counts.items()]
        return [
            ReadRecord(
                partition=0,
                offset=int(words[0]),
                timestamp_ms=int(words[1]),
                is_append_time=words[2] == "LogAppendTime",
                key=_bytes(words[3]),
                value=_bytes(words[4]),
                headers=tuple(
                    ((_bytes(name) or b"").decode(), _bytes(value))
                    for name, value in zip(words[5::2], words[6::2], strict=True)
                ),
            )
            for words in self._call("read", bootstrap, lines)
        ]

    def administer(self, bootstrap: str, topic: str) -> dict[str, str]:
        """Let a topic live and die; return what was found on the way."""
        found = self._call("administer", bootstrap, [[topic]])
        return {words[0]: words[1] for words in found}

    def transact(
        self, bootstrap: str, transactional_id: str, transactions: Sequence[JavaTransaction]
    ) -> list[JavaTransacted]:
        """One transaction after the other, by one producer."""
        lines = []
        for each in transactions:
            words = [each.end, each.group or "-", each.group_topic, str(each.group_offset)]
            for (topic, partition), value in each.writes:
                words += [topic, str(partition), value.decode()]
            lines.append("\t".join(words) + "\n")
        command = self._programs.command("Transactions", bootstrap, transactional_id)
        answers = _run(command, "".join(lines)).splitlines()
        return [
            JavaTransacted(outcome, [int(offset) for offset in offsets])
            for outcome, *offsets in (answer.split("\t") for answer in answers)
        ]

    def copier(self, bootstrap: str, *arguments: str) -> list[str]:
        """What runs Kafka's TransactionalMessageCopier."""
        return self._programs.command(_COPIER, "--broker-list", bootstrap, *arguments)

    def tell_transactions(self, bootstrap: str, *arguments: str) -> list[dict[str, str]]:
        """The rows of the table that Kafka's kafka-transactions.sh prints."""
        command = self._programs.command(_TRANSACTIONS, "--bootstrap-server", bootstrap)
        head, *rows = (
            [word.strip() for word in line.removesuffix("\t").split("\t")]
            for line in _run([*command, *arguments]).splitlines()
        )
        return [dict(zip(head, row, strict=True)) for row in rows]

    def _call(
        self, what: str, bootstrap: str, lines: Sequence[Sequence[str]]
    ) -> list[list[str]]:
        text = "".join("\t".join(words) + "\n" for words in lines)
        answer = _run(self._programs.command("JavaClient", what, bootstrap), text)
        return [line.split("\t") for line in answer.splitlines()]


def _jars() -> Path:
    """The folder with the client's jars; Maven fills it the first time."""
    for tool in _TOOLS:
        if shutil.which(tool) is None:
            raise JavaMissingError(f"there is no {tool} on this machine")
    _JARS.parent.mkdir(exist_ok=True)
    # Tests run in several processes, and the first of them downloads for all.
    with _JARS.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        _download_once()
    return _JARS


def _download_once() -> None:
    pom = _SOURCES / "pom.xml"
    done = _JARS / "pom.xml"
    if done.exists() and done.read_bytes() == pom.read_bytes():
        return
    shutil.rmtree(_JARS, ignore_errors=True)
    _JARS.mkdir()
    copy = ["dependency:copy-dependencies", f"-DoutputDirectory={_JARS}"]
    command = ["mvn", "-q", "-B", "-f", str(pom), *copy]
    try:
        subprocess.run(command, check=True, capture_output=True, timeout=_DOWNLOAD_DEADLINE)
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
        raise JavaMissingError(f"Maven cannot get the Java client: {error}") from error
    # Written last: half a download is not taken for the whole.
    shutil.copy(pom, done)


def _run(command: Sequence[str], text: str = "") -> str:
    done = subprocess.run(
        command,
        input=text,
        capture_output=True,
        encoding="utf-8",
        timeout=_RUN_DEADLINE,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def _word(value: bytes | None) -> str:
    return "-" if value is None else base64.b64encode(value).decode()


def _bytes(word: str) -> bytes | None:
    return None if word == "-" else base64.b64decode(word)
