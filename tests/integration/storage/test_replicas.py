"""acks=all with min.insync.replicas: an acknowledgement means that replicas have it."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

import pytest

from korvet.kafka.errors import ErrorCode
from korvet.proto.storage.v1 import storage_service_pb2 as pb
from korvet.storage.replicas import MAX_UNCONFIRMED
from korvet.storage.topic_configs import ConfigChange
from tests.support.eventually import eventually
from tests.support.log_replica import KEYS, LogReplica, log_replica_on, ref
from tests.support.redis_server import RedisServer

pytestmark = pytest.mark.integration

OPTIONS = {"repl-diskless-sync-delay": "0"}
SAFE = {"min.insync.replicas": "2"}
PATIENT_MS = 60_000
SET = pb.CONFIG_OPERATION_SET


@pytest.fixture
def primary(redis_server_name: str, tmp_path: Path) -> RedisServer:
    return RedisServer(tmp_path / "primary", server=redis_server_name, options=OPTIONS)


@pytest.fixture
def redis_replica(redis_server_name: str, tmp_path: Path) -> RedisServer:
    return RedisServer(tmp_path / "replica", server=redis_server_name, options=OPTIONS)


@pytest.fixture
async def storage(primary: RedisServer) -> AsyncIterator[LogReplica]:
    with primary:
        async with log_replica_on(primary) as storage:
            await storage.create("orders", SAFE)
            yield storage


def follow(server: RedisServer, primary: RedisServer) -> None:
    with server.client() as client:
        client.replicaof(primary.host, primary.port)


def request(
    topic: str, acks: "pb.Acks.ValueType", value: bytes = b"paid", timeout_ms: int = 200
) -> pb.AppendRequest:
    records = pb.RecordSet(records=[pb.Record(value=value)])
    append = pb.PartitionAppend(topic=ref(topic), records=records)
    return pb.AppendRequest(partitions=[append], acks=acks, timeout_ms=timeout_ms)


async def append(
    storage: LogReplica, acks: "pb.Acks.ValueType", timeout_ms: int = 200
) -> ErrorCode:
    response = await storage.appends.append(request("orders", acks, timeout_ms=timeout_ms))
    return ErrorCode(response.partitions[0].error_code)


async def until(storage: LogReplica, wanted: ErrorCode) -> None:
    """Append with acks=all until the answer is the wanted one."""

    async def is_answer() -> bool:
        return await append(storage, pb.ACKS_ALL) is wanted

    await eventually(is_answer, within=30)


def length(server: RedisServer, topic: str = "orders") -> int:
    with server.client() as client:
        return int(client.xlen(KEYS.stream(topic, 0)))


def values(server: RedisServer, topic: str = "orders") -> list[bytes]:
    with server.client() as client:
        return [entry[b"value"] for _, entry in client.xrange(KEYS.stream(topic, 0))]


class AppendStream:
    """A caller of AppendStream: what he sends, and the answers that he gets."""

    def __init__(self) -> None:
        self._frames: asyncio.Queue[pb.AppendFrame] = asyncio.Queue()
        self._calls = 0
        self.answers: dict[int, ErrorCode] = {}

    def send(self, request: pb.AppendRequest) -> int:
        self._calls += 1
        call = pb.AppendCall(call=self._calls, request=request)
        self._frames.put_nowait(pb.AppendFrame(calls=[call]))
        return self._calls

    async def frames(self) -> AsyncIterator[pb.AppendFrame]:
        while True:
            yield await self._frames.get()

    async def write(self, frame: pb.AppendedFrame) -> None:
        for call in frame.calls:
            self.answers[call.call] = ErrorCode(call.response.partitions[0].error_code)


@asynccontextmanager
async def append_stream(storage: LogReplica) -> AsyncIterator[AppendStream]:
    stream = AppendStream()
    context = cast(Any, stream)
    running = asyncio.create_task(storage.appends.append_stream(stream.frames(), context))
    try:
        yield stream
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


async def test_acks_all_waits_for_replicas_and_says_when_there_are_too_few(
    storage: LogReplica, primary: RedisServer, redis_replica: RedisServer
) -> None:
    # No replica: refused beforehand, the very first append as well.
    assert await append(storage, pb.ACKS_ALL, PATIENT_MS) is ErrorCode.NOT_ENOUGH_REPLICAS
    assert length(primary) == 0
    assert await append(storage, pb.ACKS_LEADER) is ErrorCode.NONE
    assert length(primary) == 1

    with redis_replica:
        follow(redis_replica, primary)
        await until(storage, ErrorCode.NONE)
        assert await append(storage, pb.ACKS_ALL, PATIENT_MS) is ErrorCode.NONE
        assert length(redis_replica) == length(primary)

        # A replica that is connected but silent confirms nothing.
        with redis_replica.paused():
            code = await append(storage, pb.ACKS_ALL)
        assert code is ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND


async def test_what_waits_for_the_first_count_keeps_its_place(
    storage: LogReplica, primary: RedisServer, redis_replica: RedisServer
) -> None:
    with redis_replica:
        follow(redis_replica, primary)
        await eventually(lambda: has_replica(primary), within=30)
        async with append_stream(storage) as stream:
            sent = [b"%d" % number for number in range(40)]
            for number, value in enumerate(sent):
                acks = pb.ACKS_LEADER if number % 2 else pb.ACKS_ALL
                stream.send(request("orders", acks, value=value, timeout_ms=PATIENT_MS))
            await eventually(lambda: len(stream.answers) == len(sent), within=30)

        assert set(stream.answers.values()) == {ErrorCode.NONE}
        assert values(primary) == sent


async def test_appends_to_several_partitions_at_once_need_the_replicas_too(
    storage: LogReplica, primary: RedisServer
) -> None:
    appends = request("orders", pb.ACKS_ALL, timeout_ms=PATIENT_MS)

    response = await storage.atomic_appends.append(appends)

    assert response.partitions[0].error_code == ErrorCode.NOT_ENOUGH_REPLICAS
    assert length(primary) == 0


async def test_a_replica_that_hangs_holds_up_no_other_topic(
    storage: LogReplica, primary: RedisServer, redis_replica: RedisServer
) -> None:
    await storage.create("plain")
    with redis_replica:
        follow(redis_replica, primary)
        await until(storage, ErrorCode.NONE)
        before = length(primary)
        async with append_stream(storage) as stream:
            with redis_replica.paused():
                # More than a gateway may have under way, and than may be unconfirmed.
                safe = [
                    stream.send(request("orders", pb.ACKS_ALL, timeout_ms=PATIENT_MS))
                    for _ in range(5000)
                ]
                plain = [
                    stream.send(request("plain", pb.ACKS_ALL, timeout_ms=PATIENT_MS))
                    for _ in range(10)
                ]
                await eventually(
                    lambda: all(call in stream.answers for call in plain), within=30
                )

                assert {stream.answers[call] for call in plain} == {ErrorCode.NONE}
                refused = [call for call in safe if call in stream.answers]
                # Refused, not carried out; and nothing is confirmed that is not.
                assert {stream.answers[call] for call in refused} == {
                    ErrorCode.NOT_ENOUGH_REPLICAS
                }
                assert len(safe) - len(refused) == MAX_UNCONFIRMED
                written = before + MAX_UNCONFIRMED
                await eventually(lambda: length(primary) == written)

            everything = len(safe) + len(plain)
            await eventually(lambda: len(stream.answers) == everything, within=30)
            codes = Counter(stream.answers[call] for call in safe)
            assert codes[ErrorCode.NONE] == MAX_UNCONFIRMED
            assert codes[ErrorCode.NOT_ENOUGH_REPLICAS] == len(safe) - MAX_UNCONFIRMED
        # There is room again.
        assert await append(storage, pb.ACKS_ALL, PATIENT_MS) is ErrorCode.NONE


async def test_each_append_has_its_own_time(
    storage: LogReplica, primary: RedisServer, redis_replica: RedisServer
) -> None:
    with redis_replica:
        follow(redis_replica, primary)
        await until(storage, ErrorCode.NONE)
        async with append_stream(storage) as stream:
            with redis_replica.paused():
                # What waits first has the most time: the others do not wait for its end.
                patient = stream.send(request("orders", pb.ACKS_ALL, timeout_ms=PATIENT_MS))
                await eventually(lambda: is_waiting(primary))
                hasty = stream.send(request("orders", pb.ACKS_ALL, timeout_ms=50))
                await eventually(lambda: hasty in stream.answers)
                code = stream.answers[hasty]
                assert code is ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND
                assert patient not in stream.answers
            await eventually(lambda: patient in stream.answers)
            assert stream.answers[patient] is ErrorCode.NONE


def has_replica(primary: RedisServer) -> bool:
    with primary.client() as client:
        replica = client.info("replication").get("slave0", {})
        return bool(replica.get("state") == "online")


def is_waiting(primary: RedisServer) -> bool:
    """Whether a question for replicas is under way, beside that of the primary watch."""
    with primary.client() as client:
        return int(client.info("clients")["blocked_clients"]) >= 2


async def test_the_number_of_replicas_may_change_while_appends_are_under_way(
    storage: LogReplica, primary: RedisServer, redis_replica: RedisServer
) -> None:
    with redis_replica:
        follow(redis_replica, primary)
        await until(storage, ErrorCode.NONE)
        before = length(primary)
        sent = []
        async with append_stream(storage) as stream:
            with redis_replica.paused():
                for number in range(40):
                    if number % 10 == 9:
                        wanted = "1" if number % 20 == 9 else "2"
                        change = ConfigChange("min.insync.replicas", SET, wanted)
                        await storage.catalogue.alter_configs("orders", [change])
                    sent.append(b"%d" % number)
                    stream.send(
                        request(
                            "orders", pb.ACKS_ALL, value=sent[-1], timeout_ms=PATIENT_MS
                        )
                    )
                    # Each by itself, so that some wait for replicas when others come.
                    await asyncio.sleep(0)
                await eventually(lambda: length(primary) == before + len(sent))
            await eventually(lambda: len(stream.answers) == len(sent), within=30)

        assert set(stream.answers.values()) == {ErrorCode.NONE}
        assert values(primary)[before:] == sent


async def test_a_primary_that_goes_confirms_nothing(
    storage: LogReplica, primary: RedisServer, redis_replica: RedisServer
) -> None:
    with redis_replica:
        follow(redis_replica, primary)
        await until(storage, ErrorCode.NONE)
        with redis_replica.paused():
            waiting = asyncio.create_task(append(storage, pb.ACKS_ALL, PATIENT_MS))
            await eventually(lambda: is_waiting(primary))

            await asyncio.to_thread(primary.kill)

            assert await waiting is ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND
