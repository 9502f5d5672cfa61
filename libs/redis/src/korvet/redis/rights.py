"""PURE: what a Redis user must be allowed to do, found out before anything is done.

Redis rolls no script back: one that may not run a command after its first write leaves
half of its work. So every command of the scripts is sent once after a MULTI, with a key or
channel of each kind that we have, and then discarded: Redis judges a command when it is
queued, by command, key and channel, and carries none of these out.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

Probe: TypeAlias = tuple[str, ...]

# A command with arguments that Redis would queue.
_FORMS: Final = {
    "DEL": "{key}",
    "EVALSHA": "digest 0",
    "EXISTS": "{key}",
    "GET": "{key}",
    "HDEL": "{key} field",
    "HEXISTS": "{key} field",
    "HGET": "{key} field",
    "HGETALL": "{key}",
    "HKEYS": "{key}",
    "HMGET": "{key} field",
    "HSET": "{key} field value",
    "HVALS": "{key}",
    "INFO": "server",
    "PERSIST": "{key}",
    "PEXPIRE": "{key} 1",
    "PUBLISH": "{channel} message",
    "RENAME": "{key} {key}",
    "SADD": "{key} member",
    "SET": "{key} value",
    "SMEMBERS": "{key}",
    "SREM": "{key} member",
    "TIME": "",
    "WAIT": "1 1",
    "WAITAOF": "1 1 1",
    "XACK": "{key} group 1-1",
    "XADD": "{key} * field value",
    "XCLAIM": "{key} group consumer 0 1-1",
    "XGROUP CREATE": "{key} group $",
    "XGROUP CREATECONSUMER": "{key} group consumer",
    "XGROUP DELCONSUMER": "{key} group consumer",
    "XGROUP DESTROY": "{key} group",
    "XGROUP SETID": "{key} group $",
    "XINFO GROUPS": "{key}",
    "XINFO STREAM": "{key}",
    "XLEN": "{key}",
    "XPENDING": "{key} group",
    "XRANGE": "{key} - +",
    "XREADGROUP": "GROUP group consumer STREAMS {key} >",
    "XREVRANGE": "{key} + -",
    "XTRIM": "{key} MAXLEN 0",
}
_CALL: Final = re.compile(r"redis\.p?call\('([A-Z]+)'(?:, '([A-Z]+)')?")
# With these each kind of key is tried: one that reads it and one that writes it.
_FOR_KEYS: Final = ("HGET", "HSET")
# Redis's words for it: to a command of its own, and to one inside a script by version.
_DENIALS: Final = (
    "NOPERM",
    "The user executing the script can't",
    "ACL failure in script",
)


class MissingRightsError(Exception):
    """The user may not do what it must; the message says what, and what to do."""


@dataclass(frozen=True, slots=True)
class Rights:
    """What a service's user needs."""

    commands: frozenset[str]
    keyspace: str
    # One of each kind. The first one is tried with every command.
    keys: Sequence[str]
    channels: Sequence[str]

    def probes(self) -> list[Probe]:
        """Commands to be queued, none of which is to be carried out."""
        return list(dict.fromkeys(self._probes()))

    def _probes(self) -> Iterator[Probe]:
        for command in sorted(self.commands):
            for channel in self.channels or ("",):
                form = _FORMS[command].format(key=self.keys[0], channel=channel)
                yield tuple(f"{command} {form}".split())
        for command in _FOR_KEYS:
            for key in self.keys:
                yield tuple(f"{command} {_FORMS[command].format(key=key)}".split())

    def missing(self, user: str, denied: Sequence[Probe]) -> MissingRightsError:
        what = ", ".join(" ".join(probe[:2]) for probe in denied)
        return MissingRightsError(
            f"the Redis user {user} may not do all that Korvet's scripts do: {what}. "
            "Nothing is served, since a script that is refused half-way leaves half of its "
            f"work. Allow it, for instance by ACL SETUSER {user} resetkeys "
            f"~{self.keyspace}:* resetchannels &{self.keyspace}:* +@all -@dangerous +info"
        )


def commands_in(texts: Iterable[str]) -> frozenset[str]:
    """What Lua scripts call, and what runs them."""
    return frozenset({"EVALSHA"}.union(*map(_called_in, texts)))


def _called_in(text: str) -> Iterable[str]:
    for command, word in _CALL.findall(text):
        with_word = f"{command} {word}"
        yield with_word if with_word in _FORMS else command


def is_denial(error: object) -> bool:
    """Whether a reply says that the user may not."""
    return any(words in str(error) for words in _DENIALS)
