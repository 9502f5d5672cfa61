"""The metrics endpoint over real sockets, as Prometheus and others meet it."""

import asyncio
import urllib.error
import urllib.request
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from korvet.runtime.grpc_server import ListenError
from korvet.runtime.metrics_server import PATH, metrics_page, serving_metrics, serving_pages


@pytest.fixture
async def address() -> AsyncIterator[str]:
    async with serving_pages("127.0.0.1:0", {PATH: metrics_page}) as address:
        yield address


async def ask(address: str, request: bytes) -> bytes:
    """All that is answered until the connection ends."""
    host, _, port = address.rpartition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(request)
    async with asyncio.timeout(20):
        try:
            return await reader.read()
        except ConnectionError:
            return b""
        finally:
            writer.close()


async def test_a_scrape_is_answered_as_prometheus_reads_it(address: str) -> None:
    def scrape() -> str:
        with urllib.request.urlopen(f"http://{address}/metrics", timeout=10) as answer:
            assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4")
            text: bytes = answer.read()
            return text.decode()

    families = text_string_to_metric_families(await asyncio.to_thread(scrape))

    assert "process_memory_usage_bytes" in {family.name for family in families}


async def test_parameters_of_a_scrape_change_nothing(address: str) -> None:
    answer = await ask(address, b"GET /metrics?name[]=up HTTP/1.1\r\nHost: x\r\n\r\n")

    assert answer.startswith(b"HTTP/1.1 200 OK")


async def test_only_the_head_is_sent_to_who_asks_for_that(address: str) -> None:
    answer = await ask(address, b"HEAD /metrics HTTP/1.1\r\n\r\n")

    assert answer.startswith(b"HTTP/1.1 200 OK")
    assert answer.endswith(b"\r\n\r\n")


@pytest.mark.parametrize(
    ("request_line", "status"),
    [
        (b"GET / HTTP/1.1", b"404"),
        (b"GET /metrics/../secret HTTP/1.1", b"404"),
        (b"POST /metrics HTTP/1.1", b"405"),
        (b"nonsense", b"404"),
        (b"\xff\xfe\x00 /metrics HTTP/1.1", b"405"),
    ],
)
async def test_anything_else_is_refused(
    address: str, request_line: bytes, status: bytes
) -> None:
    answer = await ask(address, request_line + b"\r\n\r\n")

    assert answer.split(b" ")[1] == status


async def test_a_head_without_end_is_hung_up_on(address: str) -> None:
    assert await ask(address, b"GET /metrics HTTP/1.1\r\nX: " + b"x" * 100_000) == b""


async def test_it_serves_on_while_strangers_hold_connections(address: str) -> None:
    host, _, port = address.rpartition(":")
    held = [await asyncio.open_connection(host, int(port)) for _ in range(15)]

    answer = await ask(address, b"GET /metrics HTTP/1.1\r\n\r\n")

    assert answer.startswith(b"HTTP/1.1 200 OK")
    for _, writer in held:
        writer.close()


async def test_more_connections_than_it_can_have_are_hung_up_on(address: str) -> None:
    host, _, port = address.rpartition(":")
    held = [await asyncio.open_connection(host, int(port)) for _ in range(16)]

    assert await ask(address, b"GET /metrics HTTP/1.1\r\n\r\n") == b""
    for _, writer in held:
        writer.close()


async def test_a_unix_socket_serves_as_well(tmp_path: Path) -> None:
    path = tmp_path / "metrics.sock"
    async with serving_metrics(f"unix:{path}"):
        reader, writer = await asyncio.open_unix_connection(path)
        writer.write(b"GET /metrics HTTP/1.1\r\n\r\n")
        answer = await reader.read()
        writer.close()

    assert b"# TYPE korvet_ready gauge" in answer


async def test_nothing_is_served_without_an_address() -> None:
    async with serving_metrics(None):
        pass


async def test_an_address_in_use_is_named(address: str) -> None:
    with pytest.raises(ListenError, match=address):
        async with serving_metrics(address):
            pass
