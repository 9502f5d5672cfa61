"""Groups that nobody has used for long, as far as Redis knows."""

from typing import Any

from redis.asyncio import Redis

_LONG_AGO_MS = b"1000"


async def age_offsets(redis: "Redis", group: str) -> None:
    """Have all its commits be of long ago."""
    key = f"korvet:group:{group}:offsets"
    details: Any = await redis.hgetall(key)
    for field, value in details.items():
        topic_id, epoch, _, metadata = value.split(b" ", 3)
        aged = b" ".join([topic_id, epoch, _LONG_AGO_MS, metadata])
        await redis.hset(key, field, aged)


async def age_group(redis: "Redis", group: str) -> None:
    """Have it be without members for long; its coordinator must not be running."""
    state: Any = await redis.get(f"korvet:group:{group}")
    before, found, after = state.partition(b'"emptySince":')
    assert found
    aged = before + found + _LONG_AGO_MS + after[after.index(b",") :]
    await redis.set(f"korvet:group:{group}", aged)
