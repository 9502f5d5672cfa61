"""The connection pool for everything but the hot path, on redis-py.

It never sends a command twice: after a lost connection the outcome is unknown, and only
the caller knows what that means. A connection that died while idle is noticed when it is
taken from the pool.
"""

from collections.abc import Awaitable, Callable
from time import perf_counter
from typing import Any, Final

from korvet.redis.command_spans import CommandSpans, end_command
from korvet.redis.lane_metrics import POOL_WAITS
from korvet.runtime import tracing
from redis.asyncio import BlockingConnectionPool, Redis
from redis.backoff import NoBackoff
from redis.retry import Retry

_CONNECT_SECONDS: Final = 3.0
# Longer than any of our scripts blocks Redis, shorter than a caller's patience.
_ANSWER_SECONDS: Final = 10.0
_CONNECTIONS: Final = 16


def connect(url: str) -> "Redis":
    """A client that decodes replies to text. It connects when it is first used."""
    pool = _Pool.from_url(
        url,
        max_connections=_CONNECTIONS,
        timeout=_ANSWER_SECONDS,
        socket_connect_timeout=_CONNECT_SECONDS,
        socket_timeout=_ANSWER_SECONDS,
        # Unix sockets have no such thing, and redis-py refuses it for them.
        **({} if url.startswith("unix:") else {"socket_keepalive": True}),
        retry=Retry(NoBackoff(), retries=0),
        # With RESP3 redis-py expects notices on idle connections, and so no longer looks
        # whether one was closed.
        protocol=2,
        decode_responses=True,
        # What somebody has put into a key by hand must not stop the service.
        encoding_errors="replace",
    )
    return _TracedRedis.from_pool(pool) if tracing.is_on() else Redis.from_pool(pool)


class _Pool(BlockingConnectionPool):
    """Measures how long those wait who find no connection free."""

    async def get_connection(self, *args: Any, **options: Any) -> Any:
        get: Callable[..., Awaitable[Any]] = super().get_connection
        if self.can_get_connection():
            return await get(*args, **options)
        since = perf_counter()
        try:
            return await get(*args, **options)
        finally:
            POOL_WAITS.observe(perf_counter() - since)


class _TracedRedis(Redis):
    """Records its commands where the request that they are for is recorded."""

    async def execute_command(self, *args: Any, **options: Any) -> Any:
        # redis-py has no types here.
        execute: Callable[..., Awaitable[Any]] = super().execute_command
        asking = tracing.current.get()
        spans = CommandSpans(self.connection_pool.connection_kwargs)
        work = asking and spans.begin(asking, args)
        if work is None:
            return await execute(*args, **options)
        try:
            reply = await execute(*args, **options)
        except BaseException as error:
            end_command(work, error)
            raise
        work.end()
        return reply
