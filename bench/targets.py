"""What a run must show, as shares of what the same run measured beside it."""

from typing import Final

from bench.summary import (
    BATCH,
    COMMITS,
    CONSUME,
    END_TO_END,
    IDLE,
    KAFKA,
    PRODUCE,
    RECORD,
    SMALL,
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
    Target(
        label="batch format, produce, share of Kafka's",
        path=f"{PRODUCE}/{BATCH}/rate/of/{KAFKA}",
        at_least=0.5,
    ),
    Target(
        label="batch format, consume, share of Kafka's",
        path=f"{CONSUME}/{BATCH}/rate/of/{KAFKA}",
        at_least=0.6,
    ),
    Target(
        label="record format, produce, share of pipelined XADD",
        path=f"{PRODUCE}/{RECORD}/rate/of/{XADD}",
        at_least=0.30,
    ),
    Target(
        label="record format, consume, share of pipelined XADD",
        path=f"{CONSUME}/{RECORD}/rate/of/{XADD}",
        at_least=0.40,
    ),
    *(
        Target(
            label=f"{system}, end to end at {END_TO_END_RATE}/s, {share} ms",
            path=f"{END_TO_END}/{system}/latency/{share}_ms",
            at_most=bound,
        )
        for system in (BATCH, RECORD)
        for share, bound in (("p50", 3.0), ("p99", 25.0))
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
