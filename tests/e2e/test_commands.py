"""`korvet topics`, `produce` and `consume` as a person, or a script, runs them."""

import json
import signal
import subprocess
import sys
from datetime import UTC, datetime, timedelta

import pytest

from tests.support.shell import Shell
from tests.support.up_process import clean_environ
from tests.support.up_process import korvet as run

pytestmark = pytest.mark.e2e


def test_a_topic_is_created_listed_described_altered_and_deleted(
    shell: Shell, topic: str
) -> None:
    options = ["-p", "2", "-c", "retention.ms=60000"]
    created = shell("topics", "create", topic, *options)
    listed = shell("topics", "list")
    altered = shell(
        "topics",
        "alter",
        topic,
        "-p",
        "3",
        "-c",
        "value.type=JSON",
        "--reset",
        "retention.ms",
    )
    described = shell("topics", "describe", topic)
    deleted = shell("topics", "delete", topic)

    assert created.out.decode() == f"Created {topic} with 2 partitions.\n"
    assert topic in listed.out.decode()
    assert altered.code == 0
    assert f"{topic}: 3 partitions" in described.out.decode()
    assert "value.type" in described.out.decode()
    assert "retention.ms" not in described.out.decode()
    assert deleted.out.decode() == f"Deleted {topic}.\n"
    assert topic not in shell("topics", "list").out.decode()


def test_a_topic_with_defaults_alone_is_described_so(shell: Shell, topic: str) -> None:
    shell("topics", "create", topic)
    before = shell("topics", "describe", topic).out.decode()
    shell("topics", "alter", topic, "--config", "retention.ms=60000")
    after = shell("topics", "describe", topic).out.decode()

    assert "\nAll configs have their defaults" in before
    assert "\nAll other configs have their defaults" in after


def test_the_version_is_told(shell: Shell) -> None:
    ended = shell("--version")

    assert ended.code == 0
    assert ended.out.startswith(b"korvet 0.")


def test_topics_as_json(shell: Shell, topic: str) -> None:
    (created,) = shell.json("topics", "create", topic, "-c", "offset.encoding=dense")
    shell("produce", topic, stdin=b"one\ntwo\n")
    described = shell.json("topics", "describe", topic)

    assert created["configs"]["offset.encoding"] == {"value": "dense", "source": "topic"}
    assert described["logs"][0]["records"] == 2
    assert described["logs"][0]["high_watermark"] == 2


def test_lines_come_back_as_they_were_binary_ones_too(shell: Shell, topic: str) -> None:
    lines = b"one\n\xff\x00\xfe\n\ntab\there\nno newline at the end"

    produced = shell("produce", topic, stdin=lines)
    consumed = shell("consume", topic)

    assert produced.err == f"5 records to {topic}.\n"
    assert consumed.out == lines + b"\n"


def test_keys_and_headers_are_written_and_read(shell: Shell, topic: str) -> None:
    options = ["--key-separator", "\\t", "--header", "source=test", "--header", "n=1"]
    shell("produce", topic, *options, stdin=b"k1\tv1\nk2\tv\t2\n")

    text = shell("consume", topic, "--keys", "--headers")
    record = json.loads(shell("consume", topic, "--json", "--max", "1").out)

    assert text.out == b"source=test,n=1\tk1\tv1\nsource=test,n=1\tk2\tv\t2\n"
    assert record["key"] == "k1"
    assert record["headers"] == [["source", "test"], ["n", "1"]]


def test_reading_starts_where_it_is_told(shell: Shell, topic: str) -> None:
    shell("topics", "create", topic, "-c", "offset.encoding=dense")
    shell("produce", topic, stdin=b"0\n1\n2\n3\n")
    hour = timedelta(hours=1)
    ago, ahead = (
        (datetime.now(UTC) - hour).isoformat(),
        (datetime.now(UTC) + hour).isoformat(),
    )

    assert shell("consume", topic, "--from", "2").out == b"2\n3\n"
    assert shell("consume", topic, "--from", "1", "--max", "2").out == b"1\n2\n"
    assert shell("consume", topic, "--from", "latest").out == b""
    assert shell("consume", topic, "--from", ago).out == b"0\n1\n2\n3\n"
    assert shell("consume", topic, "--from", ahead).out == b""
    assert shell("consume", topic, "--offsets", "--from", "3").out == b"0:3\t3\n"


def test_one_partition_is_written_and_read_by_itself(shell: Shell, topic: str) -> None:
    shell("topics", "create", topic, "-p", "3")
    for partition in ("0", "1", "2"):
        shell("produce", topic, "--partition", partition, stdin=f"{partition}\n".encode())

    assert shell("consume", topic, "--partition", "1").out == b"1\n"
    everything = shell("consume", topic).out.split()
    assert sorted(everything) == [b"0", b"1", b"2"]


