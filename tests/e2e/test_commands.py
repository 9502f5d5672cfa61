"""`korvet topics`, `produce` and `consume` as a person, or a script, runs them."""

import asyncio
import json
import signal
import subprocess
import sys
from datetime import UTC, datetime, timedelta

import pytest
from aiokafka import TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, RecordsToDelete

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


@pytest.mark.parametrize("follow", [[], ["--follow"]])
@pytest.mark.parametrize("encoding", ["dense", "time"])
def test_an_offset_past_the_end_is_said_with_where_the_log_goes(
    shell: Shell, topic: str, encoding: str, follow: list[str]
) -> None:
    shell("topics", "create", topic, "-c", f"offset.encoding={encoding}")
    (written,) = shell.json("produce", topic, stdin=b"0\n1\n2\n")["partitions"]
    first, last = written["first_offset"], written["last_offset"]

    ended = shell("consume", topic, "--from", str(last + 97), *follow)
    at_the_end = shell("consume", topic, "--from", str(last + 1))

    assert (ended.code, ended.out) == (1, b"")
    assert f"--from {last + 97} is past the end of {topic}" in ended.err
    assert f"Partition 0 goes from {first} to {last + 1}." in ended.err
    assert (at_the_end.code, at_the_end.out, at_the_end.err) == (0, b"", "")


def test_an_offset_that_was_deleted_is_said_with_where_the_log_goes(
    shell: Shell, topic: str
) -> None:
    shell("topics", "create", topic, "-c", "offset.encoding=dense")
    shell("produce", topic, stdin=b"0\n1\n2\n3\n")
    delete_records(shell, topic, before=2)

    ended = shell("consume", topic, "--from", "1")

    assert (ended.code, ended.out) == (1, b"")
    assert f"--from 1 is before the start of {topic}" in ended.err
    assert "Partition 0 goes from 2 to 4." in ended.err
    assert shell("consume", topic, "--from", "2").out == b"2\n3\n"


def test_partitions_that_end_before_the_offset_have_nothing_to_say(
    shell: Shell, topic: str
) -> None:
    shell("topics", "create", topic, "-p", "2", "-c", "offset.encoding=dense")
    shell("produce", topic, "--partition", "0", stdin=b"0\n1\n2\n")
    shell("produce", topic, "--partition", "1", stdin=b"x\n")

    assert shell("consume", topic, "--from", "2").out == b"2\n"


def test_what_is_deleted_while_it_is_followed_is_passed_over(
    shell: Shell, topic: str
) -> None:
    shell("topics", "create", topic, "-c", "offset.encoding=dense")
    shell("produce", topic, stdin=b"0\n")
    with shell.start("consume", topic, "--follow") as follower:
        assert follower.stdout is not None
        assert follower.stdout.readline() == b"0\n"
        follower.send_signal(signal.SIGSTOP)
        # The first of these may answer a fetch that still waits.
        shell("produce", topic, stdin=b"1\n")
        shell("produce", topic, stdin=b"2\n3\n")
        delete_records(shell, topic, before=3)
        follower.send_signal(signal.SIGCONT)
        lines = [follower.stdout.readline()]
        if lines == [b"1\n"]:
            lines.append(follower.stdout.readline())

        assert lines[-1] == b"3\n"
        follower.send_signal(signal.SIGINT)
        _, err = follower.communicate(timeout=30)

    assert (follower.returncode, err) == (0, b"")


def delete_records(shell: Shell, topic: str, *, before: int) -> None:
    async def run() -> None:
        admin = AIOKafkaAdminClient(bootstrap_servers=shell.environ["KORVET_BOOTSTRAP"])
        await admin.start()
        try:
            await admin.delete_records({TopicPartition(topic, 0): RecordsToDelete(before)})
        finally:
            await admin.close()

    asyncio.run(run())


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
        (["consume", "x", "--from", "9223372036854775808"], "9223372036854775807"),
        (["produce", "x", "--header", "h"], "not NAME=VALUE"),
        (["produce", "bad name"], "'bad name' cannot be the name of a topic"),
        (["consume", "x", "--bootstrap", "localhost:abc"], "is not HOST:PORT"),
        (["produce", "x", "--bootstrap", "localhost"], "is not HOST:PORT"),
        (["consume", "x", "--bootstrap", "localhost:99999"], "is not HOST:PORT"),
        (["topics", "list", "--storage", "localhost:0"], "is not HOST:PORT"),
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


def test_partitions_that_are_not_more_are_refused_even_if_they_are_none(
    shell: Shell, topic: str
) -> None:
    shell("topics", "create", topic, "-p", "2")

    for partitions in ("0", "1", "2"):
        ended = shell("topics", "alter", topic, "-p", partitions)

        assert ended.code == 1
        assert f"{partitions} would not be an increase" in ended.err


def test_existing_and_missing_topics_can_be_let_be(shell: Shell, topic: str) -> None:
    shell("topics", "create", topic)

    again = shell("topics", "create", topic)
    let_be = shell("topics", "create", topic, "--if-not-exists")
    gone = shell("topics", "delete", topic, "not-there", "--if-exists")

    assert (again.code, let_be.code, gone.code) == (1, 0, 0)
    assert "--if-not-exists" in again.err


