"""`korvet lake archive` and `verify`, as people run them."""

from pathlib import Path

import pytest

from korvet.pipeline.lake import Lake
from tests.support.korvet_process import KorvetCluster
from tests.support.lake_topics import change, fill, log, numbered, table
from tests.support.shell import Shell
from tests.support.topic_admin import create_topic

pytestmark = pytest.mark.e2e


def test_what_was_archived_is_said_and_verified(
    lake: Lake, korvet: KorvetCluster, shell: Shell, topic: str
) -> None:
    create_topic(korvet.bootstrap, topic, partitions=2)
    fill(korvet.storage, topic, numbered(300), partition=1)
    where = ("--lake", lake.folder, "--topics", topic)

    archived = shell("lake", "archive", *where)
    assert archived.code == 0, archived.err
    right = shell("lake", "verify", *where)
    change(lake, topic, "UPDATE {} SET value = x'00' WHERE offset % 2 = 0")
    wrong = shell("lake", "verify", *where)

    assert f"Archived 300 records of {topic}" in archived.out.decode()
    assert right.code == 0, right.err
    assert f"{topic}: 300 records, none twice; 300 of them compared" in right.out.decode()
    assert wrong.code == 1
    assert f"{topic} is not right" in wrong.err
    assert len(table(lake, topic)) == len(log(korvet.storage, topic, partitions=2))


def test_a_wrong_folder_is_a_sentence(
    korvet: KorvetCluster, shell: Shell, topic: str, tmp_path: Path
) -> None:
    create_topic(korvet.bootstrap, topic)
    (tmp_path / "holiday.jpg").write_bytes(b"")

    ended = shell("lake", "archive", "--lake", str(tmp_path), "--topics", topic)

    assert ended.code == 1
    assert "is not a Korvet lake" in ended.err
    assert "Traceback" not in ended.err
