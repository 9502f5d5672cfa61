"""Appends to topics that are not known here: what they cost, and who waits for them."""

from collections.abc import AsyncIterator, Sequence

import pytest

from korvet.kafka.errors import ErrorCode
from korvet.proto.storage.v1 import storage_service_pb2 as pb
from tests.support.log_replica import LogReplica, batch_of, log_replica_on, ref
from tests.support.redis_server import RedisServer

pytestmark = pytest.mark.integration

MANY = 5000
# That many topics are read by one script.
AT_ONCE = 200


@pytest.fixture
async def replica(redis_server: RedisServer) -> AsyncIterator[LogReplica]:
    async with log_replica_on(redis_server) as replica:
        yield replica


def request(topics: Sequence[str | bytes]) -> pb.AppendRequest:
    batch = batch_of(1)
    return pb.AppendRequest(
        partitions=[pb.PartitionAppend(topic=ref(t), batch=batch) for t in topics]
    )


async def commands_of(
    replica: LogReplica, request: pb.AppendRequest
) -> tuple[int, set[int]]:
    """How many commands of its own Redis gets for a request; and the answers' codes."""
    await replica.redis.config_resetstat()
    response = await replica.appends.append(request)
    stats = await replica.redis.info("commandstats")
    asked = sum(
        stats[name]["calls"]
        for name in ("cmdstat_evalsha", "cmdstat_hmget")
        if name in stats
    )
    return asked, {partition.error_code for partition in response.partitions}


async def test_many_unknown_names_are_looked_up_together(replica: LogReplica) -> None:
    # Loads the scripts.
    await replica.append(batch_of(1), "unheard-of")

    asked, codes = await commands_of(replica, request([f"no-{n}" for n in range(MANY)]))

    assert codes == {ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
    assert asked <= MANY / AT_ONCE + 5


async def test_many_unknown_ids_are_looked_up_together(replica: LogReplica) -> None:
    ids = [b"%016d" % number for number in range(MANY)]

    asked, codes = await commands_of(replica, request(ids))

    assert codes == {ErrorCode.UNKNOWN_TOPIC_ID}
    assert asked <= MANY / AT_ONCE + 5


async def test_a_topic_that_was_just_created_elsewhere_is_found_among_them(
    replica: LogReplica, redis_server: RedisServer
) -> None:
    unknown = [f"no-{number}" for number in range(300)]
    await replica.appends.append(request([*unknown, "orders"]))
    async with log_replica_on(redis_server) as other:
        by_name = await other.create("orders")
        by_id = await other.create("invoices")

    response = await replica.appends.append(
        request([*unknown, by_name.name, by_id.id, by_name.name])
    )

    codes = [partition.error_code for partition in response.partitions]
    assert codes[:300] == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION] * 300
    assert codes[300:] == [ErrorCode.NONE] * 3
    assert len(await replica.read_all(0, "orders")) == 2
