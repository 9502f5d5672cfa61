import asyncio

from korvet.runtime.metrics import REGISTRY
from korvet.runtime.sampling import Sampler


class Found:
    """What a sampler does, one word each."""

    def __init__(self, fails: bool = False) -> None:
        self.log: list[str] = []
        self._fails = fails
        self.changed = asyncio.Event()

    async def sample(self) -> None:
        self._note("sampled")
        if self._fails:
            raise ValueError("it cannot be read")

    def forget(self) -> None:
        self._note("forgotten")

    def _note(self, word: str) -> None:
        self.log.append(word)
        self.changed.set()


async def test_nothing_is_asked_until_somebody_reads() -> None:
    found = Found()
    running = asyncio.create_task(Sampler(found.sample, found.forget).run())
    for _ in range(10):
        await asyncio.sleep(0)
    before = list(found.log)

    await asyncio.to_thread(REGISTRY.look)
    async with asyncio.timeout(5):
        await found.changed.wait()

    assert (before, found.log) == ([], ["sampled"])
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


async def test_what_cannot_be_asked_for_is_forgotten_and_ends_nothing() -> None:
    found = Found(fails=True)
    running = asyncio.create_task(Sampler(found.sample, found.forget).run())
    await asyncio.sleep(0)

    REGISTRY.look()
    async with asyncio.timeout(5):
        while "forgotten" not in found.log:
            found.changed.clear()
            await found.changed.wait()

    assert not running.done()
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
