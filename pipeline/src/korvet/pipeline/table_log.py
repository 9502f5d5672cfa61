"""Reads a table's Delta log, as Delta's protocol lays it out: a JSON file for each commit.

Only what Spark's own API does not tell without a job of its own: who committed last, and
what it said with it.
"""

import json
import re
from typing import Any, Final, NamedTuple

from korvet.pipeline.archive_state import APPLICATION, ArchiveState, parse_metadata
from korvet.pipeline.failure import LakeError
from korvet.pipeline.lake import Lake

_COMMIT: Final = re.compile(r"(\d{20})\.json")


class Commit(NamedTuple):
    """A commit of the archive, and what Delta counted in it."""

    # The table's newest version when this was its last commit, whoever wrote that one.
    table_version: int
    state: ArchiveState
    records: int
    bytes: int


def last_commit(lake: Lake, topic: str) -> Commit | None:
    """The archive's last commit; None where there is none, or Delta has forgotten it."""
    versions = _versions(lake, topic)
    for version in versions:
        actions = _commit(lake, topic, version)
        info = actions.get("commitInfo", {})
        state = parse_metadata(topic, info.get("userMetadata"))
        if state is None:
            continue
        written = actions.get("txn", {})
        if written.get("appId") != APPLICATION or written.get("version") != state.batch:
            raise _damaged(lake, topic, "a commit is not what it says")
        metrics = info.get("operationMetrics", {})
        return Commit(
            versions[0],
            state,
            int(metrics.get("numOutputRows", 0)),
            int(metrics.get("numOutputBytes", 0)),
        )
    return None


def is_complete(lake: Lake, topic: str) -> bool:
    """Whether the log still has its first commit, so that nothing of it was forgotten."""
    return 0 in _versions(lake, topic)


def _versions(lake: Lake, topic: str) -> list[int]:
    """The newest first."""
    folder = f"{lake.table_path(topic)}/_delta_log"
    found = [_COMMIT.fullmatch(name) for name in lake.names(folder)]
    return sorted((int(each[1]) for each in found if each), reverse=True)


def _commit(lake: Lake, topic: str, version: int) -> dict[str, dict[str, Any]]:
    path = f"{lake.table_path(topic)}/_delta_log/{version:020}.json"
    actions = _actions(lake.read(path))
    if actions is None:
        raise _damaged(lake, topic, f"{path} is not a commit")
    return actions


def _actions(commit: str) -> dict[str, dict[str, Any]] | None:
    """By kind; of several of one kind, none of which matter here, the last."""
    actions: dict[str, dict[str, Any]] = {}
    try:
        for line in commit.splitlines():
            actions |= json.loads(line)
    except (ValueError, TypeError):
        return None
    is_right = all(isinstance(each, dict) for each in actions.values())
    return actions if actions and is_right else None


def _damaged(lake: Lake, topic: str, why: str) -> LakeError:
    return LakeError(
        f"The table of {topic} in {lake.folder} is damaged: {why}.",
        "Nothing was changed. Restore its _delta_log from a copy, or move the table away to"
        " archive the topic anew.",
    )
