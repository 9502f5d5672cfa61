"""Options of the whole test run."""

import pytest

from tests.support.redis_server import SERVERS, VALKEY


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--redis-server",
        choices=[*SERVERS, VALKEY],
        help="Run the integration tests on this Redis server only (default: on each).",
    )
