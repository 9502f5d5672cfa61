"""`korvet produce` and `consume` when something comes between, or is not there."""

import signal

import pytest

from tests.support.pseudo_terminal import PseudoTerminal
from tests.support.shell import Shell

pytestmark = pytest.mark.e2e


def test_ctrl_c_ends_producing_at_a_terminal_and_says_what_is_written(
    shell: Shell, topic: str
) -> None:
    with PseudoTerminal() as screen:
        producing = shell.start(
            "produce", topic, stdin=screen.end, stdout=screen.end, stderr=screen.end
        )
        screen.wait_for("Ctrl-D ends")
        screen.type(b"one\n")
        # Until it is there, nobody can tell whether the line was read.
        following = shell.start("consume", topic, "--follow", "--max", "1")
        assert following.communicate(timeout=60)[0] == b"one\n"
        producing.send_signal(signal.SIGINT)

        assert producing.wait(60) == 130
        screen.hang_up()

    assert f"Interrupted: 1 record to {topic}." in screen.shown
    assert "Traceback" not in screen.shown


def test_a_line_that_no_record_can_hold_is_said(shell: Shell, topic: str) -> None:
    ended = shell("produce", topic, stdin=b"one\n" + bytes(65 << 20))

    assert ended.code == 1
    assert "longer than 64.0 MiB" in ended.err
    assert shell("consume", topic).out == b"one\n"


def test_a_topic_that_is_deleted_while_it_is_followed_is_not_created_again(
    shell: Shell, topic: str
) -> None:
    assert shell("produce", topic, stdin=b"one\n").code == 0
    following = shell.start("consume", topic, "--follow")
    assert following.stdout is not None
    assert following.stdout.readline() == b"one\n"

    assert shell("topics", "delete", topic, "--yes").code == 0
    _, err = following.communicate(timeout=60)

    assert following.returncode == 1
    assert err.decode() == f"Error: {topic} was deleted while it was read.\n"
    assert topic not in [each["name"] for each in shell.json("topics", "list")]


def test_at_a_terminal_it_is_said_that_there_is_nothing(shell: Shell, topic: str) -> None:
    assert shell("topics", "create", topic).code == 0
    with PseudoTerminal() as screen:
        reading = shell.start("consume", topic, stdout=screen.end, stderr=screen.end)
        assert reading.wait(60) == 0
        screen.hang_up()
    in_a_pipe = shell("consume", topic)

    assert f"Nothing is there. --follow waits for what comes to {topic}." in screen.shown
    assert (in_a_pipe.out, in_a_pipe.err) == (b"", "")
