"""`korvet up`: the command line; `all_in_one.py` does it."""

from pathlib import Path
from typing import Annotated

import typer

from korvet.cli.addresses import METRICS_PORT


def up(
    context: typer.Context,
    port: Annotated[int, typer.Option(help="For Kafka clients. 0: any free port.")] = 9092,
    storage_port: Annotated[
        int, typer.Option(help="For gRPC clients of the log. 0: any free port.")
    ] = 50051,
    coordinator_port: Annotated[
        int,
        typer.Option(help="For gRPC clients of consumer groups. 0: any free port."),
    ] = 50052,
    metrics_port: Annotated[
        int | None,
        typer.Option(
            help="For `korvet top` and Prometheus. 0: any free port.",
            show_default=f"{METRICS_PORT}, or any free port if that is taken",
        ),
    ] = None,
    data: Annotated[
        Path, typer.Option(metavar="DIR", help="Where the embedded Redis keeps its data.")
    ] = Path("korvet-data"),
    redis: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            help="Use this Redis (redis://HOST:PORT) instead of an embedded one.",
        ),
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            help="A server-wide setting by Kafka's name (num.partitions=3), or the default"
            " of a topic config (storage.format=batch). May be repeated.",
        ),
    ] = None,
    trace: Annotated[
        bool, typer.Option("--trace", help="Keep the last requests for `korvet trace`.")
    ] = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Show the log of every process.")
    ] = False,
) -> None:
    """Run Korvet on this machine, until Ctrl-C."""
    # Not at the top: the services' settings are slow to import, and only `up` needs them.
    from korvet.cli import all_in_one

    all_in_one.run(
        port=port,
        storage_port=storage_port,
        coordinator_port=coordinator_port,
        metrics_port=metrics_port,
        data=data,
        redis_url=redis,
        options=set_ or [],
        traces=trace,
        verbose=verbose,
        environ=context.obj,
    )
