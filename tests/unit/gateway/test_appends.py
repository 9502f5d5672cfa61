import asyncio
from collections.abc import Awaitable, Sequence
from typing import NamedTuple

import pytest

from korvet.gateway.appends import Appends
from korvet.gateway.handler import PartitionBatch, TopicPartition
from korvet.gateway.storage_link import AppendStream, new_append_stream
from korvet.kafka.errors import ErrorCode
from korvet.proto.storage.v1 import storage_service_pb2 as pb
from korvet.runtime.stream_connection import StreamLost
from tests.support.fake_duplex import FakeDuplex
from tests.support.kafka_client import settle


class Link(NamedTuple):
    """A replica whose append stream is a test's to answer, or to break."""

    address: str
    appends: AppendStream
    duplex: FakeDuplex[pb.AppendFrame]
    task: "asyncio.Task[None]"

    @classmethod
    async def up(cls, address: str) -> "Link":
        appends = new_append_stream()
        duplex: FakeDuplex[pb.AppendFrame] = FakeDuplex()
        task = asyncio.create_task(appends.run(duplex))
        await settle()
        return cls(address, appends, duplex, task)

    def received(self) -> list[tuple[str, int, bytes]]:
        return [
            (item.topic.name, item.partition, item.batch)
            for frame in self.duplex.frames
            for call in frame.calls
            for item in call.request.partitions
        ]

    def answer(self) -> None:
        """Answer everything; the offset tells the partition."""
        frame = pb.AppendedFrame()
        for received in self.duplex.frames:
            for call in received.calls:
                frame.calls.add(call=call.call).response.partitions.extend(
                    pb.PartitionAppended(base_offset=item.partition)
                    for item in call.request.partitions
                )
        self.duplex.answer(frame)

    async def break_down(self) -> None:
        self.duplex.cancel()
        with pytest.raises(StreamLost):
            await self.task

    async def stop(self) -> None:
        self.duplex.end()
        await self.task


class Links:
    def __init__(self, *links: Link) -> None:
        self.links = list(links)

    @property
    def all(self) -> Sequence[Link]:
        return self.links


def batches(partitions: Sequence[int], payload: bytes = b"batch") -> list[PartitionBatch]:
    return [
        PartitionBatch(TopicPartition("orders", b"", partition), payload)
        for partition in partitions
    ]


async def append(
    appends: Appends, partitions: Sequence[int], payload: bytes = b"batch"
) -> Awaitable[Sequence[pb.PartitionAppended]]:
    return await appends.append(
        batches(partitions, payload), acks=pb.ACKS_ALL, time_limit=1.5
    )


def codes(results: Sequence[pb.PartitionAppended]) -> list[int]:
    return [result.error_code for result in results]


async def test_batches_go_out_with_acks_and_time_limit() -> None:
    link = await Link.up("a")

    pending = await append(Appends(Links(link)), [0, 1])
    await settle()
    link.answer()

    request = link.duplex.frames[0].calls[0].request
    assert (request.acks, request.timeout_ms) == (pb.ACKS_ALL, 1500)
    assert link.received() == [("orders", 0, b"batch"), ("orders", 1, b"batch")]
    assert [result.base_offset for result in await pending] == [0, 1]
    await link.break_down()


async def test_a_topic_by_id_is_named_by_its_id_alone() -> None:
    link = await Link.up("a")
    target = TopicPartition("", b"i" * 16, 3)

    await Appends(Links(link)).append(
        [PartitionBatch(target, b"batch")], acks=pb.ACKS_LEADER, time_limit=1
    )
    await settle()

    item = link.duplex.frames[0].calls[0].request.partitions[0]
    assert (item.topic.id, item.topic.name, item.partition) == (b"i" * 16, "", 3)
    await link.break_down()


async def test_storage_is_told_of_epochs_that_are_one_transactions() -> None:
    link = await Link.up("a")
    targets = [TopicPartition("orders", b"", partition) for partition in (0, 1)]

    await Appends(Links(link)).append(
        [
            PartitionBatch(target, b"batch", epoch_per_transaction=target.partition == 1)
            for target in targets
        ],
        acks=pb.ACKS_LEADER,
        time_limit=1,
    )
    await settle()

    items = link.duplex.frames[0].calls[0].request.partitions
    assert [item.epoch_per_transaction for item in items] == [False, True]
    await link.break_down()


async def test_partitions_spread_over_replicas_and_results_keep_their_order() -> None:
    links = [await Link.up("a"), await Link.up("b")]

    pending = await append(Appends(Links(*links)), range(20))
    await settle()
    for link in links:
        assert 3 < len(link.received()) < 17
        link.answer()

    assert [result.base_offset for result in await pending] == list(range(20))
    for link in links:
        await link.break_down()


async def test_a_partition_stays_with_its_replica_while_anything_is_under_way() -> None:
    first = await Link.up("a")
    links = Links(first)
    appends = Appends(links)
    pending = [await append(appends, range(20))]
    await settle()

    second = await Link.up("b")
    links.links.append(second)
    pending.append(await append(appends, range(20)))
    await settle()
    assert second.received() == []
    first.answer()
    for each in pending:
        await each
    await settle()
    await append(appends, range(20))
    await settle()

    assert second.received() != []
    await first.break_down()
    await second.break_down()


async def test_what_a_stopping_replica_did_not_answer_was_not_written() -> None:
    link = await Link.up("a")
    appends = Appends(Links(link))
    answered = await append(appends, [0])
    await settle()
    link.answer()
    await settle()
    unanswered = await append(appends, [0])
    await settle()

    await link.stop()

    assert codes(await answered) == [ErrorCode.NONE]
    assert codes(await unanswered) == [ErrorCode.KAFKA_STORAGE_ERROR]


async def test_a_broken_stream_makes_sent_batches_unknown_and_unsent_ones_not_written() -> (
    None
):
    link = await Link.up("a")
    appends = Appends(Links(link))
    link.duplex.may_write.clear()
    sent = await append(appends, [0])
    await settle()
    unsent = await append(appends, [0])

    await link.break_down()

    assert codes(await sent) == [ErrorCode.REQUEST_TIMED_OUT]
    assert codes(await unsent) == [ErrorCode.KAFKA_STORAGE_ERROR]


async def test_when_one_of_two_replicas_breaks_only_its_partitions_fail() -> None:
    good, bad = await Link.up("a"), await Link.up("b")
    appends = Appends(Links(good, bad))
    pending = await append(appends, range(20))
    await settle()
    lost = {partition for _, partition, _ in bad.received()}

    await bad.break_down()
    good.answer()

    for partition, result in enumerate(await pending):
        expected = ErrorCode.REQUEST_TIMED_OUT if partition in lost else ErrorCode.NONE
        assert result.error_code == expected
    # And what comes next goes where it can.
    await append(appends, range(20))
    await settle()
    assert len(good.received()) == 40 - len(lost)
    await good.break_down()


async def test_without_any_replica_nothing_was_written() -> None:
    pending = await append(Appends(Links()), [0, 1])

    assert codes(await pending) == [ErrorCode.KAFKA_STORAGE_ERROR] * 2


async def test_pins_are_forgotten_when_nothing_is_under_way() -> None:
    link = await Link.up("a")
    appends = Appends(Links(link))
    pending = await append(appends, range(5))
    await settle()
    link.answer()
    await pending
    await settle()

    assert not appends._pins
    await link.break_down()
