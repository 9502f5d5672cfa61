import pytest

from korvet.runtime.stream_addresses import stream_listeners, suitable


def test_streams_are_taken_beside_other_calls() -> None:
    assert stream_listeners(["127.0.0.1:50051", "unix:/a/b.sock", "[::1]:7"], 9) == [
        "127.0.0.1:9",
        "[::1]:9",
        "unix:/a/b.sock+",
    ]


@pytest.mark.parametrize(
    ("address", "found"),
    [
        ("storage:50051", "storage:50061"),
        ("unix:/a/b.sock", "unix:/a/b.sock+"),
        ("[fd00::1]:50051", "[fd00::1]:50061"),
    ],
)
def test_streams_are_looked_for_where_the_rest_is(address: str, found: str) -> None:
    assert suitable([":50061", "unix:/a/b.sock+"], address) == found


def test_streams_are_where_the_rest_is_if_nothing_else_can_be_reached() -> None:
    assert suitable([":50061"], "unix:/a/b.sock") == "unix:/a/b.sock"
