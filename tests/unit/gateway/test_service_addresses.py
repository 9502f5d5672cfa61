import socket
from typing import Any

import pytest

from korvet.gateway.service_addresses import rendezvous, resolve


class Names:
    """A resolver that knows what a test tells it."""

    def __init__(self, **addresses: list[tuple[int, str]]) -> None:
        self.addresses = addresses

    async def getaddrinfo(self, host: str, port: int, **_: object) -> list[Any]:
        if host not in self.addresses:
            raise socket.gaierror(f"{host} is not known")
        return [
            (family, socket.SOCK_STREAM, 6, "", (address, port))
            for family, address in self.addresses[host]
        ]


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> Names:
    names = Names()
    monkeypatch.setattr(
        "korvet.gateway.service_addresses.asyncio.get_running_loop", lambda: names
    )
    return names


async def test_a_name_stands_for_each_of_its_addresses(names: Names) -> None:
    names.addresses["storage"] = [
        (socket.AF_INET, "10.0.0.1"),
        (socket.AF_INET, "10.0.0.2"),
    ]

    assert await resolve("storage:50051") == frozenset({"10.0.0.1:50051", "10.0.0.2:50051"})


async def test_a_host_with_both_kinds_of_address_is_one_replica(names: Names) -> None:
    names.addresses["localhost"] = [
        (socket.AF_INET6, "::1"),
        (socket.AF_INET, "127.0.0.1"),
    ]

    assert await resolve("localhost:1") == frozenset({"127.0.0.1:1"})


async def test_a_host_with_new_addresses_only_is_found(names: Names) -> None:
    names.addresses["::1"] = [(socket.AF_INET6, "::1")]

    assert await resolve("[::1]:1") == frozenset({"[::1]:1"})


async def test_unix_sockets_and_several_parts_are_taken_together(names: Names) -> None:
    names.addresses["a"] = [(socket.AF_INET, "10.0.0.1")]

    assert await resolve("unix:/s.sock, a:1") == frozenset({"unix:/s.sock", "10.0.0.1:1"})


async def test_a_name_that_cannot_be_looked_up_leaves_everything_as_it_was(
    names: Names, caplog: pytest.LogCaptureFixture
) -> None:
    assert await resolve("nowhere:1") is None
    assert "nowhere:1" in caplog.text


def test_a_choice_that_goes_away_moves_only_its_own_keys() -> None:
    keys = [b"%d" % number for number in range(300)]
    three = {key: rendezvous(key, [("a", 1), ("b", 2), ("c", 3)]) for key in keys}
    two = {key: rendezvous(key, [("a", 1), ("b", 2)]) for key in keys}

    assert set(three.values()) == {1, 2, 3}
    assert all(two[key] == three[key] for key in keys if three[key] != 3)
