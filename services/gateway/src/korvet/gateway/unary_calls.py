"""Calls that go over no stream, to whichever replica of a service is best off.

A call that could not be answered becomes a KafkaError with the code that its API's clients
retry. What only reads is asked of a second replica first; what changes something is not,
since nobody can say whether it did.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any, Generic, Protocol, TypeVar

import grpc

from korvet.gateway.service_link import ServiceLink
from korvet.kafka.errors import ErrorCode, KafkaError
from korvet.runtime.cancellation import heed_cancellation

Stub = TypeVar("Stub")
_Answer = TypeVar("_Answer")


class Links(Protocol[Stub]):
    """The replicas that there are now."""

    def choose(self, *, but: object = None) -> ServiceLink[Stub] | None: ...


class UnaryCalls(Generic[Stub]):
    def __init__(self, service: str, links: Links[Stub]) -> None:
        self._service = service
        self._links = links

    async def ask(
        self, invoke: Callable[[Stub], Awaitable[_Answer]], failure: ErrorCode
    ) -> _Answer:
        """Call what only reads: a replica that is not there is no reason to fail."""
        first = await self._choose_ready(failure)
        try:
            return await invoke(first.stub)
        except grpc.aio.AioRpcError as error:
            heed_cancellation()
            if error.code() is not grpc.StatusCode.UNAVAILABLE:
                raise _refusal(first, failure, error) from error
        except asyncio.CancelledError:
            heed_cancellation()
        second = await self._choose_ready(failure, but=first)
        with refusing(second, failure):
            return await invoke(second.stub)

    async def change(
        self, invoke: Callable[[Stub], Awaitable[_Answer]], failure: ErrorCode
    ) -> _Answer:
        """Call what changes something: whether it did is unknown when it fails."""
        link = await self._choose_ready(failure)
        with refusing(link, failure):
            return await invoke(link.stub)

    def choose(self, failure: ErrorCode, *, but: object = None) -> ServiceLink[Stub]:
        link = self._links.choose(but=but)
        if link is None:
            raise KafkaError(failure, f"{self._service} cannot be reached")
        return link

    async def _choose_ready(
        self, failure: ErrorCode, *, but: object = None
    ) -> ServiceLink[Stub]:
        link = self.choose(failure, but=but)
        if not link.takes_calls:
            await link.wait_for_calls()
        return link


@contextmanager
def refusing(link: ServiceLink[Any], failure: ErrorCode) -> Iterator[None]:
    """Turn what gRPC raises when a replica could not answer into a refusal."""
    try:
        yield
    except grpc.aio.AioRpcError as error:
        heed_cancellation()
        raise _refusal(link, failure, error) from error
    except asyncio.CancelledError:
        heed_cancellation()
        raise KafkaError(failure, f"{link.name} ended the call") from None


def _refusal(
    link: ServiceLink[Any], failure: ErrorCode, error: grpc.aio.AioRpcError
) -> KafkaError:
    return KafkaError(failure, f"{link.name}: {error.code().name}: {error.details()}")
