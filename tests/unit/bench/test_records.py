from bench.records import Losses, compare, number, values


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
