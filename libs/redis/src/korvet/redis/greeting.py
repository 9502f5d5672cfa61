"""What a lane says first on a connection, and what it must hear before it is used."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, TypeAlias

from korvet.redis.connection import Reply
from korvet.redis.history import history_of
from korvet.redis.rights import MissingRightsError, Rights, is_denial
from korvet.redis.script import Script

Argument: TypeAlias = bytes | str | int
# Sends commands; returns their replies, errors among them as they are.
Ask: TypeAlias = Callable[[Sequence[tuple[Argument, ...]]], Awaitable[list[Reply]]]


async def greet(
    ask: Ask, options: Mapping[str, Any], scripts: Sequence[Script], rights: Rights | None
) -> str:
    """Log in, load the scripts, see whether they may run; return the server's history.

    `options` are a URL's. Raises what Redis refuses, NotPrimaryError or MissingRightsError.
    """
    commands: list[tuple[Argument, ...]] = []
    if options.get("password"):
        user = (options["username"],) if options.get("username") else ()
        commands.append(("AUTH", *user, options["password"]))
    if options.get("db"):
        commands.append(("SELECT", options["db"]))
    commands += [("SCRIPT", "LOAD", script.text) for script in scripts]
    commands += [("INFO", "server"), ("INFO", "replication")]
    replies = await ask(commands)
    for reply in replies:
        if isinstance(reply, Exception):
            raise reply
    history = history_of(*replies[-2:])
    if rights is not None:
        await check_rights(ask, rights, options.get("username") or "default")
    return history


async def check_rights(ask: Ask, rights: Rights, user: str) -> None:
    """Raise MissingRightsError where the user may not do what it must."""
    # Awaited: without a transaction all that follows would be carried out.
    [begun] = await ask([("MULTI",)])
    if is_denial(begun):
        raise rights.missing(user, [("MULTI",)])
    if isinstance(begun, Exception):
        raise begun
    probes = rights.probes()
    *replies, discarded = await ask([*probes, ("DISCARD",)])
    if isinstance(discarded, Exception):
        raise MissingRightsError(f"the Redis user {user} may not DISCARD: {discarded}")
    # Other refusals are not about rights: a full Redis, for one, queues nothing.
    denied = [p for p, reply in zip(probes, replies, strict=True) if is_denial(reply)]
    if denied:
        raise rights.missing(user, denied)
