from bench.cost_tables import cost_grids
from bench.costs import Plan
from bench.summary import (
    BATCH,
    FOOTPRINT,
    KAFKA,
    METADATA,
    RECORD,
    START,
    TOPICS,
    Sample,
    figures,
    judge,
)
from bench.targets import COST_TARGETS


def plan(sizes_a_doubling: int) -> Plan:
    return Plan(
        systems=(BATCH,),
        starts=1,
        sizes_a_doubling=sizes_a_doubling,
        payload_bytes=1,
        connections=1,
        idle_seconds=1.0,
        topics=1,
        partitions=1,
        topic_rounds=1,
        topic_records=1,
    )


def test_batch_sizes_go_from_4_to_64_kib_evenly_in_each_doubling() -> None:
    assert plan(1).batch_sizes() == [4096, 8192, 16384, 32768, 65536]
    assert len(plan(8).batch_sizes()) == 33
    assert plan(8).batch_sizes()[4] == round(4096 * 2**0.5)


def test_what_was_measured_is_shown_and_nothing_else() -> None:
    rates = {"produce_rate": 1e6, "consume_rate": 2e6}
    among = {"produce_share": 0.9, "consume_share": 1.0}
    samples = [
        Sample(0, START, KAFKA, {"ready_s": 2.5}),
        Sample(0, START, BATCH, {"ready_s": 2.0}),
        Sample(0, METADATA, BATCH, {"topics": 1000, "median_ms": 22.26}),
        Sample(0, TOPICS, BATCH, {"alone": rates, "among": among, "all": among}),
    ]
    found = {path: figure._asdict() for path, figure in figures(samples).items()}

    starts, metadata, topics, _ = cost_grids(
        {
            "plan": {"systems": [KAFKA, BATCH]},
            "targets": [{"label": "", "bound": "", "value": 1.0, "met": True}],
            "figures": found,
        }
    )

    assert starts.rows[1] == [BATCH, "2.00 (2.00 to 2.00)"]
    assert metadata.rows == [[BATCH, "1000", "-", "-", "-", "22.3", "-"]]
    assert [row[0] for row in topics.rows] == [BATCH]
    assert topics.rows[0][1:3] == ["1000 (1000 to 1000)", "0.90 (0.90 to 0.90)"]


def test_the_memory_of_batches_is_judged_by_its_mean_over_their_sizes() -> None:
    samples = [
        Sample(0, FOOTPRINT, BATCH, {"mean_share": 1.16, "most_share": 1.26}),
        Sample(0, FOOTPRINT, RECORD, {"mean_share": 1.61}),
    ]

    verdicts = {
        verdict.path: verdict.met
        for verdict in judge(COST_TARGETS, samples, figures(samples))
    }

    assert verdicts["footprint/korvet-batch/mean_share"]
    assert not verdicts["footprint/korvet-record/mean_share"]
    assert not verdicts["start/korvet-batch/ready_s"]
