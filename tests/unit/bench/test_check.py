from typing import Any

import pytest

from bench.check import compare


def result(**medians: float) -> dict[str, Any]:
    """Ratios, by the names of their cells."""
    return {
        "figures": {
            f"{cell}/korvet-batch/rate/of/kafka": {"median": median}
            for cell, median in medians.items()
        }
    }


def test_a_fall_of_more_than_a_quarter_is_found() -> None:
    fallen, steady = compare(
        result(produce=0.8, consume=1.0), result(produce=0.59, consume=1.0)
    )

    assert fallen.path.startswith("produce/")
    assert fallen.has_fallen
    assert not steady.has_fallen


def test_a_fall_of_less_is_chance() -> None:
    (one,) = compare(result(produce=0.8), result(produce=0.61))

    assert not one.has_fallen


def test_a_rise_is_no_fall() -> None:
    (one,) = compare(result(produce=0.8), result(produce=2.0))

    assert not one.has_fallen


def test_the_deepest_fall_comes_first() -> None:
    found = compare(result(a=1.0, b=1.0, c=1.0), result(a=0.7, b=0.1, c=1.1))

    assert [one.path[0] for one in found] == ["b", "a", "c"]


def test_what_only_one_result_has_is_not_compared() -> None:
    found = compare(result(produce=1.0, gone=1.0), result(produce=1.0, new=0.1))

    assert len(found) == 1


def test_rates_are_not_compared_since_machines_differ() -> None:
    slow: dict[str, Any] = {"produce/kafka/rate": {"median": 1.0}}
    fast: dict[str, Any] = {"produce/kafka/rate": {"median": 9.0}}

    found = compare(
        {"figures": {**result(produce=1.0)["figures"], **fast}},
        {"figures": {**result(produce=1.0)["figures"], **slow}},
    )

    assert [one.has_fallen for one in found] == [False]


def test_batches_are_not_compared_with_entries() -> None:
    kept = result(produce=1.0)["figures"]
    slower = {"produce/korvet-batch/rate/of/xadd": {"median": 0.1}}
    record = {"produce/korvet-record/rate/of/xadd": {"median": 0.4}}

    found = compare(
        {"figures": {**kept, **slower, **record}}, {"figures": {**slower, **record}}
    )

    assert [one.path for one in found] == ["produce/korvet-record/rate/of/xadd"]


def test_results_without_a_common_ratio_are_no_success() -> None:
    with pytest.raises(ValueError, match="in common"):
        compare(result(produce=1.0), result(consume=1.0))
