import io
import json
import logging
from collections.abc import Iterator

import pytest

from korvet.runtime.logs import LimitedLog, Style, configure


@pytest.fixture(autouse=True)
def root_logger_as_it_was() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)
    logging.captureWarnings(False)


def logged(style: Style, level: str = "INFO") -> io.StringIO:
    stream = io.StringIO()
    configure("storage", style=style, level=level, stream=stream)
    return stream


def test_json_has_one_object_a_line() -> None:
    stream = logged("json")

    logging.getLogger("korvet.x").warning("lost %s", "a\nb", extra={"topic": "orders"})

    line = json.loads(stream.getvalue())
    assert stream.getvalue().count("\n") == 1
    assert line["message"] == "lost a\nb"
    assert (line["level"], line["service"]) == ("WARNING", "storage")
    assert (line["logger"], line["topic"]) == ("korvet.x", "orders")


def test_json_carries_the_traceback() -> None:
    stream = logged("json")

    try:
        raise LookupError("gone")
    except LookupError:
        logging.getLogger("korvet.x").exception("failed")

    assert "LookupError: gone" in json.loads(stream.getvalue())["exception"]


def test_text_cannot_be_forged_by_what_a_client_sent() -> None:
    stream = logged("text")

    logging.getLogger("korvet.x").info("client %s", "a\n12:00 ERROR storage: b\x1b[31m")

    assert stream.getvalue().count("\n") == 1
    assert r"client a\x0a12:00 ERROR storage: b\x1b[31m" in stream.getvalue()


def test_the_level_keeps_lesser_lines_out() -> None:
    stream = logged("text", level="warning")

    logging.getLogger("korvet.x").info("chatter")

    assert stream.getvalue() == ""


def test_not_at_a_terminal_the_default_is_json() -> None:
    stream = io.StringIO()
    configure("storage", stream=stream)

    logging.getLogger("korvet.x").info("hello")

    assert json.loads(stream.getvalue())["message"] == "hello"


def test_a_limited_log_leaves_out_the_flood_and_says_how_much() -> None:
    stream, now = logged("text"), [0.0]
    log = LimitedLog(
        logging.getLogger("korvet.x"), lines=2, seconds=10, clock=lambda: now[0]
    )

    for number in range(5):
        log.warning("bad frame %d", number)
    now[0] = 10.0
    log.warning("bad frame %d", 5)

    messages = [line.split("storage: ")[1] for line in stream.getvalue().splitlines()]
    assert messages == ["bad frame 0", "bad frame 1", "bad frame 5 (3 like it left out)"]
