from prometheus_client.parser import text_string_to_metric_families

from korvet.cli.exposition import Sample, merge, samples
from korvet.runtime.metrics import Counter, Gauge, Histogram
from korvet.runtime.prometheus import exposition


def a_gauge(**values: float) -> Gauge:
    gauge = Gauge("lag", "{record}", "Lag.", ("group",), 9)
    for group, value in values.items():
        gauge.of(group).value = value
    return gauge


def test_what_a_process_writes_is_read() -> None:
    duration = Histogram("d", "s", "Durations.", ("api",), 9, bounds=(0.5,))
    duration.of("Produce").observe(0.25)

    read = list(samples(exposition([a_gauge(g=7), duration])))

    assert read == [
        Sample("lag", {"group": "g"}, 7),
        Sample("d_seconds_bucket", {"api": "Produce", "le": "0.5"}, 1),
        Sample("d_seconds_bucket", {"api": "Produce", "le": "+Inf"}, 1),
        Sample("d_seconds_sum", {"api": "Produce"}, 0.25),
        Sample("d_seconds_count", {"api": "Produce"}, 1),
    ]


def test_names_with_anything_in_them_are_read_as_they_were() -> None:
    names = ['a"b', "a\\b", "a\nb", "a,b", "{a}", "a} 1", "ä", ""]
    gauge = Gauge("lag", "{record}", "Lag.", ("group",), 9)
    for name in names:
        gauge.of(name)

    read = list(samples(exposition([gauge])))

    assert [each.labels.get("group", "") for each in read] == names


def test_several_processes_are_one_page_that_prometheus_reads() -> None:
    ready = Gauge("ready", "{process}", "Ready.", (), 9)
    ready.of().value = 1
    requests = Counter("r", "{request}", "Requests.", ("api",), 9)
    requests.of("Produce").value = 3
    texts = {
        "gateway": exposition([ready, requests]),
        "storage": exposition([a_gauge(g=2), ready]),
        "coordinator": "",
    }

    families = list(text_string_to_metric_families(merge(texts)))

    found = {
        (sample.name, sample.labels["service"]): sample.value
        for family in families
        for sample in family.samples
    }
    assert found == {
        ("ready", "gateway"): 1,
        ("ready", "storage"): 1,
        ("r_total", "gateway"): 3,
        ("lag", "storage"): 2,
    }
    assert len({family.name for family in families}) == len(families)


def test_a_brace_in_a_name_does_not_mislead_the_merge() -> None:
    text = exposition([a_gauge(**{"a{b": 1})])

    (sample,) = samples(merge({"storage": text}))

    assert sample == Sample("lag", {"service": "storage", "group": "a{b"}, 1)
