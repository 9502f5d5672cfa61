"""What must be true of a Redis that is to keep topics and offsets.

A Redis that evicts keys would lose records; a newer release's layout would be misread.
Both are found out before anything is served, and end the process with the reason. A user
without the rights that it needs is waited for, until somebody grants them.
"""

import logging
from collections.abc import Sequence
from typing import Final

from korvet.redis.connection import Reply
from korvet.redis.greeting import Argument, check_rights
from korvet.redis.keys import Keys
from korvet.redis.rights import MissingRightsError, Rights
from redis.asyncio import Redis
from redis.exceptions import NoPermissionError, ResponseError

log = logging.getLogger(__name__)

# Raised with every change of the keys that an older release would misread.
LAYOUT: Final = 1
_OLDEST_SERVER: Final = (6, 2)


class UnsuitableRedisError(Exception):
    """This Redis cannot be used as it is; the message says why and what to do."""


async def check_redis(
    redis: "Redis", keys: Keys, rights: Rights, *, may_evict: bool, setting: str
) -> None:
    """Claim the keyspace; raise UnsuitableRedisError, or what Redis refuses.

    `setting` is the variable that lets the service start on a Redis that evicts.
    """
    _check_server(await redis.info("server"))
    _check_memory(await redis.info("memory"), may_evict, setting)
    await _check_rights(redis, rights)
    await _check_layout(redis, keys)


def _check_server(info: dict[str, object]) -> None:
    version = str(info.get("redis_version", "0"))
    numbers = tuple(int(part) for part in version.split(".")[:2] if part.isdecimal())
    if numbers < _OLDEST_SERVER:
        raise UnsuitableRedisError(
            f"Redis {version} is too old: Korvet needs 6.2 or newer."
        )
    if info.get("redis_mode") == "cluster":
        raise UnsuitableRedisError(
            "This Redis is a node of a Redis Cluster, which Korvet cannot use yet: "
            "give the URL of a single Redis."
        )


def _check_memory(info: dict[str, object], may_evict: bool, setting: str) -> None:
    policy = str(info.get("maxmemory_policy", "noeviction"))
    if policy == "noeviction":
        return
    problem = (
        f"Redis's maxmemory-policy is {policy}: it would delete records, topics or "
        "offsets when its memory is full."
    )
    if not may_evict:
        raise UnsuitableRedisError(
            f"{problem} Set it to noeviction, or {setting}=true to accept the loss."
        )
    log.warning(problem)


async def _check_rights(redis: "Redis", rights: Rights) -> None:
    pool = redis.connection_pool
    connection = await pool.get_connection()  # type: ignore[no-untyped-call]

    async def ask(commands: Sequence[tuple[Argument, ...]]) -> list[Reply]:
        replies: list[Reply] = []
        for command in commands:
            try:
                await connection.send_command(*command)
                replies.append(await connection.read_response())
            except NoPermissionError as error:
                # redis-py has taken Redis's first word off.
                replies.append(NoPermissionError(f"NOPERM {error}"))
            except ResponseError as error:
                replies.append(error)
        return replies

    try:
        user = pool.connection_kwargs.get("username") or "default"
        await check_rights(ask, rights, str(user))
    except MissingRightsError as error:
        raise NoPermissionError(str(error)) from None
    except BaseException:
        # In the middle of a transaction, perhaps.
        await connection.disconnect()
        raise
    finally:
        await pool.release(connection)


async def _check_layout(redis: "Redis", keys: Keys) -> None:
    await redis.set(keys.layout, LAYOUT, nx=True)
    found = str(await redis.get(keys.layout))
    if not found.isdecimal() or int(found) > LAYOUT:
        raise UnsuitableRedisError(
            f"{keys.layout} in Redis is {found!r}, but this release knows "
            f"layouts up to {LAYOUT}: use the release that wrote it, or a newer one."
        )
