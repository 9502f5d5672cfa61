"""The Lua scripts of the log, each with the shared parts it needs in front."""

import secrets
from typing import Final

from korvet.redis.script import Script, make_script, read_script

# How many copies of one script there can be in Redis, which forgets none.
_COPIES: Final = 64


def _script(*parts: str) -> Script:
    return read_script("korvet.storage", *parts)


_APPENDING: Final = ("ids", "epochs", "retention", "appending", "transactions")

APPEND: Final = _script(*_APPENDING, "entries", "batches", "append")
APPEND_ATOMICALLY: Final = _script(*_APPENDING, "entries", "batches", "append_atomically")
BEGIN_TRANSACTION: Final = _script("ids", "transactions", "begin_transaction")
END_TRANSACTION: Final = _script(*_APPENDING, "end_transaction")
FORGET: Final = _script("forget")
TRIM: Final = _script("ids", "retention", "trim")
OBSERVE: Final = _script("ids", "epochs", "observe")
SEARCH: Final = _script("ids", "search")
COUNT_RECORDS: Final = _script("ids", "counting", "count_records")

ALL: Final = (
    APPEND, APPEND_ATOMICALLY, BEGIN_TRANSACTION, END_TRANSACTION, FORGET,
    TRIM, OBSERVE, SEARCH, COUNT_RECORDS,
)  # fmt: skip

# --- consumer groups, which have a lane of their own ---

MOVE_GROUP: Final = _script("ids", "counting", "groups", "move_group")
DESTROY_GROUP: Final = _script("destroy_group")
DELIVER: Final = _script("ids", "counting", "groups", "deliver")
CLAIM_QUEUE: Final = _script("claim_queue")
JOIN_QUEUE: Final = _script("join_queue")
TAKE: Final = _script("ids", "counting", "take")
SETTLE: Final = _script("settle")
LEAVE_QUEUE: Final = _script("leave_queue")
DESCRIBE_QUEUE: Final = _script("ids", "counting", "groups", "describe_queue")

OF_GROUPS: Final = (
    MOVE_GROUP, DESTROY_GROUP, DELIVER, CLAIM_QUEUE, JOIN_QUEUE, TAKE, SETTLE, LEAVE_QUEUE,
    DESCRIBE_QUEUE,
)  # fmt: skip


def scripts_of_lane(name: str) -> tuple[Script, ...]:
    """The scripts for a lane that appends, with an append script of its own.

    When Redis has lost its scripts, whoever notices first loads them again. Were one script
    shared, a lane's appends that are on their way would then succeed behind others that
    have failed, and that are sent again only after them.
    """
    copy = f"{APPEND.text}\n-- {name} {secrets.randbelow(_COPIES)}\n"
    own = make_script(APPEND.name, copy)
    return tuple(own if script is APPEND else script for script in ALL)
