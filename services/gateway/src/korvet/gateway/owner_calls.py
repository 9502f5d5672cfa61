"""Calls that only the owner of a group, or of a transactional id, carries out.

They go where the id is, and wait for an owner while it has none. Clients could do that
waiting, but do it badly: they take this gateway for the coordinator that has gone, and some
are still busy looking for another when their sessions end.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final, Protocol, TypeVar

from korvet.gateway.call_stream import Lost
from korvet.gateway.coordinator_link import CoordinatorLink
from korvet.gateway.owners import Owners
from korvet.gateway.service_links import ServiceLinks
from korvet.gateway.unary_calls import refusing
from korvet.kafka.errors import ErrorCode, KafkaError
from korvet.proto.coordinator.v1 import coordinator_service_pb2_grpc as pb_grpc

# From one coordinator to the owner that it names, and on, if the id moves meanwhile.
_MAX_HOPS: Final = 4
_CONNECT_TIME: Final = 1.0
# Between attempts to find an owner while there is none: the last one is gone, and its lease
# has yet to end.
_PAUSE: Final = 0.2


class OwnersAnswer(Protocol):
    """An answer to a call that only an owner carries out."""

    @property
    def error_code(self) -> int: ...

    @property
    def coordinator_address(self) -> str: ...


Answer = TypeVar("Answer", bound=OwnersAnswer)


class OwnerCalls:
    """To the owners of ids of one kind."""

    def __init__(self, links: ServiceLinks[CoordinatorLink], *, deadline: float) -> None:
        self._links = links
        self._owners = Owners()
        self._deadline = deadline

    def guess(
        self, id_: str, *, but: CoordinatorLink | None = None
    ) -> CoordinatorLink | None:
        """Who is likely to be the owner, for what any coordinator can answer."""
        return self._owners.choose(id_, self._links.all, but=but)

    async def call(
        self,
        id_: str,
        invoke: Callable[["pb_grpc.CoordinatorServiceAsyncStub"], Awaitable[Answer]],
        failure: ErrorCode,
    ) -> Answer:
        """Make a call that goes over no stream."""

        async def attempt(link: CoordinatorLink) -> Answer | Lost:
            if not link.takes_calls:
                await link.wait_for_calls()
            with refusing(link, failure):
                return await invoke(link.stub)

        return await self.find(id_, attempt, failure)

    async def find(
        self,
        id_: str,
        attempt: Callable[[CoordinatorLink], Awaitable[Answer | Lost]],
        failure: ErrorCode,
    ) -> Answer:
        """Have an attempt made with the owner; raises KafkaError with `failure`."""
        loop = asyncio.get_running_loop()
        limit = loop.time() + self._deadline
        while True:
            answer = await self._follow(id_, attempt)
            if not isinstance(answer, Lost):
                return answer
            if (
                answer is Lost.UNKNOWN
                or not self._links.is_configured
                or loop.time() + _PAUSE >= limit
            ):
                raise unreachable(failure)
            await asyncio.sleep(_PAUSE)

    async def _follow(
        self, id_: str, attempt: Callable[[CoordinatorLink], Awaitable[Answer | Lost]]
    ) -> Answer | Lost:
        """Ask who is likely to be the owner, and whom that one names, for a few steps."""
        owners = self._owners
        link = self.guess(id_)
        for _ in range(_MAX_HOPS):
            if link is None:
                break
            try:
                answer = await attempt(link)
            except KafkaError:
                owners.doubt(id_, link)
                raise
            if answer is Lost.UNKNOWN:
                owners.doubt(id_, link)
                return answer
            if isinstance(answer, Lost):
                owners.forget(id_)
                link = self.guess(id_, but=link)
            elif answer.error_code == ErrorCode.NOT_COORDINATOR:
                owners.forget(id_)
                link = await self._named(answer.coordinator_address)
            else:
                owners.remember(id_, link)
                return answer
        # Nobody has carried it out, so it may be tried again.
        return Lost.NOT_SENT

    async def _named(self, address: str) -> CoordinatorLink | None:
        link = self._links.named(address) if address else None
        if link is None or link.is_live or await link.wait_until_live(_CONNECT_TIME):
            return link
        return None


def unreachable(code: ErrorCode) -> KafkaError:
    return KafkaError(code, "the coordinator cannot be reached")
