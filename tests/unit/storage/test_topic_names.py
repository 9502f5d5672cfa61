"""What a topic may be called."""

import pytest

from korvet.kafka.errors import ErrorCode, KafkaError
from korvet.storage.topic_names import check_topic_name, collision_form, is_topic_name


@pytest.mark.parametrize(
    "name", ["a", "orders", "Orders-1.x_y", "0", "...", "_x", "-", "a" * 249, "x__y"]
)
def test_a_valid_name_is_taken(name: str) -> None:
    check_topic_name(name)

    assert is_topic_name(name)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("", "empty"),
        (".", "not allowed"),
        ("..", "not allowed"),
        ("a" * 250, "at most 249"),
        ("a b", "other characters"),
        ("a:b", "other characters"),
        ("a/b", "other characters"),
        ("a{b}", "other characters"),
        ("a\n", "other characters"),
        ("größe", "other characters"),
        ("a\0", "other characters"),
        ("__consumer_offsets", "reserved"),
        ("__", "reserved"),
    ],
)
def test_an_invalid_name_is_refused_with_the_reason(name: str, said: str) -> None:
    with pytest.raises(KafkaError, match=said) as refused:
        check_topic_name(name)

    assert refused.value.code is ErrorCode.INVALID_TOPIC_EXCEPTION
    assert not is_topic_name(name)


def test_names_that_kafka_metrics_would_confuse_have_one_collision_form() -> None:
    assert collision_form("a.b_c") == collision_form("a_b.c") == "a_b_c"
    assert collision_form("orders") is None
