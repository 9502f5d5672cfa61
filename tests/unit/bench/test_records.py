import pytest

from bench.records import Deal, Losses, compare, number, values


def test_the_values_of_a_run_are_the_same_wherever_they_are_made() -> None:
    assert values(50, 100) == values(50, 100)


def test_values_differ_and_have_the_size_that_was_asked_for() -> None:
    made = values(1000, 100)

    assert len(set(made)) == 1000
    assert {len(value) for value in made} == {100}


def test_a_value_knows_its_place() -> None:
    assert [number(value) for value in values(3, 20)] == [0, 1, 2]


def test_what_comes_back_unchanged_has_no_losses() -> None:
    sent = values(10, 20)

    assert compare(sent, list(sent)) == Losses(0, 0, 0, 0)


def test_a_missing_value_is_lost() -> None:
    sent = values(3, 20)

    assert compare(sent, [sent[0], sent[2]]) == Losses(1, 0, 0, 0)


def test_a_repeated_value_is_doubled() -> None:
    sent = values(2, 20)

    assert compare(sent, [sent[0], sent[1], sent[1]]) == Losses(0, 1, 0, 0)


def test_a_changed_value_is_lost_and_foreign() -> None:
    sent = values(2, 20)

    assert compare(sent, [sent[0], sent[1][:-1] + b"?"]) == Losses(1, 0, 1, 0)


def test_swapped_values_are_out_of_order() -> None:
    sent = values(3, 20)

    assert compare(sent, [sent[1], sent[0], sent[2]]) == Losses(0, 0, 0, 1)


def test_soft_values_differ_too_and_half_of_each_is_like_the_others() -> None:
    made = values(1000, 100, soft=True)

    assert len(set(made)) == 1000
    assert {(len(value), value[50:]) for value in made} == {(100, b"." * 50)}
    assert [number(value) for value in made[:3]] == [0, 1, 2]


def test_chunks_go_round_the_producers_and_their_records_round_the_partitions() -> None:
    deal = Deal(chunk=4, producers=2, partitions=2)

    parts = [(part.producer, part.partition, part.numbers) for part in deal.parts(7)]

    assert parts == [
        (0, 0, slice(0, 4, 2)),
        (0, 1, slice(1, 4, 2)),
        (1, 0, slice(4, 7, 2)),
        (1, 1, slice(5, 7, 2)),
    ]


def test_records_may_go_to_a_partition_several_in_a_row() -> None:
    deal = Deal(chunk=4, partitions=3, turn=2)

    parts = [(part.partition, part.numbers) for part in deal.parts(7)]

    assert parts == [
        (0, slice(0, 2)),
        (1, slice(2, 4)),
        (2, slice(4, 6)),
        (0, slice(6, 7)),
    ]


@pytest.mark.parametrize(
    "deal",
    [
        Deal(),
        Deal(chunk=5, producers=3, partitions=4),
        Deal(chunk=3, producers=2, partitions=7),
        Deal(chunk=6, producers=2, partitions=5, turn=3),
    ],
)
def test_every_record_is_in_one_part_which_has_its_lane(deal: Deal) -> None:
    numbers = range(40)

    parts = [(part, numbers[part.numbers]) for part in deal.parts(40)]

    assert sorted(number for _, some in parts for number in some) == list(numbers)
    for part, some in parts:
        assert {deal.lane(number) for number in some} == {(part.producer, part.partition)}


def test_only_records_of_one_lane_must_keep_their_order() -> None:
    sent = values(4, 20)
    deal = Deal(partitions=2)

    by_partition = compare(sent, [sent[1], sent[3], sent[0], sent[2]], deal)
    swapped = compare(sent, [sent[1], sent[3], sent[2], sent[0]], deal)

    assert by_partition == Losses(0, 0, 0, 0)
    assert swapped == Losses(0, 0, 0, 1)
