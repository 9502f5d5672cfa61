"""A replay, from a table of the lake to a topic of a real Korvet."""

import time
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from korvet.pipeline import replay
from korvet.pipeline.failure import LakeError
from korvet.pipeline.lake import Lake
from korvet.pipeline.replay import Request, Selection
from tests.support.korvet_process import KorvetCluster
from tests.support.lake_records import BEGAN_MS, Archived, content, put, read
from tests.support.layouts import LAYOUTS
from tests.support.topic_admin import create_topic, delete_topic, set_config

pytestmark = pytest.mark.e2e

ANOTHER_ID = "BBBBBBBBQACBBBBBBBBBBB"

# What is easily lost on the way.
EXACT = [
    Archived(offset=0, key=None, value=None),
    Archived(offset=1, key=b"", value=b""),
    Archived(offset=2, key=b"\x00\xff\n", value=b"\x00\xfe\r\n" * 10),
    Archived(
        offset=3,
        key=b"headers",
        headers=(
            ("b", b"1"),
            ("a", None),
            ("b", b""),
            ("b", b"1"),
            ("", b"\x00"),
            ("\u00e9", b"\xc3\xa9"),
        ),
    ),
    Archived(offset=5, timestamp_ms=-1),
    Archived(offset=6, timestamp_ms=-1),
    Archived(offset=7, timestamp_ms=0),
    Archived(offset=8, timestamp_ms=BEGAN_MS + 5),
    Archived(offset=1 << 50, timestamp_ms=BEGAN_MS - 1_000_000_007, value=b"x" * 300_000),
    Archived(offset=(1 << 50) + 1, headers=(("one", b"two"),)),
]


@pytest.fixture
def run(lake: Lake, korvet: KorvetCluster) -> Callable[..., int]:
    """Replay "orders" to a topic; how many records were written."""

    def run(to: str, *, pace: float | None = None, **options: Any) -> int:
        selection = Selection(**options)
        request = Request(
            topic="orders", to=to, bootstrap=korvet.bootstrap, selection=selection
        )
        plan = replay.plan(lake, request)
        return sum(replay.run(lake, plan, pace).values())

    return run


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
def test_what_is_replayed_is_the_same_byte_for_byte(
    lake: Lake,
    korvet: KorvetCluster,
    topic: str,
    run: Callable[..., int],
    layout: Mapping[str, str],
) -> None:
    put(lake, "orders", EXACT)
    create_topic(korvet.bootstrap, topic, configs=layout)

    written = run(topic)

    assert written == len(EXACT)
    assert [content(each) for each in read(korvet.storage, topic)] == [
        each.content for each in EXACT
    ]


def test_a_replay_that_is_repeated_writes_only_what_is_new(
    lake: Lake, korvet: KorvetCluster, topic: str, run: Callable[..., int]
) -> None:
    records = [Archived(offset=n, value=b"%d" % n) for n in range(5)]
    put(lake, "orders", records[:3])

    first = run(topic)
    again = run(topic)
    put(lake, "orders", records[3:])
    after = run(topic)

    assert (first, again, after) == (3, 0, 2)
    assert [each.value for each in read(korvet.storage, topic)] == [
        each.value for each in records
    ]


def test_each_partition_keeps_its_number_and_order_and_others_are_dealt_out(
    lake: Lake, korvet: KorvetCluster, topic: str, run: Callable[..., int]
) -> None:
    put(
        lake,
        "orders",
        [
            Archived(partition=number % 5, offset=number, value=b"%d" % (number % 5))
            for number in range(500)
        ],
    )
    create_topic(korvet.bootstrap, topic, partitions=3)

    run(topic)

    for partition, sources in ((0, (0, 3)), (1, (1, 4)), (2, (2,))):
        values = [int(each.value or b"") for each in read(korvet.storage, topic, partition)]
        assert values == [source for source in sources for _ in range(100)]


