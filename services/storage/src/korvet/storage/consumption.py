"""One consumer of a work queue, for as long as its stream lasts.

Nothing polls. It looks at a partition when something was appended or released there, and
when an entry that somebody has not acknowledged may have become anybody's; and only while
more records may be in flight.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Final, NamedTuple, TypeAlias, TypeVar

from korvet.kafka.errors import KafkaError
from korvet.proto.storage.v1 import storage_service_pb2 as pb
from korvet.redis.failures import InvalidRequestError
from korvet.redis.keys import Keys
from korvet.storage import log_metrics
from korvet.storage.questions import answered_for
from korvet.storage.queue_holdings import Holdings, SettledEntry
from korvet.storage.read_calls import fill_record
from korvet.storage.request_limits import check_partitions
from korvet.storage.topic import Topic
from korvet.storage.topic_lookup import TopicLookup, unknown_topic
from korvet.storage.wakeups import Listener, Wakeups
from korvet.storage.work_queue import Take, WorkQueue

Answer = TypeVar("Answer")
Write: TypeAlias = Callable[[pb.ConsumeResponse], Awaitable[None]]

_ANSWER_BYTES: Final = 4 << 20
# So late at most are partitions noticed that a topic got meanwhile.
_LONGEST_WAIT: Final = 30.0
# What a consumer has released, others may have first.
_OTHERS_FIRST: Final = 0.05
# Settled positions that wait for a caller to read of them; then no more are settled.
_MOST_SETTLED: Final = 100_000


class ConsumeOptions(NamedTuple):
    topic: pb.TopicRef
    # Those that the topic gets later, too.
    all_partitions: bool
    max_in_flight: int
    redeliver_after_ms: int


class _Followed:
    """A partition, and what there is to look for in it."""

    __slots__ = ("channel", "claim_at", "has_news", "listener", "stands_back_until")

    def __init__(self, channel: str, listener: Listener) -> None:
        self.channel = channel
        self.listener = listener
        self.has_news = True
        # When to look for what others have not acknowledged.
        self.claim_at = 0.0
        self.stands_back_until = 0.0


class Consumption:
    def __init__(
        self,
        queue: WorkQueue,
        lookup: TopicLookup,
        wakeups: Wakeups,
        keys: Keys,
        options: ConsumeOptions,
        topic: Topic,
    ) -> None:
        self._queue = queue
        self._lookup = lookup
        self._wakeups = wakeups
        self._keys = keys
        self._options = options
        self._topic = topic
        self._redeliver_after = options.redeliver_after_ms / 1000
        self._holdings = Holdings(options.max_in_flight)
        self._followed: dict[int, _Followed] = {}
        self._settled: list[pb.ConsumeRequest.Position] = []
        self._changed = asyncio.Event()
        self._written = asyncio.Event()
        self._loop = asyncio.get_running_loop()

    # --- its partitions ---

    async def follow(self, offsets: Mapping[int, int]) -> None:
        """Join the group on partitions; where it is new, it begins with these offsets."""
        for partition, offset in offsets.items():
            channel = self._keys.appended(self._topic.name, partition)
            followed = _Followed(channel, self._listener(partition))
            self._followed[partition] = followed
            self._wakeups.listen(channel, followed.listener)
            await self._asked(self._queue.join(self._topic, partition, offset))

    def leave(self) -> None:
        """What is not acknowledged stays pending, for others to get it in time."""
        for partition, followed in self._followed.items():
            self._wakeups.forget(followed.channel, followed.listener)
            self._queue.leave(self._topic, partition)

    def _listener(self, partition: int) -> Listener:
        def heard(log_bytes: int | None) -> None:
            if followed := self._followed.get(partition):
                followed.has_news = True
                if log_bytes is None:
                    # Not an append: something was released, or the topic is gone.
                    followed.claim_at = followed.stands_back_until
                self._changed.set()

        return heard

    # --- what goes out ---

    async def deliver_own(self, write: Write) -> None:
        """Say that the consumer is here, with what it had when it last went.

        That comes before anything is settled: it may be just that.
        """
        await write(pb.ConsumeResponse())
        for partition in list(self._followed):
            after, has_more = None, True
            while has_more and self._holdings.room > 0:
                taken = await self._asked(
                    self._queue.take_own(self._topic, partition, self._holdings.room, after)
                )
                has_more = taken.claim_after == 0
                after = taken.entries[-1].id if taken.entries else after
                self._hold(taken)
                while self._holdings.has_backlog and self._holdings.room > 0:
                    await write(self._response())
                await self._settle_unreadable()

    async def deliver(self, write: Write) -> None:
        """Deliver until cancelled; KafkaError where that cannot go on."""
        while True:
            await self._check_topic()
            self._changed.clear()
            now = self._loop.time()
            self._holdings.expire(now - self._redeliver_after)
            partition = self._next_partition(now) if self._can_take else None
            if partition is not None:
                await self._take(partition)
            response = self._response()
            await self._settle_unreadable()
            if response.deliveries or response.settled:
                await write(response)
            elif partition is None:
                await self._wait()

    @property
    def _can_take(self) -> bool:
        return self._holdings.room > 0 and not self._holdings.has_backlog

    def _response(self) -> pb.ConsumeResponse:
        response = pb.ConsumeResponse(settled=self._settled)
        self._settled.clear()
        self._written.set()
        for partition, record, count in self._holdings.deliver(_ANSWER_BYTES):
            delivery = response.deliveries.add(partition=partition, delivery_count=count)
            fill_record(delivery.record, record)
        if count := len(response.deliveries):
            log_metrics.delivered(self._topic.name, count, response.ByteSize())
        return response

    async def write_settled(self, write: Write) -> None:
        if self._settled:
            await write(pb.ConsumeResponse(settled=self._settled))

    async def _check_topic(self) -> None:
        # Found anew each turn, so that a topic deleted meanwhile is noticed.
        topic = await self._lookup.find(self._options.topic, 0)
        if topic.id != self._topic.id:
            raise KafkaError(unknown_topic(self._options.topic), topic.name)
        self._topic = topic
        if self._options.all_partitions and topic.partitions > len(self._followed):
            # Everything in them was appended after the group began.
            new = range(len(self._followed), topic.partitions)
            await self.follow(dict.fromkeys(new, 0))

    def _next_partition(self, now: float) -> int | None:
        for partition, followed in self._followed.items():
            if followed.has_news or followed.claim_at <= now:
                return partition
        return None

    async def _take(self, partition: int) -> None:
        # It comes last next time, so that none starves.
        followed = self._followed[partition] = self._followed.pop(partition)
        now = self._loop.time()
        is_due = followed.claim_at <= now
        # Before it is asked: what comes later is news again.
        followed.has_news = False
        if is_due:
            followed.claim_at = now + self._redeliver_after
        taken = await self._asked(
            self._queue.take(
                self._topic,
                partition,
                self._holdings.room,
                self._options.redeliver_after_ms if is_due else None,
            )
        )
        followed.has_news |= not taken.is_drained
        if taken.claim_after is not None:
            followed.claim_at = min(followed.claim_at, now + taken.claim_after)
        self._hold(taken)

    def _hold(self, taken: Take) -> None:
        now = self._loop.time()
        for entry in taken.entries:
            self._holdings.put(entry, now)

    async def _settle_unreadable(self) -> None:
        for entry in self._holdings.take_unreadable():
            await self._asked(self._queue.settle(self._topic, entry.partition, [entry]))

    async def _wait(self) -> None:
        now = self._loop.time()
        until = now + _LONGEST_WAIT
        if self._can_take:
            until = min([until, *(each.claim_at for each in self._followed.values())])
        elif (oldest := self._holdings.oldest_taken_at) is not None:
            until = min(until, oldest + self._redeliver_after)
        try:
            async with asyncio.timeout_at(until):
                await self._changed.wait()
        except TimeoutError:
            return

    # --- what comes in ---

    async def settle(self, request: pb.ConsumeRequest) -> None:
        """Carry out one message's acknowledgements and releases."""
        if request.HasField("start"):
            raise InvalidRequestError("only the first message has a start")
        check_partitions(request.acknowledged)
        check_partitions(request.released)
        entries: dict[int, list[SettledEntry]] = {}
        for positions, is_released in (
            (request.acknowledged, False),
            (request.released, True),
        ):
            for position in positions:
                entry = self._holdings.settle(
                    position.partition, position.offset, is_released=is_released
                )
                if entry:
                    entries.setdefault(entry.partition, []).append(entry)
                    if entry.is_released:
                        followed = self._followed[entry.partition]
                        followed.stands_back_until = self._loop.time() + _OTHERS_FIRST
        await asyncio.gather(
            *(
                self._asked(self._queue.settle(self._topic, partition, settled))
                for partition, settled in entries.items()
            )
        )
        self._settled += [*request.acknowledged, *request.released]
        self._changed.set()
        while len(self._settled) > _MOST_SETTLED:
            self._written.clear()
            await self._written.wait()

    async def _asked(self, answer: Awaitable[Answer]) -> Answer:
        return await answered_for(self._lookup, self._options.topic, self._topic, answer)
