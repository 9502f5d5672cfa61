"""What people see of the children's logs, which are JSON lines for the services."""

import json
import logging
from typing import Final, NamedTuple

from rich.console import Console
from rich.markup import escape

_COLOURS: Final = {"WARNING": "yellow", "ERROR": "red", "CRITICAL": "bold red"}


class LogLine(NamedTuple):
    level: str
    text: str

    @classmethod
    def parse(cls, line: str) -> "LogLine":
        """Any line that is not one of ours is from the interpreter: likely an error."""
        try:
            entry = json.loads(line)
            level, text = str(entry["level"]), str(entry["message"])
        except (ValueError, TypeError, KeyError):
            return cls("ERROR", line)
        exception = entry.get("exception")
        return cls(level, f"{text}\n{exception}" if exception else text)


class ChildLog:
    """Shows warnings and errors of the services, and with `verbose` everything.

    Redis's own log is shown only then, since it begins with advice on kernel settings.
    """

    def __init__(self, console: Console, *, verbose: bool) -> None:
        self._console = console
        self._verbose = verbose

    def show(self, name: str, line: str) -> bool:
        """Show a line if it is one to show; say whether it was."""
        entry = LogLine("INFO", line) if name == "Redis" else LogLine.parse(line)
        number = logging.getLevelNamesMapping().get(entry.level, logging.ERROR)
        if not self._verbose and number < logging.WARNING:
            return False
        colour = _COLOURS.get(entry.level, "dim")
        self._console.print(f"[{colour}]{name.lower()}: {escape(entry.text)}[/]")
        return True
