"""Log lines on standard error: JSON for machines, text for people.

Where a request is recorded, what is logged on its behalf has its trace's id.

One record is one line, except for a traceback in text. What a client sent can therefore
never forge a line of its own: control characters are escaped in both styles.
"""

import json
import logging
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Literal, TextIO, TypeAlias

from korvet.runtime.tracing import current

Style: TypeAlias = Literal["json", "text"]

_OWN_ATTRIBUTES = frozenset(
    logging.LogRecord("", 0, "", 0, "", None, None).__dict__.keys()
    | {"message", "asctime", "taskName"}
)
_ESCAPES = {code: f"\\x{code:02x}" for code in (*range(0x20), *range(0x7F, 0xA0))}


class LineFormatter(logging.Formatter):
    """Formats for one service; `extra=` fields become JSON members or name=value."""

    def __init__(self, service: str, style: Style) -> None:
        super().__init__()
        self._service = service
        self._line_style = style

    def format(self, record: logging.LogRecord) -> str:
        moment = datetime.fromtimestamp(record.created, UTC)
        extra = {k: v for k, v in record.__dict__.items() if k not in _OWN_ATTRIBUTES}
        if (work := current.get()) is not None:
            here = work.span.get_span_context()
            extra["trace_id"] = f"{here.trace_id:032x}"
            extra["span_id"] = f"{here.span_id:016x}"
        failure = self.formatException(record.exc_info) if record.exc_info else None
        if self._line_style == "json":
            line: dict[str, object] = {
                "time": moment.isoformat(timespec="milliseconds"),
                "level": record.levelname,
                "service": self._service,
                "logger": record.name,
                "message": record.getMessage(),
                **extra,
            }
            if failure:
                line["exception"] = failure
            return json.dumps(line, default=str)
        fields = "".join(f" {name}={value}" for name, value in extra.items())
        text = f"{record.getMessage()}{fields}".translate(_ESCAPES)
        clock = moment.astimezone().strftime("%H:%M:%S.%f")[:-3]
        line_text = f"{clock} {record.levelname:<7} {self._service}: {text}"
        return f"{line_text}\n{failure}" if failure else line_text


def configure(
    service: str,
    *,
    style: Style | None = None,
    level: str = "INFO",
    stream: TextIO | None = None,
) -> None:
    """Send the process's log to standard error; text by default only at a terminal."""
    stream = stream or sys.stderr
    if style is None:
        style = "text" if stream.isatty() else "json"
    handler = logging.StreamHandler(stream)
    handler.setFormatter(LineFormatter(service, style))
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
    logging.captureWarnings(True)


class LimitedLog:
    """A log for lines that a client could flood.

    At most `lines` in each `seconds`; the first line after that says how many are missing.
    """

    def __init__(
        self,
        logger: logging.Logger,
        *,
        lines: int = 10,
        seconds: float = 10.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._logger = logger
        self._lines = lines
        self._seconds = seconds
        self._clock = clock
        self._window_start = float("-inf")
        self._written = 0
        self._left_out = 0

    def log(self, level: int, message: str, *args: object) -> None:
        now = self._clock()
        if now - self._window_start >= self._seconds:
            self._window_start = now
            self._written = 0
        if self._written >= self._lines:
            self._left_out += 1
            return
        self._written += 1
        if self._left_out:
            message, args = f"{message} (%d like it left out)", (*args, self._left_out)
            self._left_out = 0
        self._logger.log(level, message, *args)

    def info(self, message: str, *args: object) -> None:
        self.log(logging.INFO, message, *args)

    def warning(self, message: str, *args: object) -> None:
        self.log(logging.WARNING, message, *args)
