"""The progress bar of `korvet produce` and `korvet consume`, at a real terminal."""

import os
import signal
import subprocess
import time

import pytest

from tests.support.pseudo_terminal import PseudoTerminal
from tests.support.shell import Shell

pytestmark = pytest.mark.e2e

COUNT = 2000
# More than a pipe holds, so that who does not read it holds up who writes.
LINES = b"".join(b"%06d%b\n" % (number, b"x" * 994) for number in range(COUNT))
# Longer than work may take before a bar appears.
LONG = 2.0


@pytest.mark.parametrize("columns", [80, 200])
def test_produce_shows_how_far_it_is(shell: Shell, topic: str, columns: int) -> None:
    read, write = os.pipe()
    with PseudoTerminal(columns) as screen:
        producing = shell.start("produce", topic, stdin=read, stderr=screen.end)
        os.close(read)
        os.write(write, b"one\ntwo\n")
        screen.wait_for(r"2 records +\d+/s")
        os.write(write, b"three\n")
        screen.wait_for(r"3 records +\d+/s")
        os.close(write)
        producing.communicate(timeout=60)
        screen.hang_up()

    assert producing.returncode == 0
    assert f"3 records to {topic}." in screen.shown.splitlines()[-1]
    assert max(map(len, screen.shown.replace("\r", "\n").splitlines())) <= columns


def test_consume_shows_how_far_it_is(shell: Shell, topic: str) -> None:
    assert shell("produce", topic, stdin=LINES).code == 0
    with PseudoTerminal() as screen:
        consuming = shell.start("consume", topic, stderr=screen.end)
        # Nobody reads its output, so it cannot get to the end.
        screen.wait_for(r"\d+% [\d,]+ records +[\d,]+/s")
        out, _ = consuming.communicate(timeout=60)
        screen.hang_up()

    assert consuming.returncode == 0
    assert out == LINES


def test_records_at_a_terminal_need_no_bar(shell: Shell, topic: str) -> None:
    assert shell("produce", topic, stdin=b"one\n").code == 0
    with PseudoTerminal() as screen:
        consuming = shell.start(
            "consume", topic, "--follow", stdout=screen.end, stderr=screen.end
        )
        screen.wait_for("one")
        time.sleep(LONG)
        consuming.send_signal(signal.SIGINT)
        assert consuming.wait(60) == 0
        screen.hang_up()

    assert screen.shown == "one\r\n"


def test_without_a_terminal_there_is_no_bar(shell: Shell, topic: str) -> None:
    producing = shell.start("produce", topic, stdin=subprocess.PIPE)
    assert producing.stdin is not None
    count, end = 0, time.monotonic() + LONG
    while time.monotonic() < end:
        producing.stdin.write(b"line\n")
        producing.stdin.flush()
        count += 1
        time.sleep(0.01)
    _, err = producing.communicate(timeout=60)

    assert err.decode() == f"{count:,} records to {topic}.\n"
