"""What is measured of Redis: commands, round trips, and waits for a connection."""

import re
from collections.abc import Sequence
from typing import Final

from korvet.redis.greeting import Argument
from korvet.redis.script import Script
from korvet.runtime import metrics
from korvet.runtime.metrics import Distribution

_EVALSHA: Final = "EVALSHA"
_POOL: Final = "db.client.connection.pool.name"

_duration: Final = metrics.histogram(
    "db.client.operation.duration",
    unit="s",
    description="From a command's leaving for Redis to its reply. A script is named as the"
    " stored procedure.",
    attributes=("db.system.name", "db.operation.name", "db.stored_procedure.name"),
)
_round_trips: Final = metrics.counter(
    "korvet.redis.round_trips",
    unit="{round_trip}",
    description="Writes to Redis. Commands that are waiting together leave together.",
    attributes=(_POOL,),
)
_waits: Final = metrics.histogram(
    "db.client.connection.wait_time",
    unit="s",
    description="How long those waited who found too much under way on a lane, or no free"
    " connection in the pool. Who did not have to wait is not counted.",
    attributes=(_POOL,),
)


POOL_WAITS: Final = _waits.of("pool")


class LaneMetrics:
    """The series of one lane; of several alike, as append-0 and append-1, they are one."""

    def __init__(self, lane: str, scripts: Sequence[Script]) -> None:
        pool = re.sub(r"-\d+$", "", lane)
        self.round_trips: Final = _round_trips.of(pool)
        self.waits: Final = _waits.of(pool)
        # For what is asked to connect, which is nobody's request.
        self.untold: Final = Distribution(metrics.SECONDS)
        self._scripts = {script.digest: script.name for script in scripts}
        # By a script's digest, or a command's name.
        self._durations: dict[Argument, Distribution] = {}

    def of(self, command: Sequence[Argument]) -> Distribution:
        """Where the time of this command belongs."""
        name = command[0]
        key = command[1] if name == _EVALSHA else name
        found = self._durations.get(key)
        return found if found is not None else self._add(str(name), key)

    def _add(self, name: str, key: Argument) -> Distribution:
        script = self._scripts.get(key, "") if isinstance(key, bytes) else ""
        self._durations[key] = series = _duration.of("redis", name, script)
        return series
