"""A server that greets as Redis does and otherwise answers what a test tells it to."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TypeAlias

import hiredis

# What to send back; None: nothing, as yet.
Answer: TypeAlias = Callable[[Sequence[bytes]], bytes | None]

OK = b"+OK\r\n"
NOSCRIPT = b"-NOSCRIPT No matching script. Please use EVAL.\r\n"


def bulk(data: bytes) -> bytes:
    return b"$%d\r\n%s\r\n" % (len(data), data)


class FakeRedis:
    def __init__(self, path: Path) -> None:
        self._path = path
        self.run_id = "first"
        self.role = "master"
        self.replicas = 0
        # What INFO is answered with instead, once it has greeted; empty: nothing at all.
        self.instead_of_info: bytes | None = None
        # Everything but the greeting, in the order in which it came.
        self.received: list[Sequence[bytes]] = []
        self.loads = 0
        self.connections = 0
        self.answer: Answer = lambda command: OK
        self._writers: list[asyncio.StreamWriter] = []

    @property
    def url(self) -> str:
        return f"unix://{self._path}"

    def send(self, data: bytes) -> None:
        """Send something on the newest connection."""
        self._writers[-1].write(data)

    def drop(self) -> None:
        """Close all connections."""
        for writer in self._writers:
            writer.transport.abort()
        self._writers.clear()

    async def _serve(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self.connections += 1
        self._writers.append(writer)
        commands = hiredis.Reader()
        try:
            while data := await reader.read(1 << 16):
                commands.feed(data)
                while (command := commands.gets()) is not False:
                    if (reply := self._reply(command)) is not None:
                        writer.write(reply)
        except ConnectionError:
            pass
        finally:
            writer.transport.abort()

    def _reply(self, command: Sequence[bytes]) -> bytes | None:
        if command[:2] == [b"SCRIPT", b"LOAD"]:
            self.loads += 1
            return bulk(b"digest")
        if command[0] == b"INFO":
            if self.instead_of_info is not None:
                return self.instead_of_info
            lines = [f"run_id:{self.run_id}", f"role:{self.role}", "redis_version:6.2.0"]
            lines += [f"slave{n}:ip=::1,state=online" for n in range(self.replicas)]
            return bulk("".join(f"{line}\r\n" for line in lines).encode())
        self.received.append(command)
        return self.answer(command)


@asynccontextmanager
async def fake_redis(path: Path) -> AsyncIterator[FakeRedis]:
    fake = FakeRedis(path)
    server = await asyncio.start_unix_server(fake._serve, path)
    try:
        yield fake
    finally:
        server.close()
        fake.drop()
        await server.wait_closed()
        # Handlers end at the end of their connections.
        await asyncio.sleep(0)
