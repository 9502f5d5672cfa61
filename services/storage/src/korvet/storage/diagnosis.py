"""Looks at this storage and its Redis, for whoever wants to know what is wrong."""

import time
from importlib.metadata import version

from redis.asyncio import Redis
from redis.exceptions import RedisError, ResponseError

from korvet.proto.storage.v1 import storage_service_pb2 as pb


class Diagnosis:
    def __init__(self, redis: "Redis", redis_address: str) -> None:
        self._redis = redis
        self._redis_address = redis_address

    async def diagnose(self) -> pb.DiagnoseResponse:
        response = pb.DiagnoseResponse(
            version=version("korvet-storage"),
            time_ms=_now_ms(),
            redis_address=self._redis_address,
        )
        try:
            info = await self._redis.info()
            asked_ms = _now_ms()
            seconds, microseconds = await self._redis.time()
            # Redis has told it half-way between question and answer, as far as one knows.
            response.time_ms = (asked_ms + _now_ms()) // 2
            redis_ms = seconds * 1000 + microseconds // 1000
            response.redis.CopyFrom(_described(info, redis_ms))
            if (fsync := await self._append_fsync()) is not None:
                response.redis.append_fsync = fsync
        except (RedisError, OSError) as error:
            response.redis_error = str(error) or type(error).__name__
            response.ClearField("redis")
        return response

    async def _append_fsync(self) -> str | None:
        try:
            found = await self._redis.config_get("appendfsync")
        except ResponseError:
            # A user of Korvet's own need not have the right to ask.
            return None
        return found.get("appendfsync")


def _described(info: dict[str, object], time_ms: int) -> pb.DiagnoseResponse.Redis:
    def number(name: str) -> int:
        return int(str(info.get(name, 0)))

    return pb.DiagnoseResponse.Redis(
        version=str(info.get("redis_version", "")),
        time_ms=time_ms,
        maxmemory_policy=str(info.get("maxmemory_policy", "")),
        memory_used_bytes=number("used_memory"),
        memory_limit_bytes=number("maxmemory"),
        evicted_keys=number("evicted_keys"),
        append_only=bool(number("aof_enabled")),
        append_only_fails=info.get("aof_last_write_status", "ok") != "ok",
        replicas=number("connected_slaves"),
    )


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
