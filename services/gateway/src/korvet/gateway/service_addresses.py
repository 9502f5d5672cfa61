"""Where a service is: from the setting to addresses that each have one replica behind them.

A host name may stand for many replicas, as a headless service of Kubernetes does. Each of
its addresses is used by itself, and the name is looked up again, so that new replicas get
work and old ones are let go.
"""

import asyncio
import logging
import socket
from collections.abc import Iterable
from hashlib import blake2b
from typing import TypeVar

_Choice = TypeVar("_Choice")

log = logging.getLogger(__name__)


async def resolve(setting: str) -> frozenset[str] | None:
    """All addresses now, as gRPC takes them; None where a name could not be looked up."""
    found: set[str] = set()
    for part in setting.split(","):
        address = part.strip()
        if address.startswith("unix:"):
            found.add(address)
        elif address:
            try:
                found |= await _look_up(address)
            except OSError as error:
                log.warning("cannot look up %s: %s", address, error)
                return None
    return frozenset(found)


async def _look_up(address: str) -> set[str]:
    host, _, port = address.rpartition(":")
    loop = asyncio.get_running_loop()
    infos = await loop.getaddrinfo(
        host.strip("[]"), int(port), type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP
    )
    found = {(info[0], str(info[4][0])) for info in infos}
    # A host with both kinds of address is one replica, not two.
    version_4 = {f"{ip}:{port}" for family, ip in found if family == socket.AF_INET}
    return version_4 or {f"[{ip}]:{port}" for _, ip in found}


def rendezvous(key: bytes, choices: Iterable[tuple[str, _Choice]]) -> _Choice:
    """Choose by key, so that a choice that goes away moves only its own keys."""
    return max(
        choices, key=lambda named: blake2b(key + named[0].encode(), digest_size=8).digest()
    )[1]
