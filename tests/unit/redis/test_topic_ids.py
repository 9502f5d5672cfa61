"""Topic ids, as bytes and as Kafka's tools show them."""

from uuid import UUID

import pytest

from korvet.redis.topic_ids import new_topic_id, parse_topic_id, topic_id_text


def test_an_id_is_written_as_kafka_writes_it() -> None:
    # As Kafka's Uuid.toString gives it for the same 16 bytes.
    topic_id = UUID("00010203-0405-0607-0809-0a0b0c0d0e0f").bytes

    assert topic_id_text(topic_id) == "AAECAwQFBgcICQoLDA0ODw"
    assert parse_topic_id("AAECAwQFBgcICQoLDA0ODw") == topic_id


def test_a_new_id_never_looks_like_an_option_nor_like_no_id() -> None:
    candidates = iter([b"\xfb" * 16, bytes(16), b"\x01" * 16])

    # 0xfb is written as "-_v…".
    assert topic_id_text(b"\xfb" * 16).startswith("-")
    assert new_topic_id(lambda size: next(candidates)) == b"\x01" * 16


def test_new_ids_differ() -> None:
    assert len({new_topic_id() for _ in range(100)}) == 100


@pytest.mark.parametrize("text", ["", "abc", "AAECAwQFBgcICQoLDA0OD!", "A" * 23, "A" * 44])
def test_what_is_no_id_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse_topic_id(text)
