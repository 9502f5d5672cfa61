"""`korvet trace`: the last requests as waterfalls, of a `korvet up --trace`."""

import asyncio
import json
from typing import Annotated, Any, Final

import typer

from korvet.cli.addresses import DEFAULT_METRICS, MetricsOption, no_metrics
from korvet.cli.failure import Failure
from korvet.cli.page_client import (
    TRACES_PATH,
    MissingPageError,
    PageError,
    read_page,
)
from korvet.cli.terminal import JsonOption, console, errors, print_json
from korvet.cli.trace_model import Trace, traces_of
from korvet.cli.trace_views import waterfalls

# In a pipe there is no width, and nobody reads bars that are longer.
_MOST_COLUMNS: Final = 200


def trace(
    trace_id: Annotated[
        str, typer.Argument(metavar="[TRACE]", help="One trace, by how its id begins.")
    ] = "",
    last: Annotated[int, typer.Option(metavar="N", min=1, help="So many requests.")] = 5,
    api: Annotated[
        str, typer.Option(metavar="API", help="Only this Kafka API, as Produce or Fetch.")
    ] = "",
    topic: Annotated[str, typer.Option(help="Only those that are about this topic.")] = "",
    slower_than: Annotated[
        float, typer.Option(metavar="MS", min=0, help="Only those that took longer.")
    ] = 0,
    failed: Annotated[
        bool, typer.Option("--failed", help="Only those with an error.")
    ] = False,
    metrics: MetricsOption = DEFAULT_METRICS,
    as_json: JsonOption = False,
) -> None:
    """Show the last requests as waterfalls. Start Korvet with `korvet up --trace`."""
    page = asyncio.run(_read(metrics))

    def is_wanted(each: Trace) -> bool:
        return (
            each.trace_id.startswith(trace_id.lower())
            and (not api or each.api.lower() == api.lower())
            and (not topic or topic in each.topics)
            and each.root.seconds * 1000 >= slower_than
            and (not failed or any(row.span.error for row in each.rows))
        )

    found = [each for each in traces_of(page) if is_wanted(each)][-last:]
    if as_json:
        by_id = {each["trace_id"]: each for each in page}
        print_json([by_id[each.trace_id] for each in found])
        return
    if not found:
        errors.print("There is no such request among the last ones.")
        return
    console.print(waterfalls(found, min(console.width, _MOST_COLUMNS)), soft_wrap=False)


async def _read(address: str) -> list[dict[str, Any]]:
    try:
        found: list[dict[str, Any]] = json.loads(await read_page(address, TRACES_PATH))
    except MissingPageError:
        raise Failure(
            f"The Korvet at {address} keeps no traces.",
            "Start it with `korvet up --trace`.",
        ) from None
    except PageError:
        raise no_metrics(address) from None
    return found
