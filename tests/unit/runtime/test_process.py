import asyncio
import os
import signal

import pytest

from korvet.runtime import process


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_asks_the_service_to_stop(number: signal.Signals) -> None:
    ended = []

    async def main(stop: asyncio.Event) -> None:
        os.kill(os.getpid(), number)
        await asyncio.wait_for(stop.wait(), timeout=5)
        ended.append("in order")

    process.run(main)

    assert ended == ["in order"]


def test_a_second_interrupt_ends_a_drain_that_takes_too_long() -> None:
    async def main(stop: asyncio.Event) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        await asyncio.wait_for(stop.wait(), timeout=5)
        os.kill(os.getpid(), signal.SIGINT)
        await asyncio.sleep(60)

    with pytest.raises(KeyboardInterrupt):
        process.run(main)
