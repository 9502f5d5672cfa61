from dataclasses import replace
from typing import Any

import pytest

from korvet.cli.doctor_findings import (
    Broker,
    Clocks,
    Facts,
    Finding,
    Gateways,
    Redis,
    Service,
    Severity,
    findings,
)
from korvet.cli.failure import Failure
from korvet.storage.redis_memory import HIGH_WATER, RedisMemory

HERE = Broker(1, "127.0.0.1", 9092, True)
HEALTHY_REDIS = Redis(
    address="127.0.0.1:6379",
    version="7.2.4",
    maxmemory_policy="noeviction",
    memory_used=10 << 20,
    memory_limit=1 << 30,
    append_only=True,
    append_fsync="everysec",
)
HEALTHY = Facts(
    gateways=Gateways(bootstrap="127.0.0.1:9092", brokers=[HERE]),
    storage=Service("storage", "127.0.0.1:50051", "1.2.3", is_serving=True),
    coordinator=Service("coordinator", "127.0.0.1:50052", "1.2.3", is_serving=True),
    redis=HEALTHY_REDIS,
    clocks=Clocks(1000, 1000, 1000),
)


def bad(facts: Facts) -> list[Finding]:
    """What is not fine, all of which says what to do."""
    found = [f for f in findings(facts, "1.2.3") if f.severity is not Severity.FINE]
    assert all(each.advice for each in found)
    return found


def only(facts: Facts) -> Finding:
    (found,) = bad(facts)
    return found


def with_redis(**changes: Any) -> Facts:
    return replace(HEALTHY, redis=replace(HEALTHY_REDIS, **changes))


def test_all_is_well_where_all_is_well() -> None:
    assert bad(HEALTHY) == []


def test_nobody_speaks_kafka() -> None:
    gateways = Gateways(bootstrap="gw:9092", error="refused")

    found = only(replace(HEALTHY, gateways=gateways))

    assert found.severity is Severity.PROBLEM
    assert "gw:9092" in found.what


def test_a_gateway_that_advertises_what_cannot_be_reached_is_named() -> None:
    hidden = Broker(2, "gw-2.internal", 9092, False)
    gateways = Gateways(bootstrap="gw:9092", brokers=[HERE, hidden])

    found = only(replace(HEALTHY, gateways=gateways))

    assert found.severity is Severity.PROBLEM
    assert "Gateway 2" in found.what
    assert "gw-2.internal:9092" in found.what
    assert "KORVET_GATEWAY_ADVERTISED_HOST" in found.advice


def test_a_service_that_does_not_answer_says_why() -> None:
    silent = Service(
        "storage", "s:50051", failure=Failure("Nothing answers at s:50051.", "Start it.")
    )

    found = only(replace(HEALTHY, storage=silent, redis=None, clocks=None))

    assert found.severity is Severity.PROBLEM
    assert "s:50051" in found.what
    assert found.advice == "Start it."


def test_a_service_that_answers_but_does_not_serve_is_a_problem() -> None:
    waiting = replace(HEALTHY.coordinator, is_serving=False)

    assert only(replace(HEALTHY, coordinator=waiting)).severity is Severity.PROBLEM


def test_releases_that_differ_are_worth_a_look() -> None:
    older = replace(HEALTHY.storage, version="1.1.0")

    found = only(replace(HEALTHY, storage=older))

    assert (found.about, found.severity) == ("versions", Severity.WARNING)
    assert "storage is 1.1.0" in found.what


@pytest.mark.parametrize(
    ("changes", "severity", "said"),
    [
        ({"error": "Connection refused"}, Severity.PROBLEM, "Connection refused"),
        ({"version": "6.0.16"}, Severity.PROBLEM, "6.2"),
        ({"maxmemory_policy": "allkeys-lru"}, Severity.PROBLEM, "allkeys-lru"),
        ({"evicted_keys": 7}, Severity.PROBLEM, "7 keys"),
        ({"memory_limit": 0}, Severity.WARNING, "no maxmemory"),
        ({"memory_used": 850 << 20}, Severity.WARNING, "83%"),
        ({"memory_used": 1000 << 20}, Severity.PROBLEM, "refuses appends"),
        ({"append_only": False}, Severity.WARNING, "append-only"),
        ({"append_fsync": "no"}, Severity.WARNING, "half a minute"),
        ({"append_only_fails": True}, Severity.PROBLEM, "cannot write"),
    ],
)
def test_what_is_wrong_with_redis_is_found(
    changes: dict[str, Any], severity: Severity, said: str
) -> None:
    found = only(with_redis(**changes))

    assert found.severity is severity
    assert said in f"{found.what} {found.advice}"


@pytest.mark.parametrize("used", [899, 901])
def test_redis_is_full_when_storage_says_so(used: int) -> None:
    memory = RedisMemory(used, 1000)
    facts = with_redis(memory_used=used, memory_limit=1000)

    assert (only(facts).severity is Severity.PROBLEM) is memory.is_high
    assert f"{HIGH_WATER:.0%}" in only(facts).what or memory.is_high


def test_advice_names_the_redis_that_is_meant() -> None:
    by_port = only(with_redis(append_only=False)).advice
    by_socket = only(with_redis(append_only=False, address="/run/redis.sock")).advice

    assert by_port.startswith("redis-cli -h 127.0.0.1 -p 6379 CONFIG SET appendonly yes")
    assert by_socket.startswith("redis-cli -s /run/redis.sock CONFIG SET appendonly yes")


def test_what_storages_user_may_not_ask_is_not_guessed() -> None:
    assert bad(with_redis(append_fsync=None)) == []


@pytest.mark.parametrize(
    ("clocks", "severity", "said"),
    [
        (Clocks(9000, 1000, 1000), Severity.WARNING, "8.0 s ahead"),
        (Clocks(1000, 9000, 9000), Severity.WARNING, "8.0 s behind"),
        (Clocks(1000, 1000, 61_000), Severity.WARNING, "1 min ahead"),
        (Clocks(7_201_000, 1000, 1000), Severity.PROBLEM, "2 h 0 min ahead"),
    ],
)
def test_clocks_that_are_apart_are_found(
    clocks: Clocks, severity: Severity, said: str
) -> None:
    found = only(replace(HEALTHY, clocks=clocks))

    assert (found.about, found.severity) == ("clock", severity)
    assert said in found.what
