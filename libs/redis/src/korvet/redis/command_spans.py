"""Spans of commands to Redis, by OpenTelemetry's conventions for databases.

They tell a command's name, the script it runs and the keys, and no other argument.
"""

import asyncio
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final

import hiredis
from opentelemetry.trace import SpanKind

from korvet.redis.greeting import Argument
from korvet.runtime.tracing import Attribute, Work

# Those of ours whose first argument is a key. Of any other nothing but the name is told.
_KEYED: Final = frozenset((
    "DEL", "EXISTS", "EXPIRE", "GET", "HDEL", "HGET", "HGETALL", "HMGET", "HSET", "MEMORY",
    "PEXPIRE", "PTTL", "SADD", "SCARD", "SET", "SISMEMBER", "SMEMBERS", "SREM", "SSCAN",
    "STRLEN", "TTL", "UNLINK", "XACK", "XADD", "XDEL", "XINFO", "XLEN", "XPENDING",
    "XRANGE", "XREVRANGE", "XTRIM", "ZADD", "ZRANGE", "ZREM", "ZSCORE",
))  # fmt: skip
# XINFO STREAM key, MEMORY USAGE key.
_SUBCOMMANDS: Final = {"XINFO", "MEMORY"}
_SCRIPTS: Final = {"EVALSHA", "EVALSHA_RO"}
_KEYS: Final = "korvet.redis.keys"
# What a script that appends to several partitions names may be many.
_MAX_KEYS: Final = 8
# Redis has lost its scripts, or never had them: they are sent, and nothing has failed.
_EXPECTED: Final = {"NOSCRIPT", "NoScriptError"}


# By what EVALSHA takes. There are as many as files.
_script_names: Final[dict[str, str]] = {}


def name_script(digest: str, name: str) -> None:
    """Say what a script is called, which Redis knows by its digest only."""
    _script_names[digest] = name


class CommandSpans:
    """Those of one connection."""

    def __init__(self, options: Mapping[str, Any]) -> None:
        """`options` are what redis-py's `parse_url` makes of a URL."""
        self._place: dict[str, Attribute] = {
            "db.system.name": "redis",
            "db.namespace": str(options.get("db", 0)),
        }
        if "path" in options:
            self._place["server.address"] = str(options["path"])
        else:
            self._place["server.address"] = str(options.get("host", "localhost"))
            self._place["server.port"] = int(options.get("port", 6379))

    def begin(self, asking: Work, arguments: Sequence[Argument]) -> Work | None:
        """Begin the span of a command that somebody asks."""
        command = _text(arguments[0]).upper()
        attributes: dict[str, Attribute] = {**self._place, "db.operation.name": command}
        name = command
        if command in _SCRIPTS:
            digest = _text(arguments[1])
            script = _script_names.get(digest, digest)
            attributes["db.stored_procedure.name"] = script
            name = f"{command} {script}"
        attributes[_KEYS] = _keys(command, arguments)
        return asking.child(name, attributes, kind=SpanKind.CLIENT)

    def follow(
        self,
        asking: Work,
        arguments: Sequence[Argument],
        reply: "asyncio.Future[Any]",
    ) -> None:
        """Record a command until its reply is there."""
        if (work := self.begin(asking, arguments)) is not None:
            reply.add_done_callback(partial(_replied, work))


def end_command(work: Work, error: BaseException | None) -> None:
    if error is None:
        work.end()
    elif isinstance(error, hiredis.ReplyError):
        # Redis's word for the kind of error; what follows may quote what was sent.
        code = str(error).partition(" ")[0]
        work.span.set_attribute("db.response.status_code", code)
        work.end(code, is_failure=code not in _EXPECTED)
    else:
        kind = type(error).__name__
        work.end(kind, is_failure=kind not in _EXPECTED)


def _replied(work: Work, reply: "asyncio.Future[Any]") -> None:
    if reply.cancelled():
        work.end("cancelled", is_failure=False)
    else:
        end_command(work, reply.exception())


def _keys(command: str, arguments: Sequence[Argument]) -> list[str]:
    if command in _SCRIPTS:
        count = min(int(_text(arguments[2])), _MAX_KEYS)
        return [_text(key) for key in arguments[3 : 3 + count]]
    if command not in _KEYED:
        return []
    place = 2 if command in _SUBCOMMANDS else 1
    return [_text(key) for key in arguments[place : place + 1]]


def _text(argument: Argument) -> str:
    if isinstance(argument, bytes | bytearray | memoryview):
        return bytes(argument).decode(errors="replace")
    return str(argument)
