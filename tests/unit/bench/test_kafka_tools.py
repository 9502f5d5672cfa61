from collections.abc import Callable

import pytest

from bench.kafka_tools import Measured, read_consumed, read_produced
from bench.processes import PeerError


def test_the_last_line_of_the_producer_is_the_whole_run() -> None:
    said = (
        "1843 records sent, 368.5 records/sec (0.04 MB/sec), 9.0 ms avg latency.\n"
        "200000 records sent, 76716.5 records/sec (7.32 MB/sec), 500.1 ms avg latency,"
        " 900.00 ms max latency, 480 ms 50th, 850 ms 95th, 890 ms 99th, 899 ms 99.9th.\n"
    )

    assert read_produced(said) == Measured(records=200_000, rate=76_716.5)


def test_the_consumers_rate_is_the_one_without_its_rebalance() -> None:
    said = (
        "start.time, end.time, data.consumed.in.MB, MB.sec, data.consumed.in.nMsg,"
        " nMsg.sec, rebalance.time.ms, fetch.time.ms, fetch.MB.sec, fetch.nMsg.sec\n"
        "2026-11-19 04:55:01:001, 2026-11-19 04:55:05:001, 19.0735, 4.7684, 200000,"
        " 50000.0000, 3400, 600, 31.7891, 333333.3333\n"
    )

    assert read_consumed(said) == Measured(records=200_000, rate=333_333.3333)


@pytest.mark.parametrize("read", [read_produced, read_consumed])
def test_a_tool_that_says_no_rate_is_a_failure(read: Callable[[str], Measured]) -> None:
    with pytest.raises(PeerError, match="says no rate"):
        read("WARN nothing works\n")
