"""A consumer of a work queue as a process of its own, which never acknowledges: it is there
to be killed while it holds records.

What it was given it prints, one value a line.
"""

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Final

from korvet.client import Korvet

# After how long it counts for dead, in seconds.
SOON: Final = 1.0
_ROOT: Final = Path(__file__).parents[2]


class QueueWorker:
    def __init__(self, process: "subprocess.Popen[bytes]", output: IO[bytes]) -> None:
        self._process = process
        self._output = output

    def next(self) -> bytes:
        """The next value that it was given; it blocks."""
        line = self._output.readline()
        assert line, "the worker has ended"
        return line.rstrip(b"\n")

    def kill(self) -> None:
        """End it without a word."""
        self._process.kill()
        self._process.wait()


@contextmanager
def queue_worker(
    address: str, topic: str, group: str, name: str, *, max_in_flight: int
) -> Iterator[QueueWorker]:
    arguments = [address, topic, group, name, str(max_in_flight)]
    with subprocess.Popen(
        [sys.executable, "-m", "tests.support.queue_worker", *arguments],
        cwd=_ROOT,
        stdout=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        worker = QueueWorker(process, process.stdout)
        try:
            yield worker
        finally:
            worker.kill()


async def _hold(
    address: str, topic: str, group: str, name: str, max_in_flight: str
) -> None:
    async with Korvet(address) as client:
        consuming = client.consume(
            topic,
            group=group,
            consumer=name,
            max_in_flight=int(max_in_flight),
            redeliver_after=SOON,
        )
        async for delivery in consuming:
            sys.stdout.buffer.write((delivery.record.value or b"") + b"\n")
            sys.stdout.buffer.flush()


if __name__ == "__main__":
    asyncio.run(_hold(*sys.argv[1:]))
