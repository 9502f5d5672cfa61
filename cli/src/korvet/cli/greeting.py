"""What `korvet up` says when it is ready: where everything is, and what to try."""

import contextlib
import shutil
import sys
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

from rich.console import Console
from rich.markup import escape

from korvet.cli import embedded_redis
from korvet.cli.addresses import DEFAULT_METRICS
from korvet.cli.data_folder import DataFolder
from korvet.cli.plan import HOST, Plan


def greet(
    plan: Plan,
    redis: embedded_redis.EmbeddedRedis | None,
    folder: DataFolder | None,
    metrics_address: str,
    console: Console,
) -> None:
    korvet = _command_name()
    storage = "" if plan.storage_port == 50051 else f" --storage {plan.storage_address}"
    kafka = "" if plan.kafka_port == 9092 else f" --bootstrap {plan.kafka_address}"
    grpc = f"{plan.storage_address} (storage), {plan.coordinator_address} (coordinator)"
    lines = ["", f"  Kafka   {plan.kafka_address}", f"  gRPC    {grpc}"]
    trial = [
        f"{korvet} topics create orders{storage}",
        f"echo hello | {korvet} produce orders{kafka}",
        f"{korvet} consume orders --from earliest{kafka}",
    ]
    if redis is not None and folder is not None:
        version = ".".join(map(str, redis.version))
        lines.append(
            f"  Redis   {HOST}:{redis.port} (version {version}, data in {folder.path})"
        )
        if cli := embedded_redis.redis_cli():
            trial.append(f"{cli} -p {redis.port} XRANGE korvet:stream:orders:0 - +")
    else:
        lines.append(f"  Redis   {_without_password(plan.redis_url or '')}")
    lines.append(f"  Metrics http://{metrics_address}/metrics")
    usual = metrics_address == DEFAULT_METRICS
    metrics = "" if usual else f" --metrics {metrics_address}"
    trial.append(f"{korvet} top{metrics}")
    if plan.traces:
        trial.append(f"{korvet} trace{metrics}")
    console.print("\n".join(map(escape, lines)))
    console.print("\n[bold green]Korvet is ready.[/] Try in another terminal:\n")
    console.print("\n".join(escape(f"  {command}") for command in trial))
    console.print("\nCtrl-C stops it; the data stays." if folder else "\nCtrl-C stops it.")


def _without_password(url: str) -> str:
    parts = urlsplit(url)
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))


def _command_name() -> str:
    """What to type for this very command: its name if that finds it, else its path."""
    ours = Path(sys.argv[0]).absolute()
    found = shutil.which("korvet")
    if found is not None and Path(found).absolute() == ours:
        return "korvet"
    with contextlib.suppress(ValueError):
        return str(ours.relative_to(Path.cwd()))
    return str(ours)
