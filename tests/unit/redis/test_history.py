"""Which history a Redis tells: its run, and from a promotion on its replication id."""

import pytest

from korvet.redis.history import NotPrimaryError, history_of, is_same_history

SERVER = b"# Server\r\nredis_version:7.0.15\r\nrun_id:aa11\r\n"


def replication(role: str = "master", second_offset: str = "-1") -> bytes:
    return (
        f"# Replication\r\nrole:{role}\r\nmaster_replid:bb22\r\n"
        f"master_replid2:cc33\r\nsecond_repl_offset:{second_offset}\r\n"
    ).encode()


def test_of_a_server_that_was_never_promoted_it_is_the_run() -> None:
    assert history_of(SERVER, replication()) == "aa11"


def test_of_a_promoted_server_it_is_also_the_replication_id() -> None:
    assert history_of(SERVER, replication(second_offset="1234")) == "aa11:bb22"


def test_a_server_that_tells_nothing_of_replication_was_never_promoted() -> None:
    assert history_of(SERVER, b"") == "aa11"


def test_a_replica_has_none() -> None:
    with pytest.raises(NotPrimaryError):
        history_of(SERVER, replication("slave"))


@pytest.mark.parametrize(
    ("known", "current", "same"),
    [
        ("aa11", "aa11", True),
        ("aa11:bb22", "aa11:bb22", True),
        # Redis has forgotten the promotion.
        ("aa11:bb22", "aa11", True),
        ("aa11", "aa11:bb22", False),
        ("aa11:bb22", "aa11:dd44", False),
        ("aa11", "ee55", False),
        ("aa11:bb22", "aa", False),
    ],
)
def test_which_histories_are_one(known: str, current: str, same: bool) -> None:
    assert is_same_history(known, current) is same
