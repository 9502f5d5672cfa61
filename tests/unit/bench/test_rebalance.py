from bench.rebalance import GroupWatch


def two_members(at: float = 1.0) -> GroupWatch:
    """Both assigned at the same time, with a partition each, and nothing read."""
    watch = GroupWatch(2)
    watch.assigned(0, [0], at)
    watch.assigned(1, [1], at)
    return watch


def test_a_group_consumes_since_its_last_partition_was_read() -> None:
    watch = two_members()

    watch.read(0, 0, 1.5)
    watch.read(1, 1, 1.2)

    assert watch.consuming([0, 1], since=0.0) == 1.5


def test_a_partition_that_nobody_reads_holds_the_group_up() -> None:
    watch = two_members()

    watch.read(0, 0, 1.5)

    assert watch.consuming([0, 1], since=0.0) is None


def test_reading_from_before_the_rebalance_does_not_count() -> None:
    watch = two_members()
    watch.read(0, 0, 1.5)
    watch.read(1, 1, 1.5)

    before = watch.consuming([0, 1], since=2.0)
    watch.assigned(0, [0], 3.0)
    watch.assigned(1, [1], 3.0)
    assigned = watch.consuming([0, 1], since=2.0)
    watch.read(0, 0, 3.5)
    watch.read(1, 1, 3.6)

    assert before is None
    assert assigned is None
    assert watch.consuming([0, 1], since=2.0) == 3.6


def test_the_dead_own_nothing() -> None:
    watch = two_members()
    watch.assigned(0, [0], 3.0)
    watch.read(0, 0, 3.1)
    watch.read(1, 1, 3.1)

    with_a_partition_of_the_dead = watch.consuming([0], since=2.0)
    watch.assigned(0, [0, 1], 4.0)
    watch.read(0, 0, 4.1)
    watch.read(0, 1, 4.2)

    assert with_a_partition_of_the_dead is None
    assert watch.consuming([0], since=2.0) == 4.2


def test_what_a_former_owner_still_reads_does_not_count() -> None:
    watch = two_members()
    watch.assigned(0, [1], 2.0)

    watch.read(1, 1, 2.1)
    watch.read(0, 0, 2.1)

    assert watch.consuming([0, 1], since=0.0) is None
