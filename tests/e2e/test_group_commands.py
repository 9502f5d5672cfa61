"""`korvet groups` as a person, or a script, runs it, beside real consumers."""

import signal
import uuid
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta

import pytest
from confluent_kafka import Consumer, TopicPartition

from tests.support.eventually import eventually_true
from tests.support.korvet_process import KorvetCluster, StartKorvet
from tests.support.shell import Shell
from tests.support.topic_admin import create_topic, delete_topic
from tests.support.up_process import korvet as run

pytestmark = pytest.mark.e2e


@pytest.fixture
def group() -> str:
    """A name that no other test has."""
    return f"group-{uuid.uuid4().hex[:12]}"


@contextmanager
def member(
    korvet: KorvetCluster, group: str, topic: str, *, instance: str = ""
) -> Iterator[Consumer]:
    """A member that has been assigned its partitions, and commits only when told."""
    settings = {
        "bootstrap.servers": korvet.bootstrap,
        "group.id": group,
        "client.id": "till",
        "auto.offset.reset": "earliest",
        "enable.auto.commit": False,
        "session.timeout.ms": 6000,
        **({"group.instance.id": instance} if instance else {}),
    }
    with closing(Consumer(settings)) as consumer:
        consumer.subscribe([topic])
        eventually_true(lambda: _is_assigned(consumer), within=30)
        yield consumer


def _is_assigned(consumer: Consumer) -> bool:
    message = consumer.poll(0.1)
    if message is not None:
        assert not message.error(), message.error()
        # It is the caller's.
        place = (message.topic() or "", message.partition() or 0, message.offset() or 0)
        consumer.seek(TopicPartition(*place))
    return bool(consumer.assignment())


def consume(consumer: Consumer, count: int) -> list[bytes]:
    """Read so many records and commit the position behind them."""
    values: list[bytes] = []
    while len(values) < count:
        (message,) = consumer.consume(1, timeout=30)
        assert not message.error(), message.error()
        values.append(message.value() or b"")
        consumer.commit(message=message, asynchronous=False)
    return values


def test_a_group_is_described_while_it_consumes(
    korvet: KorvetCluster, shell: Shell, log: str, group: str
) -> None:
    shell("produce", log, stdin=b"0\n1\n2\n3\n4\n")
    with member(korvet, group, log) as consumer:
        consume(consumer, 2)

        described = shell.json("groups", "describe", group)
        shown = shell("groups", "describe", group)

    assert (described["state"], described["protocol_type"]) == ("Stable", "consumer")
    assert described["coordinator"] == korvet.coordinator
    (one,) = described["members"]
    assert (one["client_id"], one["assignment"]) == ("till", {log: [0]})
    (partition,) = described["partitions"]
    # In records: with offsets made of time, their difference is something else.
    assert (partition["lag"], described["lag"]) == (3, 3)
    assert partition["member_id"] == one["member_id"]
    assert partition["committed_offset"] < partition["log_end_offset"]
    assert f"{group}: Stable, 1 member, 3 records behind" in shown.out.decode()
    assert one["member_id"] in shown.out.decode()


def test_what_a_group_has_left_to_read_is_listed(
    korvet: KorvetCluster, shell: Shell, log: str, group: str
) -> None:
    shell("produce", log, stdin=b"0\n1\n2\n")
    with member(korvet, group, log) as consumer:
        consume(consumer, 1)

    listed = {each["group"]: each for each in shell.json("groups", "list")}
    shown = shell("groups", "list").out.decode().splitlines()

    assert listed[group] == {
        "group": group,
        "state": "Empty",
        "protocol_type": "consumer",
        "protocol": "",
        "lag": 2,
        "pending": None,
        "members": 0,
        "partitions": 1,
    }
    (line,) = [line.split() for line in shown if group in line]
    assert line == [group, "Empty", "consumer", "0", "1", "2"]


def test_after_a_reset_consumers_go_on_from_there(
    korvet: KorvetCluster, shell: Shell, log: str, group: str
) -> None:
    shell("produce", log, stdin=b"0\n1\n2\n")
    with member(korvet, group, log) as consumer:
        consume(consumer, 3)

    reset = ["groups", "reset-offsets", group, "--topic", log]
    (dry,) = shell.json(*reset, "--to", "earliest", "--dry-run")
    unchanged = shell.json("groups", "describe", group)
    (done,) = shell.json(*reset, "--to", "earliest")
    changed = shell.json("groups", "describe", group)
    with member(korvet, group, log) as consumer:
        again = consume(consumer, 3)

    assert dry == done
    assert done["to"] < done["from"] == unchanged["partitions"][0]["committed_offset"]
    assert (unchanged["lag"], changed["lag"]) == (0, 3)
    assert again == [b"0", b"1", b"2"]


