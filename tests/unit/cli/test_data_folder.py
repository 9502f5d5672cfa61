from pathlib import Path

import pytest

from korvet.cli.data_folder import DataFolder
from korvet.cli.failure import Failure


def test_a_second_claim_is_refused_and_told_who_holds_the_folder(tmp_path: Path) -> None:
    with DataFolder.claimed(tmp_path / "data") as folder:
        folder.say_who_holds_it("`korvet up` with process id 42")

        with (
            pytest.raises(Failure, match="in use by `korvet up` with process id 42"),
            DataFolder.claimed(tmp_path / "data"),
        ):
            pass


def test_a_folder_is_free_again_after_use(tmp_path: Path) -> None:
    for _ in range(2):
        with DataFolder.claimed(tmp_path / "data") as folder:
            folder.say_who_holds_it("the same one")


def test_two_folders_do_not_disturb_each_other(tmp_path: Path) -> None:
    with (
        DataFolder.claimed(tmp_path / "a") as a,
        DataFolder.claimed(tmp_path / "b") as b,
    ):
        assert a.sockets() != b.sockets()


def test_a_folder_with_other_things_in_it_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("…")

    with pytest.raises(Failure, match="not empty"), DataFolder.claimed(tmp_path):
        pass

    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_a_folder_that_cannot_be_made_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with (
        pytest.raises(Failure, match="Cannot use the data folder"),
        DataFolder.claimed(tmp_path / "file" / "data"),
    ):
        pass


def test_sockets_have_short_paths_however_deep_the_folder_is(tmp_path: Path) -> None:
    deep = tmp_path / ("d" * 100) / ("e" * 100)

    with DataFolder.claimed(deep) as folder:
        sockets = folder.sockets()

        assert len(str(sockets / "storage.sock")) < 104
        assert folder.sockets() == sockets
        assert sockets.stat().st_mode & 0o077 == 0
    sockets.rmdir()
