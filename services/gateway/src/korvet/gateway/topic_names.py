"""Which topic names Kafka allows.

Storage has the last word, and refuses more: this tells only a name that can never be from
one that is not there.
"""

import re
from typing import Final

_LEGAL: Final = re.compile(r"[a-zA-Z0-9._-]{1,249}")


def is_legal(name: str) -> bool:
    return _LEGAL.fullmatch(name) is not None and name not in {".", ".."}
