"""PURE: what a failure of Spark comes down to: a line, not two stack traces."""

import re
from typing import Final

# The last line of the traceback of a Python worker, and what Java's causes begin with.
_PYTHON: Final = re.compile(r"^\s*([\w.]*(?:Error|Exception)): (.+)$", re.MULTILINE)
_CAUSE: Final = re.compile(r"^(?:Caused by)?: (?:[\w.$]+: )?(.+)$", re.MULTILINE)
_OURS: Final = ("korvet.", "LakeError", "KorvetError", "TopicGoneError")


def reason(error: BaseException) -> str:
    """The innermost reason, in the words of whoever gave it."""
    text = str(error)
    told = [
        (name, words) for name, words in _PYTHON.findall(text) if name.startswith(_OURS)
    ]
    if told:
        return str(told[-1][1]).strip()
    causes = _CAUSE.findall(text)
    if causes:
        return str(causes[-1]).strip()
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[0].strip() if lines else type(error).__name__
