"""Runs a service's main coroutine, and turns signals into an orderly stop."""

import asyncio
import gc
import signal
from collections.abc import Callable, Coroutine
from typing import Any, TypeAlias

import uvloop

Main: TypeAlias = Callable[[asyncio.Event], Coroutine[Any, Any, None]]


def run(main: Main) -> None:
    """Run `main(stop)` on uvloop; the first SIGTERM or SIGINT sets `stop`.

    From then on signals have their usual effect, so that a second one ends a process whose
    drain takes too long.
    """
    _collect_less()
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_until_stopped(main))


def _collect_less() -> None:
    """Look for cyclic garbage seldom.

    A fetch of record entries is tens of thousands of small lists, none of them in a cycle;
    looking through them at Python's own pace was 40 % of the time of reading them.
    """
    gc.freeze()
    gc.set_threshold(200_000, 20, 20)


async def _until_stopped(main: Main) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    signals = (signal.SIGTERM, signal.SIGINT)

    def on_signal() -> None:
        stop.set()
        for number in signals:
            loop.remove_signal_handler(number)

    for number in signals:
        loop.add_signal_handler(number, on_signal)
    await main(stop)
