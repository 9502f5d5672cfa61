from bench.paced import latency_of


def test_percentiles_are_of_the_ranked_latencies() -> None:
    latency = latency_of([number / 1000 for number in range(100, 0, -1)])

    assert latency.p50_ms == 51.0
    assert latency.p99_ms == 100.0
    assert latency.max_ms == 100.0


def test_one_latency_is_every_percentile() -> None:
    latency = latency_of([0.002])

    assert (latency.p50_ms, latency.p99_ms) == (2.0, 2.0)
