"""What a replica believes of topics, whatever order it hears of them in."""

from dataclasses import replace

from korvet.redis.topic_ids import new_topic_id, topic_id_text
from korvet.storage.topic import Deletion, Topic
from korvet.storage.topic_cache import TopicCache
from korvet.storage.topic_configs import StoredConfigs, TopicConfigs


def orders(
    *, version: int, topic_id: bytes = b"1" * 16, epochs: tuple[int, ...] = (0,)
) -> Topic:
    configs = StoredConfigs()
    return Topic(
        name="orders",
        id=topic_id,
        id_text=topic_id_text(topic_id),
        version=version,
        changed_at=1,
        leader_epochs=epochs,
        configs=configs,
        config=TopicConfigs().view(configs),
    )


def test_a_topic_is_found_by_name_and_by_id() -> None:
    cache = TopicCache()
    topic = orders(version=5)

    assert cache.apply("orders", topic, 5) == [topic]

    assert cache.by_name("orders") is cache.by_id(b"1" * 16) is topic
    assert list(cache.all()) == ["orders"]
    assert cache.by_name("payments") is None


def test_hearing_the_same_again_changes_nothing_but_is_newer() -> None:
    cache = TopicCache()
    cache.apply("orders", orders(version=5), 5)

    assert cache.apply("orders", orders(version=7), 7) == []

    assert cache.apply("orders", orders(version=6, epochs=(0, 0)), 6) == []


def test_a_deletion_is_told_once_and_an_older_answer_does_not_undo_it() -> None:
    cache = TopicCache()
    cache.apply("orders", orders(version=5), 5)

    [deletion] = cache.apply("orders", None, 8)
    assert deletion == Deletion(name="orders", id=b"1" * 16, version=8)
    assert cache.apply("orders", None, 9) == []

    assert cache.apply("orders", orders(version=7), 7) == []
    assert cache.by_name("orders") is cache.by_id(b"1" * 16) is None


def test_an_older_absence_does_not_remove_a_newer_topic() -> None:
    cache = TopicCache()
    topic = orders(version=5)
    cache.apply("orders", topic, 5)

    assert cache.apply("orders", None, 4) == []

    assert cache.by_name("orders") is topic


def test_a_topic_made_again_replaces_the_deleted_one() -> None:
    cache = TopicCache()
    cache.apply("orders", orders(version=5), 5)
    again = orders(version=9, topic_id=b"2" * 16)

    changes = cache.apply("orders", again, 9)

    assert changes == [Deletion(name="orders", id=b"1" * 16, version=9), again]
    assert cache.by_id(b"1" * 16) is None
    assert cache.by_id(b"2" * 16) is cache.by_name("orders") is again


def test_epochs_are_heard_of_apart_and_never_go_back() -> None:
    cache = TopicCache()
    topic = orders(version=5, epochs=(0, 0))
    cache.apply("orders", topic, 5)

    [changed] = cache.set_epochs(topic, [3, 1])
    assert isinstance(changed, Topic)
    assert changed.leader_epochs == (3, 1)
    assert changed.version > topic.version
    assert cache.set_epochs(topic, [3, 1]) == []

    # A description that was read before, and then one with another partition.
    assert cache.apply("orders", orders(version=7, epochs=(2, 1)), 7) == []
    grown = orders(version=8, epochs=(0, 0, 4))
    assert cache.apply("orders", grown, 8) == [replace(grown, leader_epochs=(3, 1, 4))]
    assert cache.set_epochs(orders(version=9, topic_id=b"9" * 16), [1]) == []


def test_epochs_of_a_topic_that_has_grown_meanwhile_keep_the_new_partitions() -> None:
    cache = TopicCache()
    small = orders(version=5, epochs=(0,))
    cache.apply("orders", orders(version=6, epochs=(0, 2)), 6)

    cache.set_epochs(small, [1])

    grown = cache.by_name("orders")
    assert grown is not None
    assert grown.leader_epochs == (1, 2)


def test_after_clearing_lower_versions_count_again() -> None:
    cache = TopicCache()
    cache.apply("orders", orders(version=50), 50)
    cache.apply("orders", None, 60)

    cache.clear()

    assert cache.version == 0
    assert cache.apply("orders", orders(version=5), 5) != []


def test_epochs_do_not_go_back_even_where_redis_has() -> None:
    cache = TopicCache()
    cache.apply("orders", orders(version=50, epochs=(4, 0)), 50)

    cache.clear()
    cache.apply("orders", orders(version=5, epochs=(1, 1)), 5)
    cache.apply("other", replace(orders(version=6, topic_id=b"2" * 16), name="other"), 6)

    assert [topic.leader_epochs for topic in cache.all().values()] == [(4, 1), (0,)]


def test_what_is_remembered_of_deleted_names_is_bounded() -> None:
    cache = TopicCache()
    for number in range(10_050):
        name = f"t{number}"
        cache.apply(name, replace(orders(version=1, topic_id=new_topic_id()), name=name), 1)
        cache.apply(name, None, 5)

    # The oldest names are forgotten, the newest are not.
    assert cache.apply("t0", replace(orders(version=2), name="t0"), 2) != []
    assert cache.apply("t10049", replace(orders(version=2), name="t10049"), 2) == []