def test_a_reset_goes_where_it_is_told(shell: Shell, topic: str, group: str) -> None:
    shell("topics", "create", topic, "-p", "2", "-c", "offset.encoding=dense")
    for partition in ("0", "1"):
        shell("produce", topic, "--partition", partition, stdin=b"0\n1\n2\n3\n")
    now, hour = datetime.now(UTC), timedelta(hours=1)

    def reset(to: str, *options: str) -> list[tuple[int, int]]:
        command = ["groups", "reset-offsets", group, "--topic", topic, "--to", to]
        moves = shell.json(*command, *options)
        return [(move["partition"], move["to"]) for move in moves]

    # Of a group that was never there, too: it is then there, with offsets and no members.
    assert reset("2") == [(0, 2), (1, 2)]
    assert reset("latest", "--partition", "1") == [(1, 4)]
    assert shell.json("groups", "describe", group)["lag"] == 2
    assert reset((now - hour).isoformat()) == [(0, 0), (1, 0)]
    assert reset((now + hour).isoformat()) == [(0, 4), (1, 4)]
    assert reset(f"{int((now - hour).timestamp() * 1000)}ms") == [(0, 0), (1, 0)]
    assert reset("99") == [(0, 4), (1, 4)]


def test_a_group_that_has_members_is_left_alone(
    korvet: KorvetCluster, shell: Shell, topic: str, group: str
) -> None:
    shell("produce", topic, stdin=b"0\n")
    with member(korvet, group, topic):
        command = ["groups", "reset-offsets", group, "--topic", topic, "--to", "latest"]
        refused = shell(*command)
        deleted = shell("groups", "delete", group)

    assert (refused.code, deleted.code) == (1, 1)
    for ended in (refused, deleted):
        assert f"{group} has members" in ended.err
        assert "Stop its consumers" in ended.err
    assert shell(*command).code == 0


def test_a_group_is_deleted_with_what_it_has_committed(
    korvet: KorvetCluster, shell: Shell, topic: str, group: str
) -> None:
    shell("produce", topic, stdin=b"0\n")
    with member(korvet, group, topic) as consumer:
        consume(consumer, 1)

    deleted = shell("groups", "delete", group)
    again = shell("groups", "delete", group)
    let_be = shell("groups", "delete", group, "--if-exists")

    assert deleted.out.decode() == f"Deleted {group}.\n"
    assert (again.code, let_be.code) == (1, 0)
    assert f"There is no group {group}" in again.err
    assert group not in shell("groups", "list").out.decode()


def test_of_several_groups_those_that_can_be_are_deleted(
    korvet: KorvetCluster, shell: Shell, topic: str, group: str
) -> None:
    shell("topics", "create", topic)
    first, missing, used, last = (f"{group}-{name}" for name in ("a", "b", "c", "d"))
    for name in (first, last):
        shell("groups", "reset-offsets", name, "--topic", topic, "--to", "earliest")
    with member(korvet, used, topic):
        ended = shell("groups", "delete", first, missing, used, last)

    assert ended.code == 1
    assert ended.out.decode().splitlines() == [f"Deleted {first}.", f"Deleted {last}."]
    assert f"There is no group {missing}." in ended.err
    assert f"{used} has members." in ended.err
    listed = {each["group"] for each in shell.json("groups", "list")}
    assert {first, missing, used, last} & listed == {used}


def test_watching_ends_when_nobody_reads_it(shell: Shell, topic: str, group: str) -> None:
    shell("topics", "create", topic)
    shell("groups", "reset-offsets", group, "--topic", topic, "--to", "earliest")
    command = ["groups", "describe", group, "--watch", "--every", "0.1"]

    with shell.start(*command) as watcher:
        assert watcher.stdout is not None
        assert group.encode() in watcher.stdout.readline()
        watcher.stdout.close()
        watcher.stdout = None
        _, err = watcher.communicate(timeout=30)

    assert (watcher.returncode, err) == (0, b"")


def test_commits_of_a_topic_that_is_gone_are_not_shown(
    korvet: KorvetCluster, shell: Shell, topic: str, group: str
) -> None:
    shell("produce", topic, stdin=b"0\n1\n")
    with member(korvet, group, topic) as consumer:
        consume(consumer, 1)

    delete_topic(korvet.bootstrap, topic)
    eventually_true(lambda: shell("topics", "create", topic).code == 0)

    assert shell.json("groups", "list") is not None
    ended = shell("groups", "describe", group)
    assert topic not in ended.out.decode(), ended.err


