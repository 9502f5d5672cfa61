"""What an append costs Redis does not depend on how long the log is."""

from collections.abc import Mapping

import pytest

from tests.support.log_replica import LAYOUTS, LogReplica, batch_of, log_replica_on
from tests.support.redis_server import RedisServer

pytestmark = pytest.mark.integration

APPENDS = 50


async def microseconds_an_append(replica: LogReplica) -> float:
    """Redis's own time for one-record appends."""
    await replica.redis.config_resetstat()
    for _ in range(APPENDS):
        await replica.appended(batch_of(1))
    stats = await replica.redis.info("commandstats")
    return float(stats["cmdstat_evalsha"]["usec"]) / APPENDS


@pytest.mark.parametrize("configs", LAYOUTS.values(), ids=LAYOUTS)
async def test_appends_to_a_long_log_cost_what_they_cost_on_a_short_one(
    redis_server: RedisServer, configs: Mapping[str, str]
) -> None:
    async with log_replica_on(redis_server) as replica:
        # Both kinds of retention are looked at in each append, and have nothing to do.
        await replica.create(configs={**configs, "retention.bytes": "1000000000"})
        await replica.appended(batch_of(1))
        short = await microseconds_an_append(replica)
        # On batch topics, too, the entries are many.
        for _ in range(400):
            await replica.appended(
                batch_of(50 if configs["storage.format"] == "record" else 1)
            )

        long = await microseconds_an_append(replica)

        # A walk through the log would make it fifty times as much.
        assert long < 5 * short + 50, f"{short:.0f} us, later {long:.0f} us"
