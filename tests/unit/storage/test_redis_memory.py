"""When Redis counts as full."""

import pytest

from korvet.storage.redis_memory import RedisMemory, parse_memory


@pytest.mark.parametrize(
    ("used", "limit", "is_high"),
    [(90, 100, False), (91, 100, True), (200, 100, True), (1 << 40, 0, False)],
)
def test_from_nine_tenths_of_the_limit_on_it_is_high(
    used: int, limit: int, is_high: bool
) -> None:
    assert RedisMemory(used, limit).is_high is is_high


def test_both_numbers_are_found_among_the_others() -> None:
    info = b"# Memory\r\nused_memory:7\r\nused_memory_human:7B\r\nmaxmemory:9\r\n\r\n"

    assert parse_memory(info) == RedisMemory(7, 9)
