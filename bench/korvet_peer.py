"""Korvet as a newcomer runs it: `korvet up`, its own Redis, one format a server."""

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import psutil

from bench.peer import Peer, answers
from bench.processes import PeerError, Roles, free_ports, running, wait_until

# What a command line contains, and the role it shows.
_ROLES: Final = {
    "korvet.gateway": "gateway",
    "korvet.storage": "storage",
    "korvet.coordinator": "coordinator",
    "redis": "redis",
}


@contextmanager
def korvet(
    folder: Path, storage_format: str, settings: Mapping[str, str] | None = None
) -> Iterator[Peer]:
    """A fresh Korvet on free ports, whose topics are of this format by default."""
    folder.mkdir(parents=True)
    port, storage_port, coordinator_port = free_ports(3)
    log = folder / "korvet.log"
    command: list[str | Path] = [
        Path(sys.executable).parent / "korvet",
        "up",
        *("--port", str(port)),
        *("--storage-port", str(storage_port)),
        *("--coordinator-port", str(coordinator_port)),
        *("--data", folder / "data"),
    ]
    for name, value in {"storage.format": storage_format, **(settings or {})}.items():
        command += ["--set", f"{name}={value}"]
    bootstrap = f"127.0.0.1:{port}"
    with running(command, log) as up:
        wait_until(lambda: answers(bootstrap), up, log, 60.0)
        yield Peer(
            name=f"korvet-{storage_format}", bootstrap=bootstrap, roles=_roles(up.pid)
        )


def _roles(parent: int) -> Roles:
    found: dict[str, list[int]] = {}
    for child in psutil.Process(parent).children(recursive=True):
        words = " ".join(child.cmdline())
        role = next((role for mark, role in _ROLES.items() if mark in words), None)
        if role is not None:
            found.setdefault(role, []).append(child.pid)
    if missing := set(_ROLES.values()) - set(found):
        raise PeerError(f"`korvet up` has no process for {sorted(missing)}")
    return found