@pytest.mark.parametrize(
    ("arguments", "option", "other", "said"),
    [
        (["topics", "list"], "--storage", "KORVET_COORDINATOR", "is another service than"),
        (["topics", "list"], "--storage", "KORVET_BOOTSTRAP", "does not speak gRPC"),
        (["consume", "x"], "--bootstrap", "KORVET_STORAGE", "does not speak Kafka"),
        (["produce", "x"], "--bootstrap", "KORVET_STORAGE", "does not speak Kafka"),
    ],
)
def test_the_address_of_something_else_is_told_from_none(
    shell: Shell, arguments: list[str], option: str, other: str, said: str
) -> None:
    address = shell.environ[other]
    ended = shell(*arguments, option, address)

    assert ended.code == 1
    assert address in ended.err
    assert said in ended.err
    assert option in ended.err


def test_what_was_done_is_said_beside_what_was_not(shell: Shell, topic: str) -> None:
    first, second = f"{topic}-1", f"{topic}-2"
    shell("topics", "create", first)

    created = shell("topics", "create", first, "a 3", second)
    deleted = shell("topics", "delete", first, "not-there", second)

    assert (created.code, deleted.code) == (1, 1)
    assert created.out.decode() == f"Created {second} with 1 partition.\n"
    assert f"Topic '{first}' already exists" in created.err
    assert "Topic name is invalid: 'a 3'" in created.err
    assert deleted.out.decode() == f"Deleted {first}.\nDeleted {second}.\n"
    assert "There is no topic not-there" in deleted.err


def test_what_was_done_is_said_as_json_too(shell: Shell, topic: str) -> None:
    first, second = f"{topic}-1", f"{topic}-2"

    def outcomes(*arguments: str, code: int = 1) -> list[tuple[str, str]]:
        ended = shell("topics", *arguments, "--json")
        assert ended.code == code
        answer = json.loads(ended.out)
        assert all(("error" in each) == (each["outcome"] == "failed") for each in answer)
        return [(each["name"], each["outcome"]) for each in answer]

    assert outcomes("create", first, "a 3") == [(first, "created"), ("a 3", "failed")]
    assert outcomes("create", first, second, "--if-not-exists", code=0) == [
        (first, "exists"),
        (second, "created"),
    ]
    assert outcomes("delete", first, "not-there") == [
        (first, "deleted"),
        ("not-there", "failed"),
    ]
    assert outcomes("delete", first, second, "--if-exists", code=0) == [
        (first, "missing"),
        (second, "deleted"),
    ]


def test_an_alteration_of_which_a_part_failed_says_which(shell: Shell, topic: str) -> None:
    shell("topics", "create", topic, "-p", "3")

    ended = shell("topics", "alter", topic, "-c", "retention.ms=60000", "-p", "2")
    again = shell("topics", "alter", topic, "-c", "retention.ms=50", "-p", "2", "--json")
    refused = shell("topics", "alter", topic, "-p", "2", "--json")

    assert ended.code == again.code == refused.code == 1
    assert ended.out.decode() == f"Changed {topic}: retention.ms is 60000.\n"
    assert "INVALID_PARTITIONS" in ended.err
    partly, failed = json.loads(again.out), json.loads(refused.out)
    assert partly["outcome"] == "partly changed"
    assert partly["partitions"] == 3
    assert partly["configs"]["retention.ms"]["value"] == "50"
    assert "INVALID_PARTITIONS" in partly["error"]
    assert failed["outcome"] == "failed"


def test_without_a_korvet_nothing_is_said_to_be_done() -> None:
    ended = run("topics", "delete", "a", "b", "--json", "--storage", "127.0.0.1:1")

    assert ended.code == 1
    assert [each["outcome"] for each in json.loads(ended.out)] == ["failed", "not tried"]
    assert "Nothing answers at 127.0.0.1:1" in ended.err


@pytest.mark.parametrize("command", ["describe", "delete"])
def test_a_name_that_no_topic_can_have_is_not_advised(shell: Shell, command: str) -> None:
    ended = shell("topics", command, "bad name")

    assert ended.code == 1
    assert "'bad name'" in ended.err
    assert "create" not in ended.err


def test_a_name_that_no_topic_can_have_is_not_consumed(shell: Shell) -> None:
    ended = shell("consume", "bad name")

    assert "'bad name' cannot be the name of a topic" in ended.err
    assert "create" not in ended.err


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


def test_of_several_topics_those_that_can_be_are_created_and_deleted(
    shell: Shell, topic: str
) -> None:
    first, last = f"{topic}-a", f"{topic}-b"

    created = shell("topics", "create", first, "no/name", last)
    deleted = shell("topics", "delete", first, "not-there", last)

    assert (created.code, deleted.code) == (1, 1)
    assert "no/name" in created.err
    assert created.out.decode().splitlines() == [
        f"Created {first} with 1 partition.",
        f"Created {last} with 1 partition.",
    ]
    assert "There is no topic not-there." in deleted.err
    assert deleted.out.decode().splitlines() == [f"Deleted {first}.", f"Deleted {last}."]
