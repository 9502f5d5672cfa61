"""What `korvet doctor` makes of the facts: what is right, what is not, how to mend it.

Pure: whatever was asked of anybody is in the facts.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, NamedTuple

from korvet.cli.failure import Failure
from korvet.cli.terminal import readable_bytes, seconds

# From there on storage refuses appends.
_FULL: Final = 0.9
_ALMOST_FULL: Final = 0.8
_OLDEST_REDIS: Final = (6, 2)
# Clocks that are apart by less are right, for people's purposes and ours.
_MS_APART: Final = 1_000
# message.timestamp.after.max.ms: records from further in the future are refused.
_MS_TOO_FAR: Final = 3_600_000


class Severity(StrEnum):
    FINE = "fine"
    # It works, and may surprise somebody.
    WARNING = "warning"
    # It does not work, or loses something.
    PROBLEM = "problem"


class Finding(NamedTuple):
    about: str
    severity: Severity
    what: str
    # How to mend it.
    advice: str = ""


class Broker(NamedTuple):
    node_id: int
    host: str
    port: int
    is_reachable: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Gateways:
    bootstrap: str
    brokers: Sequence[Broker] = ()
    # Why nobody answers.
    error: str = ""


@dataclass(frozen=True, slots=True)
class Service:
    name: str
    address: str
    version: str = ""
    is_serving: bool = False
    # Why it does not answer.
    failure: Failure | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Redis:
    address: str
    # Why storage cannot ask it; the rest says nothing then.
    error: str = ""
    version: str = ""
    maxmemory_policy: str = ""
    memory_used: int = 0
    memory_limit: int = 0
    evicted_keys: int = 0
    append_only: bool = False
    # None where it is not known.
    append_fsync: str | None = None
    append_only_fails: bool = False
    replicas: int = 0


class Clocks(NamedTuple):
    """What each clock showed at the same moment, in ms."""

    here: int
    storage: int
    redis: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    gateways: Gateways
    storage: Service
    coordinator: Service
    # None where storage did not tell.
    redis: Redis | None
    clocks: Clocks | None


def findings(facts: Facts, our_version: str) -> list[Finding]:
    return [
        *_of_gateways(facts.gateways),
        *_of_service(facts.storage),
        *_of_service(facts.coordinator),
        *_of_versions(facts, our_version),
        *(_of_redis(facts.redis) if facts.redis else ()),
        *(_of_clocks(facts.clocks) if facts.clocks else ()),
    ]


def _of_gateways(found: Gateways) -> Iterator[Finding]:
    if not found.brokers:
        yield Finding(
            "kafka",
            Severity.PROBLEM,
            f"Nothing speaks Kafka at {found.bootstrap}.",
            "Is Korvet running? Start it with `korvet up`, or say where it is with"
            " --bootstrap HOST:PORT (or KORVET_BOOTSTRAP).",
        )
        return
    count = len(found.brokers)
    gateways = "one gateway" if count == 1 else f"{count} gateways"
    yield Finding(
        "kafka", Severity.FINE, f"Kafka answers at {found.bootstrap}, with {gateways}."
    )
    for broker in found.brokers:
        if not broker.is_reachable:
            yield Finding(
                "kafka",
                Severity.PROBLEM,
                f"Gateway {broker.node_id} sends clients to {broker.host}:{broker.port},"
                " where nothing answers from here.",
                "Clients connect to what a gateway is told to advertise: set"
                " KORVET_GATEWAY_ADVERTISED_HOST (and …_PORT) to what they can reach.",
            )


def _of_service(service: Service) -> Iterator[Finding]:
    name = service.name.capitalize()
    if service.failure:
        yield Finding(
            service.name,
            Severity.PROBLEM,
            f"{name}: {service.failure.problem}",
            service.failure.advice,
        )
    elif not service.is_serving:
        yield Finding(
            service.name,
            Severity.PROBLEM,
            f"{name} at {service.address} is there, but does not serve.",
            "It waits for Redis, or for rights there; its log says which (`korvet up"
            " --verbose` shows it).",
        )
    else:
        yield Finding(service.name, Severity.FINE, f"{name} at {service.address} serves.")


def _of_versions(facts: Facts, ours: str) -> Iterator[Finding]:
    versions = {
        service.name: service.version or "an older release"
        for service in (facts.storage, facts.coordinator)
        if not service.failure
    }
    if not versions:
        return
    if set(versions.values()) == {ours}:
        yield Finding("versions", Severity.FINE, f"All of it is Korvet {ours}.")
        return
    told = ", ".join(f"{name} is {version}" for name, version in versions.items())
    yield Finding(
        "versions",
        Severity.WARNING,
        f"This command is Korvet {ours}, but {told}.",
        "Neighbouring releases go together while you upgrade; then bring all to one.",
    )


def _of_redis(redis: Redis) -> Iterator[Finding]:
    if redis.error:
        yield Finding(
            "redis",
            Severity.PROBLEM,
            f"Storage cannot use the Redis at {redis.address}: {redis.error}",
            "Is it running, and are address, user and password in KORVET_STORAGE_REDIS_URL"
            " right? Storage goes on by itself when it is there.",
        )
        return
    yield _of_redis_version(redis)
    yield from _of_eviction(redis)
    yield _of_memory(redis)
    yield from _of_durability(redis)


def _of_redis_version(redis: Redis) -> Finding:
    numbers = tuple(int(part) for part in redis.version.split(".")[:2] if part.isdecimal())
    if numbers < _OLDEST_REDIS:
        return Finding(
            "redis",
            Severity.PROBLEM,
            f"Redis {redis.version} at {redis.address} is too old.",
            "Korvet needs Redis 6.2 or newer, or Valkey.",
        )
    return Finding(
        "redis", Severity.FINE, f"Redis {redis.version} answers at {redis.address}."
    )


def _of_eviction(redis: Redis) -> Iterator[Finding]:
    if redis.evicted_keys:
        yield Finding(
            "redis",
            Severity.PROBLEM,
            f"Redis has evicted {redis.evicted_keys} keys since it started: records, topics"
            " or offsets are gone.",
            "Set maxmemory-policy to noeviction, and give others a Redis of their own.",
        )
    if redis.maxmemory_policy != "noeviction":
        yield Finding(
            "redis",
            Severity.PROBLEM,
            f"Redis's maxmemory-policy is {redis.maxmemory_policy}: when its memory is"
            " full, it deletes records.",
            _set(redis, "maxmemory-policy noeviction"),
        )
    else:
        yield Finding("redis", Severity.FINE, "Redis evicts nothing.")


def _of_memory(redis: Redis) -> Finding:
    used = readable_bytes(redis.memory_used)
    if not redis.memory_limit:
        return Finding(
            "memory",
            Severity.WARNING,
            f"Redis uses {used}, and has no maxmemory: it grows until the machine has no"
            " memory left.",
            f"{_set(redis, 'maxmemory 4gb')} Not 4gb, but what the machine can spare; and"
            " retention so that the log stays below it.",
        )
    share = redis.memory_used / redis.memory_limit
    told = f"Redis uses {used} of {readable_bytes(redis.memory_limit)} ({share:.0%})"
    mend = "Raise maxmemory, shorten retention.ms or retention.bytes, or delete topics."
    if share > _FULL:
        return Finding(
            "memory", Severity.PROBLEM, f"{told}: storage refuses appends.", mend
        )
    if share > _ALMOST_FULL:
        return Finding(
            "memory",
            Severity.WARNING,
            f"{told}; from {_FULL:.0%} on storage refuses appends.",
            mend,
        )
    return Finding("memory", Severity.FINE, f"{told}.")


def _of_durability(redis: Redis) -> Iterator[Finding]:
    if redis.append_only_fails:
        yield Finding(
            "durability",
            Severity.PROBLEM,
            "Redis cannot write its append-only file.",
            "Is its disk full, or broken? Its log says what it met.",
        )
    if not redis.append_only:
        yield Finding(
            "durability",
            Severity.WARNING,
            "Redis keeps no append-only file: a restart loses records that were"
            " acknowledged.",
            _set(redis, "appendonly yes"),
        )
    elif redis.append_fsync == "no":
        yield Finding(
            "durability",
            Severity.WARNING,
            "Redis leaves it to the system when its append-only file goes to the disk: when"
            " the machine fails, half a minute may be lost.",
            _set(redis, "appendfsync everysec"),
        )
    else:
        yield Finding("durability", Severity.FINE, _durable(redis))


def _durable(redis: Redis) -> str:
    how = {
        "always": "before it answers",
        "everysec": "every second, the last of which a failing machine loses",
    }
    often = how.get(redis.append_fsync or "", "as its appendfsync says")
    replicas = f" It has {redis.replicas} replicas." if redis.replicas > 1 else ""
    if redis.replicas == 1:
        replicas = " It has one replica."
    return f"Redis writes an append-only file: {often}.{replicas}"


def _set(redis: Redis, setting: str) -> str:
    host, _, port = redis.address.rpartition(":")
    where = f"-h {host} -p {port}" if host else f"-s {redis.address}"
    return f"redis-cli {where} CONFIG SET {setting}, and the same in redis.conf."


def _of_clocks(clocks: Clocks) -> Iterator[Finding]:
    apart = clocks.redis - clocks.storage
    if abs(apart) > _MS_APART:
        yield Finding(
            "clock",
            Severity.WARNING,
            f"Redis's clock is {_apart(apart)} of storage's.",
            "Offsets and retention go by Redis's clock, checks of timestamps by storage's:"
            " have both machines keep time (NTP).",
        )
    apart = clocks.here - clocks.storage
    if apart > _MS_TOO_FAR:
        yield Finding(
            "clock",
            Severity.PROBLEM,
            f"This machine's clock is {_apart(apart)} of storage's, which refuses records"
            " from the future (message.timestamp.after.max.ms).",
            "Have both machines keep time (NTP).",
        )
    elif abs(apart) > _MS_APART:
        yield Finding(
            "clock",
            Severity.WARNING,
            f"This machine's clock is {_apart(apart)} of storage's, and so are the"
            " timestamps of records.",
            "Have both machines keep time (NTP).",
        )
    elif abs(clocks.redis - clocks.storage) <= _MS_APART:
        yield Finding("clock", Severity.FINE, "All clocks show the same time.")


def _apart(milliseconds: int) -> str:
    way = "ahead" if milliseconds > 0 else "behind"
    return f"{seconds(abs(milliseconds) / 1000)} {way}"
