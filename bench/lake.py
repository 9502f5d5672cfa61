"""The lake: archiving, replaying, and what the driver's memory does.

    python -m bench.lake [--quick] [--check]

The korvet source's archive beside Spark's own kafka source on the same Korvet, in rounds
that take turns; a replay beside a plain Python producer, which makes a call a record; and
the memory of a driver that archives one and five million records, each in a new process.
"""

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from bench import machine, records, summary
from bench.lake_memory import driver_memory
from bench.lake_tables import lake_grids
from bench.peer import answers
from bench.processes import PeerError, accepts, free_ports, run_apart, running, wait_until
from bench.report import RESULTS, print_grids
from bench.summary import KAFKA, Sample, Target
from korvet.pipeline import replay
from korvet.pipeline.archive import Archive
from korvet.pipeline.lake import Lake
from korvet.pipeline.spark_session import spark_session
from korvet.pipeline.storage_link import Endpoint, StorageLink
from korvet.pipeline.table import COLUMNS, PARTITION_COLUMN
from korvet.pipeline.topic_archive import ArchiveSettings

FORMATS: Final = ("record", "batch")
ARCHIVE: Final = "archive"
REPLAY: Final = "replay"
MEMORY: Final = "driver-memory"
KORVET: Final = "korvet"
_SIZE: Final = 100
_PARTITIONS: Final = 2
# The round before the first has a tenth of the records.
_WARM_UP: Final = 10
_DEADLINE: Final = 600.0
_MASTER: Final = "local[2]"

