import json
from dataclasses import dataclass

from korvet.cli.record_lines import RecordLines


@dataclass
class Written:
    topic: str = "orders"
    partition: int = 2
    offset: int = 7
    timestamp: int = 1500
    key: bytes | None = b"k"
    value: bytes | None = b"v"
    headers: tuple[tuple[str, bytes | None], ...] = (("h", b"1"), ("h", None))


def test_by_default_a_line_is_the_value() -> None:
    assert RecordLines().line(Written(value=b"\xff\x00")) == b"\xff\x00\n"


def test_what_is_asked_for_comes_before_the_value() -> None:
    lines = RecordLines(keys=True, headers=True, offsets=True)

    assert lines.line(Written()) == b"2:7\th=1,h=null\tk\tv\n"


def test_null_is_written_as_null() -> None:
    assert RecordLines(keys=True).line(Written(key=None, value=None)) == b"null\tnull\n"


def test_json_has_everything_and_tells_null_from_empty() -> None:
    line = RecordLines(as_json=True).line(Written(key=b"", value=None))

    assert line.count(b"\n") == 1
    assert json.loads(line) == {
        "topic": "orders",
        "partition": 2,
        "offset": 7,
        "timestamp_ms": 1500,
        "key": "",
        "value": None,
        "headers": [["h", "1"], ["h", None]],
    }


def test_bytes_that_are_no_text_are_base64_in_json() -> None:
    line = RecordLines(as_json=True).line(Written(value=b"\xff\n"))

    assert json.loads(line)["value"] == {"base64": "/wo="}
