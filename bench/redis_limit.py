"""Pipelined XADD: as many entries a second as one Redis takes when nothing is in between.

One entry a record, with the fields that the record format writes. That is the physical
limit of the record format, and its denominator. Commands are packed before the clock
starts, and go over a few connections with a thousand in flight on each, which is where
`redis-benchmark` too reaches its peak; the loop here gives the same figure, needs no
further program, and can send different values and count what arrived.
"""

import socket
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import hiredis
from redis import Redis

from bench import records
from bench.processes import Roles, accepts, free_ports, running, wait_until
from bench.stopwatch import Stopwatch
from korvet.cli import embedded_redis

_IN_FLIGHT: Final = 1000
_CONNECTIONS: Final = 4
_STREAM: Final = b"bench"
_DEADLINE = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class RedisPeer:
    """A Redis of its own, set as Korvet's embedded one is: AOF, fsync every second."""

    port: int
    roles: Roles


@dataclass(frozen=True, slots=True, kw_only=True)
class Added:
    records: int
    seconds: float
    rate: float
    cpu_us: dict[str, float]
    lost: int


@contextmanager
def redis(folder: Path) -> Iterator[RedisPeer]:
    folder.mkdir(parents=True)
    (port,) = free_ports(1)
    log = folder / "redis.log"
    command: list[str | Path] = [
        embedded_redis.find_binary().path,
        *("--port", str(port), "--bind", "127.0.0.1", "--dir", folder, "--save", ""),
        *("--appendonly", "yes", "--appendfsync", "everysec"),
    ]
    with running(command, log) as child:
        wait_until(lambda: accepts(port), child, log, 10.0)
        yield RedisPeer(port=port, roles={"redis": (child.pid,)})


def xadd(peer: RedisPeer, count: int, size: int, key_size: int = 0) -> Added:
    """Add `count` entries with a value of `size` bytes, and a key if it has a size."""
    chunks = _packed(records.values(count, size), key_size)
    with ExitStack() as stack:
        sockets = [
            stack.enter_context(
                socket.create_connection(("127.0.0.1", peer.port), _DEADLINE)
            )
            for _ in range(_CONNECTIONS)
        ]
        with Stopwatch(peer.roles) as watch:
            _send(sockets, chunks)
    client = Redis(port=peer.port)
    kept = int(client.xlen(_STREAM))
    client.flushall()
    client.close()
    return Added(
        records=count,
        seconds=watch.seconds,
        rate=count / watch.seconds,
        cpu_us=watch.cpu_us(count),
        lost=count - kept,
    )


def _packed(values: Sequence[bytes], key_size: int) -> list[tuple[bytes, int]]:
    now_ms = str(time.time_ns() // 1_000_000).encode()

    # hiredis's own type is a tuple of one word, where any number will do.
    def words(number: int, value: bytes) -> Any:
        key = (b"key", records.key(number, key_size)) if key_size else ()
        return (b"XADD", _STREAM, b"*", *key, b"value", value, b"timestamp", now_ms)

    commands = [hiredis.pack_command(words(*pair)) for pair in enumerate(values)]
    cuts = range(0, len(commands), _IN_FLIGHT)
    parts = [commands[cut : cut + _IN_FLIGHT] for cut in cuts]
    return [(b"".join(part), len(part)) for part in parts]


def _send(sockets: Sequence[socket.socket], chunks: Sequence[tuple[bytes, int]]) -> None:
    waiting = iter(chunks)
    # Lines of answer still to come on each socket: an entry id is a bulk string, two lines.
    busy: dict[socket.socket, int] = {}
    for one in sockets:
        if (chunk := next(waiting, None)) is not None:
            one.sendall(chunk[0])
            busy[one] = 2 * chunk[1]
    while busy:
        for one in list(busy):
            answer = one.recv(1 << 18)
            if not answer or answer.startswith(b"-"):
                raise ConnectionError(f"Redis answered {answer[:200]!r}")
            busy[one] -= answer.count(b"\n")
            if busy[one]:
                continue
            if (chunk := next(waiting, None)) is None:
                del busy[one]
            else:
                one.sendall(chunk[0])
                busy[one] = 2 * chunk[1]
