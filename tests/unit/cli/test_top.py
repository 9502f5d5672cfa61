import io
from collections.abc import Mapping, Sequence

import pytest
from rich.console import Console

from korvet.cli.exposition import Sample
from korvet.cli.top_model import Api, Lag, Look, Process, Topic, View, quantile, view
from korvet.cli.top_views import duration, rate, rendered

_COUNT = "rpc_server_call_duration_seconds_count"
_BUCKET = "rpc_server_call_duration_seconds_bucket"
_IN = "korvet_topic_appended_records_total"


def look(time: float, *told: Sample, where: str = "all") -> Look:
    return Look(time, {where: told})


def a(name: str, value: float, **labels: str) -> Sample:
    return Sample(name, labels, value)


def produce(value: float, error: str = "") -> Sample:
    labels = {"rpc_method": "Produce", **({"error_type": error} if error else {})}
    return a(_COUNT, value, **labels)


def orders(value: float, name: str = _IN) -> Sample:
    return a(name, value, messaging_destination_name="orders")


def test_rates_are_of_the_time_between_two_looks() -> None:
    before = look(100.0, produce(50), produce(1, "INVALID_RECORD"))
    now = look(102.0, produce(70), produce(5, "INVALID_RECORD"))

    (api,) = view(before, now).apis

    assert (api.name, api.per_second, api.errors_per_second) == ("Produce", 12.0, 2.0)


def test_what_begins_between_two_looks_counts_from_nothing() -> None:
    (topic,) = view(look(0.0), look(2.0, orders(10))).topics

    assert topic.records_in == 5.0


def test_a_process_that_began_anew_does_not_count_backwards() -> None:
    (topic,) = view(look(0.0, orders(1000)), look(2.0, orders(10))).topics

    assert topic.records_in == 5.0


def test_several_storages_are_added_up_but_what_they_tell_alike_is_not() -> None:
    size = orders(7, "korvet_topic_records")
    before = Look(0.0, {"a": [orders(0), size], "b": [orders(0), size]})
    now = Look(1.0, {"a": [orders(3), size], "b": [orders(4), size]})

    (topic,) = view(before, now).topics

    assert (topic.records_in, topic.records) == (7.0, 7)


def test_the_lag_of_a_groups_partitions_is_added_up() -> None:
    def lag(partition: str, value: float) -> Sample:
        return a(
            "korvet_group_lag",
            value,
            messaging_consumer_group_name="g",
            messaging_destination_name="t",
            messaging_destination_partition_id=partition,
        )

    shown = view(look(0.0), look(1.0, lag("0", 2), lag("1", 3)))

    assert shown.lags == [Lag("g", "t", 2, 5)]


def test_processes_behind_one_address_are_told_apart() -> None:
    def told(cpu: float) -> list[Sample]:
        return [
            a("korvet_ready", 1, service="gateway"),
            a("process_cpu_time_seconds_total", cpu, service="gateway", cpu_mode="user"),
            a("korvet_ready", 0, service="storage"),
        ]

    shown = view(look(0.0, *told(1.0)), look(2.0, *told(1.5)))

    assert [(each.name, each.is_ready, each.cpu) for each in shown.processes] == [
        ("gateway", True, 0.25),
        ("storage", False, 0.0),
    ]


@pytest.mark.parametrize(
    ("buckets", "expected"),
    [
        ({}, None),
        ({1.0: 0, float("inf"): 0}, None),
        ({1.0: 10, 2.0: 10, float("inf"): 10}, 0.5),
        ({1.0: 0, 2.0: 10, float("inf"): 10}, 1.5),
        # Above every bound nobody knows how far.
        ({1.0: 0, 2.0: 0, float("inf"): 10}, 2.0),
    ],
)
def test_the_median_is_estimated_within_its_bucket(
    buckets: Mapping[float, float], expected: float | None
) -> None:
    assert quantile(0.5, buckets) == expected


def test_latencies_are_those_of_the_last_moments() -> None:
    def bucket(bound: str, value: float) -> Sample:
        return a(_BUCKET, value, rpc_method="Produce", le=bound)

    before = look(0.0, produce(1000), bucket("0.1", 0), bucket("+Inf", 1000))
    now = look(1.0, produce(1010), bucket("0.1", 10), bucket("+Inf", 1010))

    (api,) = view(before, now).apis

    assert api.median == pytest.approx(0.05)


def test_numbers_have_as_many_digits_as_mean_something() -> None:
    assert [rate(each) for each in (0.04, 1.5, 12.3, 12345.6, 1234567)] == [
        "0.0", "1.5", "12", "12,346", "1,235k"
    ]  # fmt: skip
    assert [duration(each) for each in (None, 0.0004, 0.0123, 0.5, 12.34)] == [
        "", "0.4 ms", "12 ms", "500 ms", "12.3 s"
    ]  # fmt: skip


def shown(view: View, width: int, height: int) -> list[str]:
    console = Console(width=width, file=io.StringIO(), emoji=False, highlight=False)
    with console.capture() as capture:
        console.print(rendered(view, width, height))
    return [line.rstrip() for line in capture.get().splitlines()]


def a_busy_view(count: int) -> View:
    def names(kind: str) -> Sequence[str]:
        return [f"{kind}-{number}-{'x' * number * 5}"[:249] for number in range(count)]

    return View(
        processes=[
            Process(name, True, 0.99, 123 << 20, 1e6)
            for name in ("coordinator", "gateway", "storage")
        ],
        apis=[Api(name, 123456.7, 999.9, 0.123, 1.5) for name in names("Api")],
        topics=[
            Topic(name, 99999, 99999, 999 << 20, 999 << 20, 10**9, 999 << 30)
            for name in names("topic")
        ],
        lags=[Lag(group, group, 100, 10**9) for group in names("group")],
        connections=10000,
        requests_under_way=9999,
        memory_used=999 << 30,
        memory_limit=1023 << 30,
        commands_per_second=99999,
        transactions_open=12,
    )


@pytest.mark.parametrize(("width", "height"), [(80, 24), (80, 50), (200, 30), (200, 60)])
@pytest.mark.parametrize("count", [0, 3, 40])
def test_it_fits_the_terminal(width: int, height: int, count: int) -> None:
    lines = shown(a_busy_view(count), width, height)

    assert max(map(len, lines)) <= width
    assert len(lines) <= height


def test_what_has_no_room_is_counted() -> None:
    lines = shown(a_busy_view(40), 80, 50)

    hidden = [int(line.split()[1]) for line in lines if line.startswith("and ")]
    assert len(hidden) == 3
    assert all(0 < each < 40 for each in hidden)


def test_names_from_clients_do_not_steer_the_terminal() -> None:
    evil = Topic("[bold]a\x1b[2Jb", 1, 1, 1, 1, 1, 1)
    lines = shown(a_busy_view(0)._replace(topics=[evil]), 80, 30)

    assert any("[bold]a\\x1b[2Jb" in line for line in lines)