def test_static_members_are_shown_with_their_instance(
    korvet: KorvetCluster, shell: Shell, topic: str, group: str
) -> None:
    create_topic(korvet.bootstrap, topic, partitions=2)
    with member(korvet, group, topic, instance="till-7"):
        described = shell.json("groups", "describe", group)
        shown = shell("groups", "describe", group).out.decode()

    assert described["members"][0]["group_instance_id"] == "till-7"
    assert described["partitions"][1]["committed_offset"] is None
    assert described["lag"] is None
    assert "till-7" in shown
    assert f"{topic} 0-1" in shown


def test_watching_goes_on_until_it_is_interrupted(
    korvet: KorvetCluster, shell: Shell, topic: str, group: str
) -> None:
    shell("produce", topic, stdin=b"0\n1\n")
    with member(korvet, group, topic) as consumer:
        consume(consumer, 1)
    command = ["groups", "describe", group, "--watch", "--every", "0.2"]

    with shell.start(*command) as watcher:
        assert watcher.stdout is not None
        lines = (line.decode() for line in watcher.stdout)
        next(line for line in lines if "1 record behind" in line)
        shell("produce", topic, stdin=b"2\n")
        next(line for line in lines if "2 records behind" in line)
        watcher.send_signal(signal.SIGINT)
        _, err = watcher.communicate(timeout=30)

    assert (watcher.returncode, err) == (0, b"")


def test_any_coordinator_may_be_asked(
    start_korvet: StartKorvet, topic: str, group: str
) -> None:
    korvet = start_korvet(coordinators=2)
    first, second = (coordinator.address for coordinator in korvet.coordinators)
    shell = Shell(korvet)
    shell("produce", topic, stdin=b"0\n1\n")

    reset = ["groups", "reset-offsets", group, "--topic", topic]
    shell.json(*reset, "--to", "earliest", "--coordinator", first)
    followed = shell(*reset, "--to", "latest", "--coordinator", second)
    described = shell.json("groups", "describe", group, "--coordinator", second)
    korvet.coordinators[0].kill()
    taken_over = shell(*reset, "--to", "earliest", "--coordinator", second)
    moved = shell.json("groups", "describe", group, "--coordinator", second)

    assert followed.code == 0, followed.err
    assert (described["coordinator"], described["lag"]) == (first, 0)
    assert taken_over.code == 0, taken_over.err
    assert (moved["coordinator"], moved["lag"]) == (second, 2)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["describe", "no-such-group"], "There is no group no-such-group"),
        (["describe", "x", "--watch", "--json"], "leave one of the two out"),
        (["delete", "no-such-group"], "There is no group no-such-group"),
        (["delete", ""], "An empty name is no group's"),
        (["reset-offsets", "x", "--topic", "t", "--to", "soon"], "no place in a log"),
        (["reset-offsets", "x", "--topic", "t", "--to", "9" * 23], "The largest offset is"),
        (["reset-offsets", "", "--topic", "t", "--to", "0"], "An empty name is no group's"),
        (["describe", "caf\udce9"], r"caf\xe9 is not UTF-8"),
        (["reset-offsets", "x", "--topic", "no-topic", "--to", "0"], "no topic no-topic"),
    ],
)
def test_a_mistake_is_explained_without_a_traceback(
    shell: Shell, arguments: list[str], said: str
) -> None:
    ended = shell("groups", *arguments)

    assert ended.code == 1
    assert said in ended.err
    assert "Traceback" not in ended.err


def test_a_partition_that_is_not_there_is_said(shell: Shell, topic: str) -> None:
    shell("topics", "create", topic)

    options = ["--topic", topic, "--to", "0", "--partition", "7"]
    ended = shell("groups", "reset-offsets", "x", *options)

    assert ended.code == 1
    assert f"{topic} has no partition 7" in ended.err


@pytest.mark.parametrize(
    "arguments",
    [
        ["list"],
        ["describe", "x"],
        ["reset-offsets", "x", "--topic", "t", "--to", "0"],
        ["delete", "x"],
    ],
)
def test_without_a_coordinator_it_says_how_to_start_one(arguments: list[str]) -> None:
    nobody = ["--coordinator", "127.0.0.1:1", "--storage", "127.0.0.1:1"]
    ended = run("groups", *arguments, *nobody)

    assert ended.code == 1
    assert "korvet up" in ended.err
    assert "--coordinator" in ended.err
    assert "Traceback" not in ended.err


def test_without_storage_it_says_so(shell: Shell, korvet: KorvetCluster) -> None:
    nobody = ["--storage", "127.0.0.1:1"]
    options = ["--topic", "t", "--to", "0", *nobody]
    ended = shell("groups", "reset-offsets", "x", *options)

    assert ended.code == 1
    assert "Nothing answers at 127.0.0.1:1" in ended.err
    assert "--storage" in ended.err
