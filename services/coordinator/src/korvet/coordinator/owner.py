"""PURE: who owns what is saved, and how the first line of its value says so.

The line is for the scripts and for saves by compare-and-set: what kind of thing it is, the
owner's epoch, the version of the state, and who the owner is.
"""

from dataclasses import dataclass
from typing import NamedTuple


@dataclass(frozen=True, slots=True, kw_only=True)
class Owner:
    """Which run of which coordinator may change something, and until whose epoch."""

    address: str
    incarnation: str
    # Grows with each change of owner.
    epoch: int


class Head(NamedTuple):
    kind: str
    owner: Owner
    # Grows with each save of one owner.
    version: int


def head_line(kind: str, owner: Owner, version: int) -> str:
    return f"{kind} {owner.epoch} {version} {owner.incarnation} {owner.address}"


def parse_head(line: str) -> Head:
    """Raises ValueError where this is no such line."""
    kind, epoch, version, incarnation, address = line.split(" ", 4)
    owner = Owner(address=address, incarnation=incarnation, epoch=int(epoch))
    return Head(kind, owner, int(version))
