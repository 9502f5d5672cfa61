"""What a run must show, as shares of what the same run measured beside it."""

from typing import Final

from bench.points import BASE, PAIRS, SHAPES
from bench.summary import (
    BATCH,
    COMMITS,
    CONNECTIONS,
    CONSUME,
    END_TO_END,
    FOOTPRINT,
    IDLE,
    KAFKA,
    METADATA,
    PRODUCE,
    RECORD,
    SMALL,
    START,
    TOPICS,
    TRANSACTIONS,
    XADD,
    Target,
    death_cell,
    join_cell,
)

END_TO_END_RATE: Final = 500
SMALL_REQUEST_RATE: Final = 5_000
GROUP_SIZES: Final = (2, 20)

TARGETS: Final = (
    *(
        Target(
            label=f"batch format, {kind}, {point.label}, share of Kafka's",
            path=f"{point.cell(kind)}/{BATCH}/rate/of/{KAFKA}",
            at_least=bound,
        )
        for kind, bound in ((PRODUCE, 0.9), (CONSUME, 1.0))
        for point in PAIRS
        # A read does not know how a record was acknowledged.
        if kind == PRODUCE or point.acks == "1"
    ),
    *(
        Target(
            label=f"record format, produce, {point.label}, share of XADD's",
            path=f"{point.cell(PRODUCE)}/{RECORD}/rate/of/{XADD}",
            at_least=0.45,
        )
        for point in (BASE, *SHAPES)
    ),
    Target(
        label="record format, consume, share of XADD's",
        path=f"{CONSUME}/{RECORD}/rate/of/{XADD}",
        at_least=0.60,
    ),
    *(
        Target(
            label=f"{system}, end to end at {END_TO_END_RATE}/s, {share} ms",
            path=f"{END_TO_END}/{system}/latency/{share}_ms",
            at_most=bound,
        )
        for system in (BATCH, RECORD)
        for share, bound in (("p50", 1.5), ("p99", 10.0))
    ),
    *(
        Target(
            label=f"{system}, end to end at {SMALL_REQUEST_RATE:,}/s, one record a"
            " request, p50 ms",
            path=f"{SMALL}/{system}/latency/p50_ms",
            at_most=10.0,
        )
        for system in (BATCH, RECORD)
    ),
    *(
        Target(
            label=f"{system}, one-record Produce requests a second",
            path=f"{SMALL}/{system}/rate",
            # The last answer comes a little after the last request was due.
            at_least=0.98 * SMALL_REQUEST_RATE,
        )
        for system in (BATCH, RECORD)
    ),
)

# No worse than Kafka's, with a tenth for chance: most of the time goes into waiting for the
# clients' next heartbeats, and two equal systems are each the slower one half of the time.
_AS_GOOD: Final = 1.1

GROUP_TARGETS: Final = (
    *(
        Target(
            label=f"{system}, {what} a group of {size}, time to consuming, of Kafka's",
            path=f"{cell(size)}/{system}/{field}/of/{KAFKA}",
            at_most=_AS_GOOD,
        )
        for system in (BATCH, RECORD)
        # After a death without the session time-out, in which a difference would drown.
        for what, cell, field in (
            ("a join in", join_cell, "again_s"),
            ("a death in", death_cell, "beyond_s"),
        )
        for size in GROUP_SIZES
    ),
    # Heartbeats have nothing to do with a topic's format.
    Target(
        label="2,000 idle members, cores of gateway and coordinator",
        path=f"{IDLE}/{BATCH}/server_cores",
        at_most=0.5,
    ),
    *(
        Target(
            label=f"{system}, offset commits, share of Kafka's",
            path=f"{COMMITS}/{system}/rate/of/{KAFKA}",
            at_least=0.5,
        )
        for system in (BATCH, RECORD)
    ),
)

TRANSACTION_TARGETS: Final = tuple(
    Target(
        label=f"{system}, with transactions of 100 ms, share of the rate without",
        path=f"{TRANSACTIONS}/{system}/share",
        at_least=0.8,
    )
    for system in (BATCH, RECORD)
)

COST_TARGETS: Final = (
    Target(
        label="start until the first answered request, s",
        path=f"{START}/{BATCH}/ready_s",
        at_most=3.0,
    ),
    Target(
        label="record format, memory in Redis, of the payload",
        path=f"{FOOTPRINT}/{RECORD}/mean_share",
        at_most=1.6,
    ),
    Target(
        label="batch format, memory in Redis, of the payload, mean over batch sizes",
        path=f"{FOOTPRINT}/{BATCH}/mean_share",
        at_most=1.2,
    ),
    Target(
        label="1,000 idle connections, MB more in the gateway",
        path=f"{CONNECTIONS}/{BATCH}/server_mb",
        at_most=100.0,
    ),
    Target(
        label="1,000 idle connections, cores of the gateway",
        path=f"{CONNECTIONS}/{BATCH}/server_cores",
        at_most=0.05,
    ),
    *(
        Target(
            label=f"{system}, 1,000 topics of 10 partitions, Metadata for all, ms",
            path=f"{METADATA}/{system}/median_ms",
            at_most=250.0,
        )
        for system in (BATCH, RECORD)
    ),
    # Not on all of them at once: there librdkafka, with a queue for each partition, costs
    # the most, and Kafka's own share is no better.
    *(
        Target(
            label=f"{system}, 1,000 topics of 10 partitions, {kind} on one of them, share"
            " of one topic's",
            path=f"{TOPICS}/{system}/among/{kind}_share",
            at_least=0.8,
        )
        for system in (BATCH, RECORD)
        for kind in ("produce", "consume")
    ),
)
