"""The coordinator's Lua scripts, each with the shared parts it needs in front."""

from typing import Final

from korvet.redis.script import Script, read_script


def _script(*parts: str) -> Script:
    return read_script("korvet.coordinator", *parts)


SAVE_OWNED: Final = _script("save_owned")
FORGET_OWNED: Final = _script("forget_owned")
COMMIT_OFFSETS: Final = _script("owned", "commit_offsets")
DELETE_OFFSETS: Final = _script("owned", "delete_offsets")
BEGIN_GROUP_TRANSACTION: Final = _script("group_transaction", "begin_group_transaction")
COMMIT_PENDING: Final = _script("owned", "group_transaction", "commit_pending")
END_GROUP_TRANSACTION: Final = _script("group_transaction", "end_group_transaction")
FORGET_GROUP_TRANSACTIONS: Final = _script("forget_group_transactions")
DELETE_QUEUE: Final = _script("delete_queue")
REGISTER: Final = _script("register_coordinator")
UNREGISTER: Final = _script("unregister_coordinator")
LIVE: Final = _script("live_coordinators")

ALL: Final = (
    SAVE_OWNED,
    FORGET_OWNED,
    COMMIT_OFFSETS,
    DELETE_OFFSETS,
    BEGIN_GROUP_TRANSACTION,
    COMMIT_PENDING,
    END_GROUP_TRANSACTION,
    FORGET_GROUP_TRANSACTIONS,
    DELETE_QUEUE,
    REGISTER,
    UNREGISTER,
    LIVE,
)