TARGETS: Final = (
    *(
        Target(
            label=f"{format_} topics, archiving with the korvet source, of Spark's kafka",
            path=f"{ARCHIVE}-{format_}/{KORVET}/rate/of/{KAFKA}",
            at_least=1.0,
        )
        for format_ in FORMATS
    ),
    *(
        Target(
            label=f"{format_} topics, replay, share of a plain Python producer",
            path=f"{REPLAY}-{format_}/{KORVET}/share",
            at_least=0.5,
        )
        for format_ in FORMATS
    ),
    Target(
        label="driver's memory with five times the records",
        path=f"{MEMORY}/{KORVET}/growth",
        at_most=1.15,
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """How much is measured."""

    rounds: int
    records: int
    memory_records: int
    # How many times as many the larger topic of the memory's measurement has.
    factor: int = 5


class Server(NamedTuple):
    bootstrap: str
    storage: str


class Bench:
    """One Korvet, one Spark session, and the folder of the lakes that are made."""

    def __init__(self, server: Server, spark: SparkSession, folder: Path) -> None:
        self._server = server
        self._spark = spark
        self._folder = folder
        self._made = 0

    def topic(self, format_: str, count: int) -> str:
        """A new topic with so many records; 0 for one to be filled."""
        self._made += 1
        name = f"{format_}-{self._made}"
        new = NewTopic(name, _PARTITIONS, config={"storage.format": format_})
        admin = AdminClient({"bootstrap.servers": self._server.bootstrap})
        admin.create_topics([new])[name].result()
        self.produce(name, count)
        return name

    def produce(self, topic: str, count: int) -> float:
        """As a plain program does: a call a record; return the rate."""
        values = records.values(count, _SIZE)
        producer = Producer(
            {
                "bootstrap.servers": self._server.bootstrap,
                "linger.ms": 5,
                "queue.buffering.max.messages": 2 * count + 1,
                "queue.buffering.max.kbytes": 1 << 20,
            }
        )
        began = time.perf_counter()
        for value in values:
            producer.produce(topic, value)
        left = producer.flush(_DEADLINE)
        if left:
            raise PeerError(f"{left} records were not delivered")
        return count / (time.perf_counter() - began)

    def lake(self) -> Lake:
        self._made += 1
        return Lake.create(self._spark, str(self._folder / f"lake-{self._made}"))

    def archive(self, topic: str) -> Lake:
        """With the korvet source: what `korvet lake archive` does."""
        lake = self.lake()
        archive(lake, self._server.storage, topic)
        return lake

    def archive_with_kafka(self, topic: str) -> Lake:
        """With Spark's kafka source, into a table of the same columns."""
        lake = self.lake()
        found = (
            self._spark.read.format("kafka")
            .option("kafka.bootstrap.servers", self._server.bootstrap)
            .option("subscribe", topic)
            .option("includeHeaders", "true")
            .option("kafka.isolation.level", "read_committed")
            .load()
            .withColumn("headers", F.coalesce("headers", F.array()))
            .withColumn("topicId", F.lit(""))
            .withColumn("leaderEpoch", F.lit(0))
            .withColumn("ingestDate", F.current_date())
        )
        chosen = found.select(*(F.col(name).cast(kind) for name, kind in COLUMNS.items()))
        writer = chosen.write.format("delta").partitionBy(PARTITION_COLUMN)
        writer.save(lake.table_path(topic))
        return lake

    def replay(self, lake: Lake, topic: str, to: str) -> int:
        request = replay.Request(topic=topic, to=to, bootstrap=self._server.bootstrap)
        return sum(replay.run(lake, replay.plan(lake, request), None).values())


def archive(lake: Lake, storage: str, topic: str) -> None:
    endpoint = Endpoint(address=storage)
    settings = ArchiveSettings(endpoint=endpoint)
    with StorageLink(endpoint) as link:
        chosen = [each for each in link.topics() if each.name == topic]
        Archive(lake, link, settings, on_done=lambda _topic, _done: None).once(chosen)


def rounds(bench: Bench, plan: Plan) -> Iterator[Sample]:
    """Archive and replay, by turns, after a round that only warms up the JVM."""
    for format_ in FORMATS:
        count = plan.records // _WARM_UP
        list(one_round(bench, format_, bench.topic(format_, count), count, 0))
    sources = {format_: bench.topic(format_, plan.records) for format_ in FORMATS}
    for number in range(plan.rounds):
        for format_, source in sources.items():
            yield from one_round(bench, format_, source, plan.records, number)


def one_round(
    bench: Bench, format_: str, source: str, count: int, number: int
) -> Iterator[Sample]:
    turns = [(KORVET, bench.archive), (KAFKA, bench.archive_with_kafka)]
    lakes = {}
    for system, archived in turns if number % 2 else reversed(turns):
        began = time.perf_counter()
        lakes[system] = archived(source)
        rate = count / (time.perf_counter() - began)
        found = lakes[system].table(source).count()
        result = {"rate": rate, "lost": count - found}
        yield Sample(number, f"{ARCHIVE}-{format_}", system, result)
    plain = bench.produce(bench.topic(format_, 0), count)
    target = bench.topic(format_, 0)
    began = time.perf_counter()
    written = bench.replay(lakes[KORVET], source, target)
    rate = written / (time.perf_counter() - began)
    replayed = {
        "rate": rate,
        "plain_rate": plain,
        "share": rate / plain,
        "lost": count - written,
    }
    yield Sample(number, f"{REPLAY}-{format_}", KORVET, replayed)


def memory(server: Server, bench: Bench, plan: Plan, folder: Path) -> Sample:
    sizes = (plan.memory_records, plan.factor * plan.memory_records)
    found = [
        run_apart(
            _DEADLINE,
            driver_memory,
            server.storage,
            bench.topic("batch", size),
            str(folder / f"memory-{size}"),
        )
        for size in sizes
    ]
    result = {
        "small": asdict(found[0]),
        "large": asdict(found[1]),
        "growth": found[1].live_mb / found[0].live_mb,
    }
    return Sample(0, MEMORY, KORVET, result)


def measure(plan: Plan) -> dict[str, Any]:
    """Start Korvet and Spark, run the rounds, return the result as it is kept."""
    begun = machine.provenance()
    samples: list[Sample] = []
    with ExitStack() as stack:
        folder = Path(
            stack.enter_context(tempfile.TemporaryDirectory(prefix="korvet-bench-"))
        )
        server = stack.enter_context(korvet_up(folder))
        with spark_session("bench", master=_MASTER) as spark:
            bench = Bench(server, spark, folder)
            for sample in rounds(bench, plan) if plan.rounds else ():
                _say(sample)
                samples.append(sample)
        if plan.memory_records:
            samples.append(memory(server, bench, plan, folder))
            _say(samples[-1])
    found = summary.figures(samples)
    verdicts = summary.judge(TARGETS, samples, found, {"lost": "records that are missing"})
    return {
        **begun,
        "plan": asdict(plan),
        "targets": [verdict._asdict() for verdict in verdicts],
        "figures": {path: figure._asdict() for path, figure in found.items()},
        "samples": [sample._asdict() for sample in samples],
    }


@contextmanager
def korvet_up(folder: Path) -> Iterator[Server]:
    """As in bench.korvet_peer, whose peer does not say where storage is."""
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
    bootstrap = f"127.0.0.1:{port}"
    with running(command, log) as up:
        wait_until(lambda: accepts(port) and answers(bootstrap), up, log, 60.0)
        yield Server(bootstrap, f"127.0.0.1:{storage_port}")


def _say(sample: Sample) -> None:
    values = ", ".join(
        f"{name} {value:,.2f}"
        for name, value in sample.result.items()
        if isinstance(value, int | float)
    )
    print(
        f"round {sample.round + 1}  {sample.cell:16} {sample.system:8} {values}", flush=True
    )


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.lake", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="under three minutes")
    parser.add_argument("--check", action="store_true", help="exit 1 if a target is missed")
    parser.add_argument("--rounds", type=int, help="0: only the driver's memory")
    parser.add_argument("--no-memory", action="store_true", help="leave out the driver's")
    parser.add_argument("--out", type=Path, help="where the JSON goes")
    return parser.parse_args()


def main() -> int:
    chosen = _arguments()
    plan = Plan(
        rounds=(1 if chosen.quick else 3) if chosen.rounds is None else chosen.rounds,
        records=300_000 if chosen.quick else 1_000_000,
        memory_records=0 if chosen.no_memory else 200_000 if chosen.quick else 1_000_000,
    )
    out: Path = chosen.out or RESULTS / ("quick-lake.json" if chosen.quick else "lake.json")
    try:
        result = measure(plan)
    except PeerError as error:
        print(error, file=sys.stderr)
        return 2
    out.parent.mkdir(exist_ok=True)
    out.write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n")
    print_grids(lake_grids(result))
    print(f"written to {out}")
    missed = [target for target in result["targets"] if not target["met"]]
    return 1 if chosen.check and missed else 0


if __name__ == "__main__":
    sys.exit(main())
