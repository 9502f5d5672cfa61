"""`make run` as the README has it: the first command that anybody types."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.up_process import READY, ROOT, FreshMakeRun, MakeRun, clean_environ

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


@pytest.mark.timeout(600)
def test_a_fresh_clone_needs_no_other_command(tmp_path: Path) -> None:
    if not has_packages(tmp_path / "packages"):
        pytest.skip("A FRESH CLONE WAS NOT TRIED: pip finds no packages to install")
    clone = tmp_path / "korvet"
    # What is committed: whoever clones gets nothing else.
    git = ["git", "clone", "--quiet", str(ROOT), str(clone)]
    subprocess.run(git, check=True, timeout=60)

    with FreshMakeRun(clone, tmp_path / "data") as fresh:
        written = installed_korvet(clone, fresh, "produce", "orders", lines=b"two apples\n")
        read = installed_korvet(clone, fresh, "consume", "orders")
        fresh.press_ctrl_c()
        fresh.wait()

    assert written == b""
    assert read == b"two apples\n"
    assert fresh.output.rstrip().endswith("Stopping.")
    assert "***" not in fresh.output


def has_packages(folder: Path) -> bool:
    """Whether pip gets what `make` begins with, from wherever it is told to."""
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
    command = [*pip, "--dest", str(folder), "uv>=0.7"]
    return subprocess.run(command, timeout=120, check=False).returncode == 0


def installed_korvet(
    clone: Path, up: FreshMakeRun, *arguments: str, lines: bytes = b""
) -> bytes:
    """What the clone's own command writes to standard output."""
    return subprocess.run(
        [clone / ".venv/bin/korvet", *arguments],
        input=lines,
        stdout=subprocess.PIPE,
        env=clean_environ(up.addresses),
        timeout=60,
        check=True,
    ).stdout
