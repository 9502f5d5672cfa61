from bench.summary import (
    BATCH,
    KAFKA,
    PRODUCE,
    RECORD,
    XADD,
    Sample,
    Target,
    figures,
    judge,
)


def rates(system: str, *values: float) -> list[Sample]:
    return [
        Sample(number, PRODUCE, system, {"rate": value})
        for number, value in enumerate(values)
    ]


def test_a_figure_is_the_median_of_the_rounds_with_its_spread() -> None:
    found = figures(rates(KAFKA, 30.0, 10.0, 20.0))

    assert found["produce/kafka/rate"] == (20.0, 10.0, 30.0)


def test_a_ratio_is_taken_inside_each_round() -> None:
    samples = rates(KAFKA, 100.0, 10.0, 1000.0) + rates(BATCH, 50.0, 6.0, 400.0)

    found = figures(samples)

    assert found["produce/korvet-batch/rate/of/kafka"] == (0.5, 0.4, 0.6)


def test_a_time_until_a_group_consumes_is_compared_as_a_rate_is() -> None:
    samples = [
        Sample(0, "join-2", KAFKA, {"again_s": 0.5}),
        Sample(0, "join-2", BATCH, {"again_s": 0.4}),
    ]

    assert figures(samples)["join-2/korvet-batch/again_s/of/kafka"].median == 0.8


def test_consuming_is_also_a_share_of_what_plain_redis_adds() -> None:
    consumed = Sample(0, "consume", RECORD, {"rate": 80.0})

    found = figures([*rates(XADD, 100.0), consumed])

    assert found["consume/korvet-record/rate/of/xadd"].median == 0.8


def test_nested_results_are_found_by_their_path() -> None:
    sample = Sample(0, PRODUCE, KAFKA, {"cpu_us": {"broker": 0.5}})

    assert figures([sample])["produce/kafka/cpu_us/broker"].median == 0.5


def test_a_target_that_was_not_measured_is_not_met() -> None:
    target = Target(label="fast", path="produce/kafka/rate", at_least=1.0)

    verdict = judge([target], [], {})[0]

    assert verdict.value is None
    assert not verdict.met


def test_a_bound_holds_on_its_own_side() -> None:
    samples = rates(KAFKA, 5.0)
    targets = [
        Target(label="enough", path="produce/kafka/rate", at_least=5.0),
        Target(label="too much", path="produce/kafka/rate", at_most=4.0),
    ]

    enough, too_much, *_ = judge(targets, samples, figures(samples))

    assert enough.met
    assert not too_much.met


def test_one_lost_record_in_one_run_fails() -> None:
    good = Sample(0, "consume", BATCH, {"losses": {"lost": 0}})
    bad = Sample(1, "consume", BATCH, {"losses": {"lost": 1}})

    verdicts = {verdict.path: verdict for verdict in judge([], [good, bad], {})}

    assert not verdicts["*/lost"].met
    assert verdicts["*/duplicated"].met


def test_a_run_is_judged_by_the_faults_that_it_counts() -> None:
    sample = Sample(0, "idle-members", BATCH, {"joins": 1})

    verdicts = judge([], [sample], {}, {"joins": "joins of members that were idle"})

    assert [(verdict.label, verdict.met) for verdict in verdicts] == [
        ("joins of members that were idle, in all runs", False)
    ]


def test_failures_of_any_kind_are_summed() -> None:
    sample = Sample(0, PRODUCE, BATCH, {"failures": {"_MSG_TIMED_OUT": 2, "_STATE": 1}})

    verdicts = {verdict.path: verdict for verdict in judge([], [sample], {})}

    assert verdicts["*/failures"].value == 3
