from bench.points import AXES, BASE, PAIRS, SHAPES, Point
from bench.speed import SYSTEMS, Plan, measured_at
from bench.summary import BATCH, KAFKA, RECORD, XADD
from bench.systems import turned


def plan() -> Plan:
    return Plan(
        systems=SYSTEMS,
        rounds=3,
        axis_rounds=1,
        records=1_000_000,
        warm_up_records=1,
        paced_seconds=1.0,
        java=False,
    )


def test_only_the_first_rounds_go_along_the_axes() -> None:
    assert set(AXES) <= set(plan().points(0))
    assert plan().points(1) == (*PAIRS, *SHAPES)


def test_larger_records_are_fewer() -> None:
    assert plan().count(BASE) == 1_000_000
    assert plan().count(Point(size=10_240)) * 10_240 <= 250_000_000


def test_plain_redis_is_measured_where_the_record_differs_and_not_how_it_is_sent() -> None:
    assert XADD in measured_at(Point(size=1024), SYSTEMS)
    assert measured_at(Point(acks="all"), SYSTEMS) == (KAFKA, BATCH, RECORD)


def test_keys_and_headers_are_measured_where_they_are_fields_of_an_entry() -> None:
    for point in SHAPES:
        assert measured_at(point, SYSTEMS) == (XADD, RECORD)


def test_each_round_begins_with_another_system() -> None:
    firsts = [turned(SYSTEMS, number)[0] for number in range(4)]

    assert set(firsts) == set(SYSTEMS)
