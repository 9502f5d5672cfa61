"""What a Redis is told while a test watches, by whomever.

with watched_commands(korvet.redis) as commands:
    …
    commands.wait_for("XADD", "korvet:stream:orders:0")
"""

import contextlib
import time
from collections.abc import Iterator
from typing import Any

import redis as redis_sync

from tests.support.redis_server import RedisServer
from tests.support.traffic import PATIENCE


class WatchedCommands:
    def __init__(self, monitor: Any) -> None:
        self._monitor = monitor
        self._seen: list[str] = []

    def wait_for(self, *words: str) -> None:
        """Until it was told something with all of these in it."""
        deadline = time.monotonic() + PATIENCE
        while not any(all(word in each for word in words) for each in self._seen):
            if time.monotonic() > deadline:
                raise TimeoutError(f"{words} in none of {len(self._seen)} commands")
            self._seen.append(self._monitor.next_command()["command"])


@contextlib.contextmanager
def watched_commands(server: RedisServer) -> Iterator[WatchedCommands]:
    with (
        redis_sync.Redis.from_url(server.url, socket_timeout=PATIENCE) as client,
        client.monitor() as monitor,
    ):
        yield WatchedCommands(monitor)
