"""PURE: a group <-> the value of its key.

The first line says which kind of group it is and who owns it (`owner`), the rest is the
state as JSON. Deadlines and parked calls are of one process, and are not kept.
"""

import json
from base64 import b64decode, b64encode
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from korvet.coordinator.group import Group, Member, Protocol, State
from korvet.coordinator.owner import Owner, head_line, parse_head

CLASSIC: Final = "classic"
# What StorageService.Consume writes: a work queue, which has no state here.
QUEUE: Final = "queue"


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredGroup:
    group: Group
    owner: Owner
    # Grows with each save of one owner.
    version: int
    # Since when it has no members, by the wall clock; None while it has some.
    empty_since_ms: int | None

    @property
    def name(self) -> str:
        return self.group.group_id

    @property
    def head(self) -> str:
        """The first line, by which a save knows that nobody else has saved."""
        return head_line(CLASSIC, self.owner, self.version)


def encode(stored: StoredGroup) -> bytes:
    group = stored.group
    body = {
        "state": group.state,
        "generation": group.generation,
        "protocolType": group.protocol_type,
        "protocolName": group.protocol_name,
        "leader": group.leader,
        "emptySince": stored.empty_since_ms,
    }
    members = ",".join(
        _with(member.said or said(member), "assignment", f'"{_text(member.assignment)}"')
        for member in group.members.values()
    )
    return f"{stored.head}\n{_with(_json(body), 'members', f'[{members}]')}".encode()


def said(member: Member) -> str:
    """What is saved of a member, its assignment aside; ASCII."""
    return _json(
        {
            "id": member.member_id,
            "instance": member.instance_id,
            "clientId": member.client_id,
            "host": member.client_host,
            "principal": member.principal,
            "sessionMs": round(member.session_timeout * 1000),
            "rebalanceMs": round(member.rebalance_timeout * 1000),
            "protocols": [[each.name, _text(each.metadata)] for each in member.protocols],
        }
    )


def assigned_bytes(assignments: Iterable[bytes]) -> int:
    """What assignments take in the value."""
    return sum(-(-len(each) // 3) * 4 for each in assignments)


def is_queue(value: bytes) -> bool:
    return value.partition(b"\n")[0] == QUEUE.encode()


def decode(group_id: str, value: bytes) -> StoredGroup:
    """Raises ValueError where this is no group's value."""
    line, _, text = value.partition(b"\n")
    try:
        head = parse_head(line.decode())
        if head.kind != CLASSIC:
            raise ValueError(f"a group of kind {head.kind}")
        body = json.loads(text)
        members = [_member(each) for each in body["members"]]
        return StoredGroup(
            group=Group(
                group_id=group_id,
                state=State(body["state"]),
                generation=body["generation"],
                protocol_type=body["protocolType"],
                protocol_name=body["protocolName"],
                leader=body["leader"],
                members={member.member_id: member for member in members},
            ),
            owner=head.owner,
            version=head.version,
            empty_since_ms=body["emptySince"],
        )
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"the state of group {group_id!r} cannot be read: {error}") from (
            error
        )


def _json(body: dict[str, Any]) -> str:
    return json.dumps(body, separators=(",", ":"))


def _with(body: str, name: str, value: str) -> str:
    """An object that has something, with one thing more; `value` is JSON too."""
    return f'{body[:-1]},"{name}":{value}}}'


def _member(body: dict[str, Any]) -> Member:
    return Member(
        member_id=body["id"],
        instance_id=body["instance"],
        client_id=body["clientId"],
        client_host=body["host"],
        principal=body["principal"],
        session_timeout=body["sessionMs"] / 1000,
        rebalance_timeout=body["rebalanceMs"] / 1000,
        protocols=tuple(
            Protocol(name, b64decode(data)) for name, data in body["protocols"]
        ),
        assignment=b64decode(body["assignment"]),
    )


def _text(data: bytes) -> str:
    return b64encode(data).decode()
