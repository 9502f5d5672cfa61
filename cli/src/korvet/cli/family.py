"""The child processes of one `korvet up`, which start in order and stop in reverse."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

from korvet.cli.child import Child
from korvet.cli.failure import Failure

# Longer than a service takes to drain: killing it is for one that hangs.
_STOP_GRACE: Final = 20.0


class Family:
    """Knows every child that was started; `stop` or `kill` ends them all."""

    def __init__(self) -> None:
        self._children: list[Child] = []

    def add(self, child: Child) -> None:
        self._children.append(child)

    async def wait_until_ready(
        self, child: Child, is_ready: Callable[[], Awaitable[bool]], deadline: float
    ) -> None:
        """Ask until the child is ready, for `deadline` seconds; fail if any child ends."""
        try:
            async with asyncio.timeout(deadline):
                while not await is_ready():
                    if any(each.exited.done() for each in self._children):
                        raise await self.first_to_end()
                    await asyncio.sleep(0.05)
        except TimeoutError:
            raise Failure(
                f"{child.name} was not ready after {deadline:.0f} seconds.",
                child.last_lines(),
            ) from None

    async def first_to_end(self) -> Failure:
        """Wait until a child ends by itself, and say how."""
        exits = {child.exited for child in self._children}
        await asyncio.wait(exits, return_when=asyncio.FIRST_COMPLETED)
        ended = next(child for child in self._children if child.exited.done())
        return await ended.failure()

    async def stop(self) -> None:
        """Stop the last one started first: each may still need those before it."""
        while self._children:
            await self._children[-1].stop(_STOP_GRACE)
            self._children.pop()

    def kill(self) -> None:
        for child in self._children:
            child.kill()
