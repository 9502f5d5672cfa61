"""A task of a replay as a process of its own, to be killed: `python -m` with its arguments.

It writes numbered records, each due a millisecond after the one before, to two partitions.
"""

import asyncio
import subprocess
import sys
from collections.abc import Iterator

import pyarrow as pa

from korvet.pipeline.replay_lane import lane
from korvet.pipeline.replay_progress import Progress
from korvet.pipeline.replay_writer import Target, committed
from tests.support.up_process import clean_environ

PARTITIONS = 2
_BATCH = 100
SCHEMA = pa.schema(
    [
        ("target", pa.int32()),
        ("topicId", pa.string()),
        ("partition", pa.int32()),
        ("offset", pa.int64()),
        ("due", pa.int64()),
        ("timestampMs", pa.int64()),
        ("key", pa.binary()),
        ("value", pa.binary()),
        ("headers", pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))),
    ]
)


def target(bootstrap: str, topic: str) -> Target:
    return Target(
        bootstrap=bootstrap, topic=topic, partitions=PARTITIONS, replay=f"replay-{topic}"
    )


def batches(count: int) -> Iterator[pa.RecordBatch]:
    for start in range(0, count, _BATCH):
        rows = [
            {
                "target": number % PARTITIONS,
                "topicId": "AAAA",
                "partition": number % PARTITIONS,
                "offset": number,
                "due": number,
                "timestampMs": number,
                "value": b"%d" % number,
                "headers": [],
            }
            for number in range(start, min(start + _BATCH, count))
        ]
        yield pa.RecordBatch.from_pylist(rows, schema=SCHEMA)


def start(bootstrap: str, topic: str, count: int) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        [sys.executable, "-m", __name__, bootstrap, topic, str(count)],
        env=clean_environ(),
    )


def progress(bootstrap: str, topic: str) -> dict[int, Progress]:
    return asyncio.run(committed(target(bootstrap, topic)))


def main() -> int:
    bootstrap, topic, count = sys.argv[1:]
    answers = lane(target(bootstrap, topic), 1.0)(batches(int(count)))
    problems = [row["problem"] for answer in answers for row in answer.to_pylist()]
    told = [problem for problem in problems if problem]
    sys.stderr.write("".join(f"{problem}\n" for problem in told))
    return 1 if told else 0


if __name__ == "__main__":
    sys.exit(main())
