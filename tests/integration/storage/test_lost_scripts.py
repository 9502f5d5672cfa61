"""SCRIPT FLUSH under load: scripts are loaded again, and appends keep their order."""

import asyncio

import pytest
from redis.asyncio import Redis

from korvet.proto.storage.v1 import storage_service_pb2 as pb
from korvet.storage.scripts import ALL, scripts_of_lane
from tests.support.log_replica import log_replica_on, ref
from tests.support.redis_server import RedisServer

pytestmark = pytest.mark.integration

PARTITIONS = 8
FLUSHES = 8
APPENDS = 150


def append(partition: int) -> pb.AppendRequest:
    records = pb.RecordSet(records=[pb.Record(value=b"v", timestamp_ms=1)])
    item = pb.PartitionAppend(topic=ref("orders"), partition=partition, records=records)
    return pb.AppendRequest(acks=pb.ACKS_LEADER, partitions=[item])


async def test_appends_that_find_no_script_keep_their_order(
    redis_server: RedisServer, redis: "Redis"
) -> None:
    async with log_replica_on(redis_server) as replica:
        await replica.create(partitions=PARTITIONS)
        for _ in range(FLUSHES):
            appends = []
            for number in range(APPENDS):
                appends += [
                    asyncio.ensure_future(replica.appends.append(append(partition)))
                    for partition in range(PARTITIONS)
                ]
                # So that they are on their way in many pieces, and not in one.
                if number % 3 == 0:
                    await asyncio.sleep(0)
                if number == APPENDS // 2:
                    flush = asyncio.ensure_future(redis.script_flush())
            await flush
            answers = [answer.partitions[0] for answer in await asyncio.gather(*appends)]

            assert {answer.error_code for answer in answers} == {0}
            for partition in range(PARTITIONS):
                offsets = [answer.base_offset for answer in answers[partition::PARTITIONS]]
                assert offsets == sorted(offsets)


def test_each_lane_that_appends_has_a_script_that_no_other_loads() -> None:
    lanes = [*scripts_of_lane("append-0"), *scripts_of_lane("append-1")]
    own = [script.digest for script in lanes if script.name == "append"]

    assert len({*own, *(script.digest for script in ALL)}) == len(own) + len(ALL)