def test_following_goes_on_until_it_is_interrupted(shell: Shell, topic: str) -> None:
    shell("produce", topic, stdin=b"before\n")
    with shell.start("consume", topic, "--follow") as follower:
        assert follower.stdout is not None
        assert follower.stdout.readline() == b"before\n"
        shell("produce", topic, stdin=b"after\n")
        assert follower.stdout.readline() == b"after\n"
        follower.send_signal(signal.SIGINT)
        _, err = follower.communicate(timeout=30)

    assert (follower.returncode, err) == (0, b"")


def test_a_pipe_that_closes_early_is_no_error(shell: Shell, topic: str) -> None:
    shell("produce", topic, stdin=b"x" * 1000 + b"\n" + b"y\n" * 100_000)
    consume = f"{sys.executable} -m korvet.cli consume {topic}"

    done = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {consume} | head -n 1"],
        env=clean_environ(shell.environ),
        capture_output=True,
        timeout=60,
        check=False,
    )

    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout == b"x" * 1000 + b"\n"


def test_produce_says_where_the_records_are(shell: Shell, topic: str) -> None:
    shell("topics", "create", topic, "-c", "offset.encoding=dense")

    summary = shell.json("produce", topic, stdin=b"a\nb\nc\n")

    assert summary == {
        "topic": topic,
        "records": 3,
        "partitions": [{"partition": 0, "records": 3, "first_offset": 0, "last_offset": 2}],
    }


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["topics", "create", "bad name"], "Topic name is invalid"),
        (["topics", "create", "x", "-p", "0"], "INVALID_PARTITIONS"),
        (["topics", "create", "x", "-c", "retention.ms=soon"], "retention.ms"),
        (["topics", "create", "x", "-c", "retention.ms"], "not NAME=VALUE"),
        (["topics", "describe", "no-such-topic"], "There is no topic no-such-topic"),
        (["topics", "delete", "no-such-topic"], "There is no topic no-such-topic"),
        (["topics", "alter", "no-such-topic"], "nothing to change"),
        (["consume", "no-such-topic"], "There is no topic no-such-topic"),
        (["consume", "x", "--from", "yesterday"], "--from yesterday is no place in a log"),
        (["produce", "x", "--header", "h"], "not NAME=VALUE"),
        (["produce", "bad name"], "'bad name' cannot be the name of a topic"),
        (["consume", "x", "--bootstrap", "localhost:abc"], "is not HOST:PORT"),
        (["produce", "x", "--bootstrap", "localhost"], "is not HOST:PORT"),
        (["topics", "list", "--storage", "localhost"], "--storage 127.0.0.1:50051"),
        (["groups", "list", "--coordinator", ":50052"], "is not HOST:PORT"),
    ],
)
def test_a_mistake_is_explained_without_a_traceback(
    shell: Shell, arguments: list[str], said: str
) -> None:
    ended = shell(*arguments)

    assert ended.code == 1
    assert said in ended.err
    assert "Traceback" not in ended.err


def test_a_partition_that_is_not_there_is_said(shell: Shell, topic: str) -> None:
    shell("topics", "create", topic)

    consumed = shell("consume", topic, "--partition", "7")
    produced = shell("produce", topic, "--partition", "7", stdin=b"x\n")

    assert f"{topic} has no partition 7" in consumed.err
    assert f"{topic} has no partition 7" in produced.err
    assert (consumed.code, produced.code) == (1, 1)


def test_a_record_that_is_too_large_is_said(shell: Shell, topic: str) -> None:
    shell("topics", "create", topic, "-c", "max.message.bytes=1000")

    ended = shell("produce", topic, stdin=b"x" * 2000 + b"\n")

    assert ended.code == 1
    assert "max.message.bytes" in ended.err
    assert "Traceback" not in ended.err


def test_existing_and_missing_topics_can_be_let_be(shell: Shell, topic: str) -> None:
    shell("topics", "create", topic)

    again = shell("topics", "create", topic)
    let_be = shell("topics", "create", topic, "--if-not-exists")
    gone = shell("topics", "delete", topic, "not-there", "--if-exists")

    assert (again.code, let_be.code, gone.code) == (1, 0, 0)
    assert "--if-not-exists" in again.err


@pytest.mark.parametrize(
    ("arguments", "option"),
    [
        (["topics", "list"], "--storage"),
        (["consume", "x"], "--bootstrap"),
        (["produce", "x"], "--bootstrap"),
    ],
)
def test_without_a_korvet_it_says_how_to_start_one(
    arguments: list[str], option: str
) -> None:
    ended = run(*arguments, option, "127.0.0.1:1")

    assert ended.code == 1
    assert "korvet up" in ended.err
    assert option in ended.err
    assert "Traceback" not in ended.err
    assert "Unclosed" not in ended.err
