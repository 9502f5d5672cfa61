"""Shows something again and again, in place at a terminal, until Ctrl-C.

A refresh that fails after the first is shown below what was known last, and tried again:
what is watched is often just what comes and goes.
"""

import asyncio
import signal
from collections.abc import Awaitable, Callable

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.markup import escape

from korvet.cli.failure import Failure


async def watch(
    read: Callable[[], Awaitable[RenderableType]], seconds: float, console: Console
) -> None:
    watching = asyncio.ensure_future(_redraw(read, seconds, console))
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, watching.cancel)
    await asyncio.wait({watching})
    if not watching.cancelled():
        watching.result()


async def _redraw(
    read: Callable[[], Awaitable[RenderableType]], seconds: float, console: Console
) -> None:
    shown = await read()
    if not console.is_terminal:
        while True:
            try:
                console.print(shown, "", soft_wrap=False)
            except SystemExit:
                # That is how Rich says that nobody reads the pipe any more.
                return
            await asyncio.sleep(seconds)
            shown = await read()
    with Live(shown, console=console, auto_refresh=False) as live:
        while True:
            await asyncio.sleep(seconds)
            try:
                shown = await read()
            except Failure as failure:
                problem = f"\n[bold red]Error:[/] {escape(failure.problem)}"
                live.update(Group(shown, problem), refresh=True)
            else:
                live.update(shown, refresh=True)
