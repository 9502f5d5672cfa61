"""What `korvet top` shows, out of two looks at the metrics of all processes.

Pure. Rates are of the time between the two; a counter that has shrunk began anew with its
process.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple, TypeAlias

from korvet.cli.exposition import Sample

_API: Final = "rpc_method"
_ERROR: Final = "error_type"
_TOPIC: Final = "messaging_destination_name"
_GROUP: Final = "messaging_consumer_group_name"
_DURATION: Final = "rpc_server_call_duration_seconds"

_Key: TypeAlias = tuple[str, str, frozenset[tuple[str, str]]]


class Look(NamedTuple):
    """What every process told at some time, by where it was asked."""

    time: float
    told: Mapping[str, Sequence[Sample]]


class Api(NamedTuple):
    name: str
    per_second: float
    errors_per_second: float
    # In seconds; None where there was no request.
    median: float | None
    p99: float | None


class Topic(NamedTuple):
    name: str
    records_in: float
    records_out: float
    bytes_in: float
    bytes_out: float
    records: int
    bytes: int


class Lag(NamedTuple):
    group: str
    topic: str
    partitions: int
    records: int


class Process(NamedTuple):
    name: str
    is_ready: bool
    # Of one processor.
    cpu: float
    memory: int
    uptime: float


class View(NamedTuple):
    processes: Sequence[Process]
    apis: Sequence[Api]
    topics: Sequence[Topic]
    lags: Sequence[Lag]
    connections: int
    requests_under_way: int
    memory_used: int
    # 0: there is none.
    memory_limit: int
    commands_per_second: float
    transactions_open: int

    @property
    def records_in(self) -> float:
        return sum(topic.records_in for topic in self.topics)

    @property
    def records_out(self) -> float:
        return sum(topic.records_out for topic in self.topics)


def view(before: Look, now: Look) -> View:
    numbers = _Numbers(before, now)
    memory = numbers.largest("korvet_redis_memory_used_bytes")
    return View(
        processes=_processes(before, now),
        apis=_apis(numbers),
        topics=_topics(numbers),
        lags=_lags(numbers),
        connections=int(numbers.total("korvet_gateway_connections")),
        requests_under_way=int(numbers.total("korvet_gateway_requests_active")),
        memory_used=int(memory),
        memory_limit=int(numbers.largest("korvet_redis_memory_limit_bytes")),
        commands_per_second=numbers.rate("db_client_operation_duration_seconds_count"),
        transactions_open=int(numbers.total("korvet_transaction_open")),
    )


class _Numbers:
    """The samples of two looks, added up by labels."""

    def __init__(self, before: Look, now: Look) -> None:
        self._seconds = max(now.time - before.time, 1e-3)
        self._before = {
            _key(where, sample): sample.value
            for where, told in before.told.items()
            for sample in told
        }
        self._now: defaultdict[str, list[tuple[_Key, Sample]]] = defaultdict(list)
        for where, told in now.told.items():
            for sample in told:
                self._now[sample.name].append((_key(where, sample), sample))

    def now(self, name: str) -> list[Sample]:
        return [sample for _, sample in self._now[name]]

    def total(self, name: str) -> float:
        return sum(sample.value for sample in self.now(name))

    def largest(self, name: str) -> float:
        """Of what all processes tell alike."""
        return max((sample.value for sample in self.now(name)), default=0)

    def largest_by(self, name: str, label: str) -> dict[str, float]:
        found: dict[str, float] = {}
        for sample in self.now(name):
            value = sample.labels.get(label, "")
            found[value] = max(found.get(value, 0), sample.value)
        return found

    def rate(self, name: str) -> float:
        return sum(self.rates(name, ()).values())

    def rates(self, name: str, labels: Sequence[str]) -> dict[tuple[str, ...], float]:
        """A second, by these labels."""
        rates: defaultdict[tuple[str, ...], float] = defaultdict(float)
        for key, sample in self._now[name]:
            grown = sample.value - self._before.get(key, 0)
            if grown < 0:
                grown = sample.value
            by = tuple(sample.labels.get(label, "") for label in labels)
            rates[by] += grown / self._seconds
        return rates


def _key(where: str, sample: Sample) -> _Key:
    return where, sample.name, frozenset(sample.labels.items())


def _apis(numbers: _Numbers) -> list[Api]:
    counts = numbers.rates(f"{_DURATION}_count", (_API, _ERROR))
    buckets = numbers.rates(f"{_DURATION}_bucket", (_API, "le"))
    rates: defaultdict[str, float] = defaultdict(float)
    errors: defaultdict[str, float] = defaultdict(float)
    for (api, error), rate in counts.items():
        rates[api] += rate
        if error:
            errors[api] += rate
    by_bound: defaultdict[str, dict[float, float]] = defaultdict(dict)
    for (api, bound), rate in buckets.items():
        by_bound[api][float(bound)] = rate
    return sorted(
        (
            Api(
                name,
                rate,
                errors[name],
                quantile(0.5, by_bound[name]),
                quantile(0.99, by_bound[name]),
            )
            for name, rate in rates.items()
            if rate > 0
        ),
        key=lambda api: (-api.per_second, api.name),
    )


def quantile(share: float, buckets: Mapping[float, float]) -> float | None:
    """Below which so many lie, of counts up to each bound; as Prometheus estimates it."""
    bounds = sorted(buckets)
    if not bounds or buckets[bounds[-1]] <= 0:
        return None
    wanted = share * buckets[bounds[-1]]
    low, below = 0.0, 0.0
    for bound in bounds:
        if buckets[bound] >= wanted:
            if bound == float("inf"):
                return low
            within = buckets[bound] - below
            part = (wanted - below) / within if within > 0 else 1.0
            return low + (bound - low) * part
        low, below = bound, buckets[bound]
    return low


def _topics(numbers: _Numbers) -> list[Topic]:
    def rates(name: str) -> dict[str, float]:
        return {topic: rate for (topic,), rate in numbers.rates(name, (_TOPIC,)).items()}

    records_in = rates("korvet_topic_appended_records_total")
    records_out = rates("korvet_topic_read_records_total")
    bytes_in = rates("korvet_topic_appended_bytes_total")
    bytes_out = rates("korvet_topic_read_bytes_total")
    records = numbers.largest_by("korvet_topic_records", _TOPIC)
    sizes = numbers.largest_by("korvet_topic_bytes", _TOPIC)
    found = [
        Topic(
            name,
            records_in.get(name, 0),
            records_out.get(name, 0),
            bytes_in.get(name, 0),
            bytes_out.get(name, 0),
            int(records.get(name, 0)),
            int(sizes.get(name, 0)),
        )
        for name in {*records_in, *records_out, *records}
    ]
    return sorted(found, key=lambda t: (-(t.records_in + t.records_out), -t.bytes, t.name))


def _lags(numbers: _Numbers) -> list[Lag]:
    behind: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
    for sample in numbers.now("korvet_group_lag"):
        place = sample.labels.get(_GROUP, ""), sample.labels.get(_TOPIC, "")
        behind[place].append(int(sample.value))
    found = [
        Lag(group, topic, len(records), sum(records))
        for (group, topic), records in behind.items()
    ]
    return sorted(found, key=lambda lag: (-lag.records, lag.group, lag.topic))


def _processes(before: Look, now: Look) -> list[Process]:
    seconds = max(now.time - before.time, 1e-3)
    earlier = _by_process(before.told)
    found: list[Process] = []
    for name, told in sorted(_by_process(now.told).items()):
        then = earlier.get(name, {})
        cpu = told.get("process_cpu_time_seconds_total", 0)
        used = cpu - then.get("process_cpu_time_seconds_total", cpu)
        found.append(
            Process(
                name,
                told.get("korvet_ready", 0) > 0,
                max(0.0, used) / seconds,
                int(told.get("process_memory_usage_bytes", 0)),
                told.get("process_uptime_seconds", 0),
            )
        )
    return found


def _by_process(told: Mapping[str, Iterable[Sample]]) -> dict[str, dict[str, float]]:
    """What each tells of itself: behind one address there may be several, by `service`."""
    found: defaultdict[str, defaultdict[str, float]] = defaultdict(
        lambda: defaultdict(float)
    )
    for where, samples in told.items():
        for sample in samples:
            if sample.name.startswith("process_") or sample.name == "korvet_ready":
                found[sample.labels.get("service", where)][sample.name] += sample.value
    return {name: dict(values) for name, values in found.items()}