def test_a_topic_that_is_not_there_is_made_with_as_many_partitions(
    lake: Lake, korvet: KorvetCluster, topic: str, run: Callable[..., int]
) -> None:
    put(lake, "orders", [Archived(partition=partition, offset=0) for partition in range(3)])

    run(topic)

    assert [len(read(korvet.storage, topic, partition)) for partition in range(3)] == [
        1
    ] * 3


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"since_ms": BEGAN_MS + 7}, [7, 8, 9]),
        ({"until_ms": BEGAN_MS + 2}, [0, 1]),
        ({"from_offset": 30, "to_offset": 50}, [3, 4]),
        ({"keys": (b"key-1",)}, [1, 4, 7]),
        ({"keys": (b"key-0", b"key-2"), "to_offset": 40}, [0, 2, 3]),
        ({"partitions": (1,)}, []),
        ({"topic_id": ANOTHER_ID}, []),
    ],
    ids=lambda value: "+".join(value) if isinstance(value, dict) else None,
)
def test_only_what_is_chosen_is_replayed(
    lake: Lake,
    korvet: KorvetCluster,
    topic: str,
    run: Callable[..., int],
    options: dict[str, Any],
    expected: list[int],
) -> None:
    put(
        lake,
        "orders",
        [
            Archived(
                offset=10 * number,
                timestamp_ms=BEGAN_MS + number,
                key=b"key-%d" % (number % 3),
                value=b"%d" % number,
            )
            for number in range(10)
        ],
    )

    run(topic, **options)

    values = [int(each.value or b"") for each in read(korvet.storage, topic)]
    assert values == expected


def test_histories_follow_each_other_though_their_offsets_overlap(
    lake: Lake, korvet: KorvetCluster, topic: str, run: Callable[..., int]
) -> None:
    put(lake, "orders", [Archived(offset=number, value=b"old") for number in range(3)])
    put(
        lake,
        "orders",
        [
            Archived(
                offset=number,
                value=b"new",
                topic_id=ANOTHER_ID,
                timestamp_ms=BEGAN_MS + 1,
            )
            for number in range(2)
        ],
    )

    first = run(topic)
    again = run(topic)

    assert (first, again) == (5, 0)
    values = [each.value for each in read(korvet.storage, topic)]
    assert values == [b"old"] * 3 + [b"new"] * 2


def test_a_target_that_was_deleted_and_made_again_gets_everything_again(
    lake: Lake, korvet: KorvetCluster, topic: str, run: Callable[..., int]
) -> None:
    put(lake, "orders", [Archived(offset=0)])
    run(topic)
    delete_topic(korvet.bootstrap, topic)

    assert run(topic) == 1
    assert len(read(korvet.storage, topic)) == 1


def test_at_the_original_pace_a_replay_takes_as_long_as_the_records_did(
    lake: Lake, korvet: KorvetCluster, topic: str, run: Callable[..., int]
) -> None:
    put(
        lake,
        "orders",
        [
            Archived(
                partition=number % 2,
                offset=number,
                timestamp_ms=BEGAN_MS + 400 * number,
                value=b"%d" % number,
            )
            for number in range(6)
        ],
    )
    create_topic(korvet.bootstrap, topic, partitions=2, configs={"offset.encoding": "time"})

    began = time.monotonic()
    run(topic, pace=2.0)

    assert time.monotonic() - began >= 1.0
    written = [record for n in (0, 1) for record in read(korvet.storage, topic, n)]
    written.sort(key=lambda record: record.timestamp_ms)
    assert [each.value for each in written] == [b"%d" % number for number in range(6)]
    appended = [each.offset >> 10 for each in written]
    # Each came when it was due, or a little later; never earlier.
    for record, at in zip(written, appended, strict=True):
        due = (record.timestamp_ms - BEGAN_MS) / 2
        assert at - appended[0] >= due - 260, (record, at - appended[0])


def test_what_the_target_refuses_is_told_and_the_replay_can_go_on(
    lake: Lake, korvet: KorvetCluster, topic: str, run: Callable[..., int]
) -> None:
    put(lake, "orders", [Archived(offset=0), Archived(offset=1, value=b"x" * 5_000)])
    create_topic(korvet.bootstrap, topic, configs={"max.message.bytes": "2000"})

    with pytest.raises(LakeError, match=f"too large for {topic}"):
        run(topic)
    set_config(korvet.bootstrap, topic, "max.message.bytes", "10000")

    assert run(topic) == 2


def test_a_record_that_a_topic_of_json_refuses_is_told(
    lake: Lake, korvet: KorvetCluster, topic: str, run: Callable[..., int]
) -> None:
    put(lake, "orders", [Archived(offset=0, value=b"no JSON")])
    create_topic(korvet.bootstrap, topic, configs={"value.type": "JSON"})

    with pytest.raises(LakeError, match=f"{topic} refuses a record"):
        run(topic)


def test_a_topic_that_is_not_in_the_lake_is_told(
    lake: Lake, topic: str, run: Callable[..., int]
) -> None:
    with pytest.raises(LakeError, match="no topic orders in the lake"):
        run(topic)


def test_a_name_that_no_topic_can_have_is_told(lake: Lake, run: Callable[..., int]) -> None:
    put(lake, "orders", [Archived(offset=0)])

    with pytest.raises(LakeError, match="cannot be the name of a topic"):
        run("no/name")
