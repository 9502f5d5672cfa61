from korvet.cli.group_model import (
    Commit,
    Count,
    Group,
    Member,
    TopicNow,
    TopicPartition,
    commits_in_force,
    positions,
)

OLD, NEW = b"a" * 16, b"b" * 16
TOPICS = {"orders": TopicNow(NEW, 2)}
FIRST, SECOND = TopicPartition("orders", 0), TopicPartition("orders", 1)


def member(name: str, **assigned: list[int]) -> Member:
    return Member(
        member_id=name,
        instance_id=None,
        client_id="client",
        client_host="/127.0.0.1",
        assigned=assigned,
    )


def group(*found: Member, commits: dict[TopicPartition, Commit], counts: object) -> Group:
    assert isinstance(counts, dict)
    return Group(
        group_id="billing",
        state="Stable",
        protocol_type="consumer",
        protocol_name="range",
        generation=1,
        coordinator="",
        members=found,
        positions=positions(found, commits, counts),
    )


def test_a_commit_is_in_force_for_the_topic_that_it_was_made_for() -> None:
    commits = {FIRST: Commit(5, NEW), SECOND: Commit(6)}

    assert commits_in_force(commits, TOPICS) == commits


def test_commits_for_what_is_gone_count_as_none() -> None:
    commits = {
        FIRST: Commit(5, OLD),
        TopicPartition("orders", 2): Commit(5, NEW),
        TopicPartition("payments", 0): Commit(5, NEW),
    }

    assert commits_in_force(commits, TOPICS) == {}


def test_partitions_are_those_committed_and_those_assigned_in_order() -> None:
    both = group(
        member("m", orders=[1]),
        commits={FIRST: Commit(1 << 40, NEW)},
        counts={FIRST: Count(3, 0, 1 << 50), SECOND: Count(8, 0, 9)},
    )

    first, second = both.positions
    assert (first.partition, first.lag, first.member_id) == (0, 3, None)
    assert (second.partition, second.lag, second.member_id) == (1, None, "m")
    assert (first.end, second.end) == (1 << 50, 9)


def test_the_lag_is_that_of_all_commits_in_records() -> None:
    counted = {FIRST: Count(3, 0, 1 << 50), SECOND: Count(4, 0, 1 << 50)}

    everything = group(commits={FIRST: Commit(7), SECOND: Commit(8)}, counts=counted)
    nothing = group(member("m", orders=[0, 1]), commits={}, counts=counted)

    assert (everything.lag, everything.partitions) == (7, 2)
    assert (nothing.lag, nothing.partitions) == (None, 0)


def test_a_partition_that_vanished_while_it_was_counted_is_left_out() -> None:
    rest = group(
        member("m", orders=[0, 1]),
        commits={FIRST: Commit(7), SECOND: Commit(8)},
        counts={SECOND: Count(4, 0, 10)},
    )

    assert [each.partition for each in rest.positions] == [1]


def test_an_assignment_that_nobody_can_read_is_no_partitions() -> None:
    stranger = Member(
        member_id="connect-1",
        instance_id=None,
        client_id="connect",
        client_host="/127.0.0.1",
        assigned=None,
    )

    assert stranger.partitions() == []
