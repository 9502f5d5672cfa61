"""Pipelined XADD and XRANGE: as many entries a second as one Redis takes and gives when
nothing is in between.

One entry a record, with the fields that the record format writes. That is the physical
limit of the record format, and its denominator. Commands are packed before the clock
starts, and go over a few connections with a thousand in flight on each, which is where
`redis-benchmark` too reaches its peak; the loop here gives the same figure, needs no
further program, and can send different values and count what arrived.
"""

import socket
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeAlias

import hiredis
from redis import Redis

from bench import records
from bench.points import Point
from bench.processes import Roles, accepts, free_ports, running, wait_until
from bench.stopwatch import Stopwatch
from korvet.cli import embedded_redis

_IN_FLIGHT: Final = 1000
_CONNECTIONS: Final = 4
_RECEIVED: Final = 1 << 18
_STREAM: Final = b"bench"
_DEADLINE = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class RedisPeer:
    """A Redis of its own, set as Korvet's embedded one is: AOF, fsync every second."""

    port: int
    roles: Roles


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchanged:
    """Entries that were added, or read."""

    records: int
    seconds: float
    rate: float
    cpu_us: dict[str, float]
    lost: int


# A packed part of the commands, and how much answer it gets.
_Chunk: TypeAlias = tuple[bytes, int]


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


def xadd(peer: RedisPeer, count: int, point: Point) -> Exchanged:
    """Add `count` entries of this shape."""
    chunks = _adding(point, [b"*"] * count)
    with _connections(peer, _CONNECTIONS) as sockets, Stopwatch(peer.roles) as watch:
        _exchange(sockets, chunks, _lines)
    with Redis(port=peer.port) as client:
        kept = int(client.xlen(_STREAM))
        client.flushall()
    return _exchanged(count, watch, lost=count - kept)


def xrange(peer: RedisPeer, count: int, point: Point) -> Exchanged:
    """Read `count` entries of this shape, a thousand a command."""
    ids = [b"%d-0" % number for number in range(1, count + 1)]
    with _connections(peer, 1) as sockets:
        # In the order of their ids, which only one connection keeps.
        _exchange(sockets, _adding(point, ids), _lines)
    commands = [
        hiredis.pack_command(_words(b"XRANGE", _STREAM, some[0], some[-1]))
        for some in _cut(ids)
    ]
    answers = [_answer(peer, command) for command in commands]
    chunks = list(zip(commands, map(len, answers), strict=True))
    with _connections(peer, _CONNECTIONS) as sockets, Stopwatch(peer.roles) as watch:
        _exchange(sockets, chunks, len)
    with Redis(port=peer.port) as client:
        client.flushall()
    return _exchanged(count, watch, lost=count - sum(map(_entries, answers)))


def _exchanged(count: int, watch: Stopwatch, *, lost: int) -> Exchanged:
    return Exchanged(
        records=count,
        seconds=watch.seconds,
        rate=count / watch.seconds,
        cpu_us=watch.cpu_us(count),
        lost=lost,
    )


def _adding(point: Point, ids: Sequence[bytes]) -> list[_Chunk]:
    """XADDs of the fields that the record format writes, packed a thousand together."""
    time_field = (b"timestamp", str(time.time_ns() // 1_000_000).encode())

    def packed(number: int, entry_id: bytes) -> bytes:
        fields = [b"value", records.value(number, point.size), *time_field]
        if point.key_size:
            fields = [b"key", records.key(number, point.key_size), *fields]
        for name, value in records.headers(number, point.headers):
            fields += (f"header.{name}".encode(), value)
        command: bytes = hiredis.pack_command(_words(b"XADD", _STREAM, entry_id, *fields))
        return command

    commands = [packed(number, entry_id) for number, entry_id in enumerate(ids)]
    # An entry id is a bulk string, two lines of answer.
    return [(b"".join(part), 2 * len(part)) for part in _cut(commands)]


# hiredis's own type is a tuple of one word, where any number will do.
def _words(*words: bytes) -> Any:
    return words


def _cut(whole: Sequence[bytes]) -> list[Sequence[bytes]]:
    return [whole[cut : cut + _IN_FLIGHT] for cut in range(0, len(whole), _IN_FLIGHT)]


def _lines(answer: bytes) -> int:
    return answer.count(b"\n")


def _answer(peer: RedisPeer, command: bytes) -> bytes:
    """What a command is answered, as bytes: the next time it will be as long."""
    reader = hiredis.Reader()
    whole = b""
    with _connections(peer, 1) as (one,):
        one.sendall(command)
        while reader.gets() is False:
            part = one.recv(_RECEIVED)
            if not part:
                raise ConnectionError("Redis hung up")
            reader.feed(part)
            whole += part
    return whole


def _entries(answer: bytes) -> int:
    reader = hiredis.Reader()
    reader.feed(answer)
    return len(reader.gets())


@contextmanager
def _connections(peer: RedisPeer, count: int) -> Iterator[list[socket.socket]]:
    with ExitStack() as stack:
        yield [
            stack.enter_context(
                socket.create_connection(("127.0.0.1", peer.port), _DEADLINE)
            )
            for _ in range(count)
        ]


def _exchange(
    sockets: Sequence[socket.socket],
    chunks: Sequence[_Chunk],
    measured: Callable[[bytes], int],
) -> None:
    """Keep a chunk on its way over each connection until all are answered in full."""
    waiting = iter(chunks)
    # Answer still to come on each socket, and those on which none has come yet.
    busy: dict[socket.socket, int] = {}
    unanswered: set[socket.socket] = set()

    def send(one: socket.socket) -> None:
        busy.pop(one, None)
        if (chunk := next(waiting, None)) is not None:
            one.sendall(chunk[0])
            busy[one] = chunk[1]
            unanswered.add(one)

    for one in sockets:
        send(one)
    while busy:
        for one in list(busy):
            answer = one.recv(_RECEIVED)
            # Only at its beginning: later bytes may be a value's, and look like anything.
            refused = one in unanswered and answer.startswith(b"-")
            if refused or not answer:
                raise ConnectionError(f"Redis answered {answer[:200]!r}")
            unanswered.discard(one)
            busy[one] -= measured(answer)
            if not busy[one]:
                send(one)
