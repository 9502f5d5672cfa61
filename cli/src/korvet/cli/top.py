"""`korvet top`: what goes on, refreshed in place.

It reads what Prometheus would read. `korvet up` serves that for all its processes at one
address; elsewhere each process has one of its own.
"""

import asyncio
import shutil
import time
from collections.abc import Sequence
from typing import Annotated, Any, Final

import typer
from rich.console import RenderableType

from korvet.cli.addresses import DEFAULT_METRICS, MetricsOption, no_metrics
from korvet.cli.exposition import samples
from korvet.cli.page_client import PageError, read_page
from korvet.cli.terminal import JsonOption, console, print_json
from korvet.cli.top_model import Look, View, view
from korvet.cli.top_views import rendered
from korvet.cli.watching import watch

_PATH: Final = "/metrics"
# The first rates are of so long.
_FIRST_SECONDS: Final = 1.0


def top(
    metrics: MetricsOption = DEFAULT_METRICS,
    every: Annotated[
        float,
        typer.Option("--every", metavar="SECONDS", min=0.2, help="How often to look."),
    ] = 2.0,
    as_json: JsonOption = False,
) -> None:
    """Show requests, topics, groups and Redis as they are now, until Ctrl-C.

    With --json, rates over --every seconds are written once.
    """
    reading = _Reading([address.strip() for address in metrics.split(",")])
    if as_json:
        print_json(_plain(asyncio.run(reading.over(every))))
        return
    asyncio.run(watch(reading.shown, every, console))


class _Reading:
    """Looks again and again; what is shown is between the last look and the one before."""

    def __init__(self, addresses: Sequence[str]) -> None:
        self._addresses = addresses
        self._last: Look | None = None

    async def over(self, seconds: float) -> View:
        before = await self._look()
        await asyncio.sleep(seconds)
        return view(before, await self._look())

    async def shown(self) -> RenderableType:
        before = self._last
        if before is None:
            before = await self._look()
            await asyncio.sleep(_FIRST_SECONDS)
        now = self._last = await self._look()
        # The size may change meanwhile.
        columns, lines = shutil.get_terminal_size((console.width, 50))
        return rendered(view(before, now), min(columns, console.width), lines)

    async def _look(self) -> Look:
        texts = await asyncio.gather(*map(self._read, self._addresses))
        told = {
            address: tuple(samples(text))
            for address, text in zip(self._addresses, texts, strict=True)
        }
        return Look(time.monotonic(), told)

    async def _read(self, address: str) -> str:
        try:
            return await read_page(address, _PATH)
        except PageError:
            raise no_metrics(address) from None


def _plain(value: Any) -> Any:
    """Named tuples as objects, for JSON."""
    if hasattr(value, "_asdict"):
        return {name: _plain(each) for name, each in value._asdict().items()}
    return [_plain(each) for each in value] if isinstance(value, list) else value
