"""Above the high-water mark producers are refused, and everybody else goes on."""

import pytest

from korvet.kafka.errors import ErrorCode
from tests.support.eventually import eventually
from tests.support.log_replica import KEYS, batch_of, log_replica_on, records_in
from tests.support.redis_server import RedisServer

pytestmark = pytest.mark.integration


async def test_appends_are_refused_before_redis_is_full_and_taken_again_when_there_is_room(
    redis_server: RedisServer,
) -> None:
    async with log_replica_on(redis_server, memory_interval=0.05) as replica:
        await replica.create()
        base = await replica.appended(batch_of(1))

        async def code() -> ErrorCode:
            return ErrorCode((await replica.append(batch_of(1))).error_code)

        async def is_refused() -> bool:
            return await code() is ErrorCode.KAFKA_STORAGE_ERROR

        async def is_taken() -> bool:
            return await code() is ErrorCode.NONE

        with redis_server.client() as client:
            # Beside it, what Redis frees of its connections' own buffers by and by is
            # little; on an empty server that is a quarter of all its memory.
            client.set("ballast", bytes(32 << 20))
            used = client.info("memory")["used_memory"]
            try:
                # A twentieth is left: Redis itself refuses nothing yet.
                client.config_set("maxmemory", int(used * 1.05))
                await eventually(is_refused)
                client.set("another-key", "is still taken")
                length = client.xlen(KEYS.stream("orders", 0))
                refused = await replica.append(batch_of(1))

                assert "bytes in use" in refused.error_message
                assert client.xlen(KEYS.stream("orders", 0)) == length
                assert records_in((await replica.read(0)).batches)[0].offset == base
            finally:
                client.config_set("maxmemory", 0)

        await eventually(is_taken)
