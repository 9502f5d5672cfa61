"""Options of the whole test run."""

import signal

import pytest

from tests.support.redis_server import SERVERS, VALKEY


def pytest_configure() -> None:
    # Started in the background by a shell, this process ignores Ctrl-C and hands that down;
    # what the tests start and interrupt must not.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--redis-server",
        choices=[*SERVERS, VALKEY],
        help="Run the integration tests on this Redis server only (default: on each).",
    )
