"""`make run` as the README has it: the first command that anybody types."""

import signal
from pathlib import Path

import pytest

from tests.support.up_process import READY, ROOT, MakeRun

pytestmark = pytest.mark.e2e


def test_it_gets_ready_stops_on_ctrl_c_and_has_its_data_at_the_next_start(
    tmp_path: Path,
) -> None:
    folder = ROOT / "korvet-data"
    had_folder = folder.exists()
    with MakeRun(tmp_path / "data") as first:
        written = first.korvet("produce", "orders", stdin=b"two apples\n")
        read = first.korvet("consume", "orders", "--from", "earliest")
        first.press_ctrl_c()
        code = first.wait()
    with MakeRun(tmp_path / "data") as second:
        read_again = second.korvet("consume", "orders", "--from", "earliest")
        second.press_ctrl_c()
        second.wait()

    assert written.code == 0, written.err
    assert read.out == read_again.out == b"two apples\n"
    # Interrupted, make ends as if by the signal, whatever its child says; and if that had
    # said anything but 0, make would have called it an error.
    assert code in (0, -signal.SIGINT)
    assert READY in first.output
    assert first.output.rstrip().endswith("Stopping.")
    assert "***" not in first.output
    assert folder.exists() == had_folder
