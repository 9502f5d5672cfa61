from prometheus_client.parser import text_string_to_metric_families

from korvet.runtime.metrics import AnyInstrument, Counter, Gauge, Histogram
from korvet.runtime.prometheus import exposition, metric_name


def samples(
    *instruments: AnyInstrument,
) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(exposition(instruments))
        for sample in family.samples
    }


def test_names_carry_the_unit_and_counters_say_that_they_are() -> None:
    def name(kind: type[Counter | Gauge], name: str, unit: str) -> str:
        return metric_name(kind(name, unit, "", (), 1))

    assert name(Counter, "korvet.gateway.io", "By") == "korvet_gateway_io_bytes_total"
    assert name(Counter, "korvet.topic.read.bytes", "By") == "korvet_topic_read_bytes_total"
    assert name(Counter, "korvet.records", "{record}") == "korvet_records_total"
    assert name(Gauge, "process.uptime", "s") == "process_uptime_seconds"
    assert name(Gauge, "korvet.group.lag", "{record}") == "korvet_group_lag"


def test_a_counter_is_what_was_counted() -> None:
    requests = Counter("korvet.requests", "{request}", "Requests.", ("rpc.method",), 9)
    requests.of("Produce").value += 3

    assert samples(requests) == {("korvet_requests_total", (("rpc_method", "Produce"),)): 3}


def test_an_empty_attribute_is_left_out() -> None:
    requests = Counter("r", "{request}", "Requests.", ("rpc.method", "error.type"), 9)
    requests.of("Produce", "").value += 1

    assert samples(requests) == {("r_total", (("rpc_method", "Produce"),)): 1}


def test_a_histogram_counts_up_to_each_bound() -> None:
    duration = Histogram("d", "s", "Durations.", (), 9, bounds=(0.5, 1.0))
    for seconds in (0.25, 0.75, 0.75, 2.0):
        duration.of().observe(seconds)

    assert samples(duration) == {
        ("d_seconds_bucket", (("le", "0.5"),)): 1,
        ("d_seconds_bucket", (("le", "1.0"),)): 3,
        ("d_seconds_bucket", (("le", "+Inf"),)): 4,
        ("d_seconds_sum", ()): 3.75,
        ("d_seconds_count", ()): 4,
    }


def test_names_that_clients_choose_cannot_break_the_text() -> None:
    lag = Gauge("lag", "{record}", 'Of "groups"\nand \\ topics.', ("group",), 9)
    names = ['quo"te', "back\\slash", "new\nline", "ключ", "{} = 1 #"]
    for number, name in enumerate(names):
        lag.of(name).value = number

    assert samples(lag) == {
        ("lag", (("group", name),)): number for number, name in enumerate(names)
    }
