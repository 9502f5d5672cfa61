"""PURE: which history of its data a Redis server tells, from what INFO says of it.

A server's run id is its process's, so it stays when the server becomes another's replica,
takes over that one's data, and is promoted again. Its replication id is new then; but that
one is new as well when the first replica comes, and an hour after the last one went
(repl-backlog-ttl), with nothing lost. Only a promotion leaves the id that it ended behind
as the second one: so a history is the run, and from a promotion on also the replication id.
"""


class NotPrimaryError(Exception):
    """The server is another one's replica: it takes no writes, and may lose what it has."""


def history_of(server: bytes, replication: bytes) -> str:
    """The history, of the answers to `INFO server` and `INFO replication`.

    `history.lua` says the same inside Redis.
    """
    facts = _facts(server) | _facts(replication)
    if facts.get("role") == "slave":
        raise NotPrimaryError("it is a replica of another Redis")
    run = facts.get("run_id", "")
    if facts.get("second_repl_offset", "-1") == "-1":
        return run
    return f"{run}:{facts['master_replid']}"


def is_same_history(known: str, current: str) -> bool:
    """Whether nothing can be lost between these two; `epochs.lua` decides likewise.

    A promotion is forgotten by Redis when its backlog goes, with nothing lost.
    """
    return known == current or known.startswith(f"{current}:")


def _facts(info: bytes) -> dict[str, str]:
    pairs = (line.partition(":") for line in info.decode(errors="replace").splitlines())
    return {name: value for name, _, value in pairs if value}
