"""Registrations of gateways that this release has not written."""

import json

import pytest
from redis.asyncio import Redis

from korvet.storage.gateways import Gateway
from tests.support.eventually import eventually
from tests.support.redis_server import RedisServer
from tests.support.replica import replica_on

pytestmark = pytest.mark.integration

NEVER = 10**15


async def test_what_a_newer_release_or_a_person_wrote_does_not_stop_storage(
    redis_server: RedisServer, redis: "Redis"
) -> None:
    newer = {
        "node_id": 7,
        "host": "seven",
        "port": 9092,
        "rack": "",
        "incarnation": "x",
        "zone": "b",
    }
    async with replica_on(redis_server) as replica:
        await redis.hset("korvet:gateways", "8", f"{NEVER} by hand")
        await redis.hset("korvet:gateways", "7", f"{NEVER} {json.dumps(newer)}")
        seven = Gateway(node_id=7, host="seven", port=9092, rack="")

        await eventually(lambda: replica.gateways.live == (seven,))
