"""How far an archive is, as its commits say it."""

import json

import pytest

from korvet.pipeline.archive_state import Archived, ArchiveState, parse_metadata
from korvet.pipeline.failure import LakeError
from korvet.pipeline.planning import Gap

STATE = ArchiveState(
    batch=3,
    run="a-run",
    topic_id="an-id",
    partitions={0: Archived(5, 1 << 60, 2), 11: Archived(0, 0, 0)},
    gaps=(Gap("orders", 0, 7, 9),),
)


def test_what_a_commit_says_is_read_back() -> None:
    assert parse_metadata("orders", STATE.to_metadata()) == STATE


@pytest.mark.parametrize("text", [None, "", "a note", "[]", '{"other": 1}'])
def test_commits_of_others_say_nothing(text: str | None) -> None:
    assert parse_metadata("orders", text) is None


def test_a_commit_that_lacks_something_is_damaged() -> None:
    told = json.loads(STATE.to_metadata())
    for name in told["korvet-archive"]:
        lacking = {key: each for key, each in told["korvet-archive"].items() if key != name}

        with pytest.raises(LakeError, match="damaged"):
            parse_metadata("orders", json.dumps({"korvet-archive": lacking}))


def test_a_newer_form_is_left_alone() -> None:
    newer = {"korvet-archive": {"version": 2}}

    with pytest.raises(LakeError, match="newer release"):
        parse_metadata("orders", json.dumps(newer))


def test_a_topic_made_again_begins_a_history_with_the_next_batch() -> None:
    again = STATE.of_topic("another-id").after("a-run", {0: Archived(0, 4, 0)}, [])

    assert again.batch == 4
    assert again.partitions == {0: Archived(0, 4, 0)}
    assert again.gaps == ()
    assert STATE.of_topic("an-id") is STATE
