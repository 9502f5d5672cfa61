"""Drives one group's rules as the actor does, with a clock that only moves when told.

Calls that are parked wait in order, by kind and member, and are answered by effects. After
every step the group's own idea of who is parked is compared with who really is.
"""

from collections import defaultdict, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias, TypeVar

from korvet.coordinator import group_join
from korvet.coordinator import group_rules as rules
from korvet.coordinator.group import (
    Group,
    JoinAnswer,
    Joined,
    Member,
    Protocol,
    State,
    SyncAnswer,
    Synced,
)
from korvet.coordinator.group_codec import StoredGroup, decode, encode, said
from korvet.coordinator.group_join import Join, Limits, MemberIdRequired
from korvet.coordinator.group_rules import Leaving, Sync
from korvet.coordinator.owner import Owner
from korvet.coordinator.rebalance import Step
from korvet.kafka.errors import ErrorCode, KafkaError

Answer: TypeAlias = Joined | MemberIdRequired | Synced | ErrorCode
_Result = TypeVar("_Result")

_OWNER: Final = Owner(address="127.0.0.1:50052", incarnation="first", epoch=1)
# More timers than any test has at one moment: beyond, they only set each other off.
_MAX_TIMERS_AT_ONCE: Final = 100


def protocols(*names: str, metadata: bytes = b"topics") -> tuple[Protocol, ...]:
    return tuple(Protocol(name, metadata) for name in names)


@dataclass(eq=False)
class Call:
    """A client's join or sync, and how it was answered."""

    kind: str
    member_id: str
    answers: list[Answer] = field(default_factory=list)

    @property
    def is_parked(self) -> bool:
        return not self.answers

    @property
    def answer(self) -> Answer:
        (answer,) = self.answers
        return answer

    @property
    def joined(self) -> Joined:
        assert isinstance(self.answer, Joined), self.answer
        return self.answer

    @property
    def assignment(self) -> bytes:
        assert isinstance(self.answer, Synced), self.answer
        return self.answer.assignment


@dataclass
class GroupHarness:
    group: Group = field(default_factory=lambda: Group(group_id="orders"))
    limits: Limits = field(default_factory=lambda: Limits(initial_delay=0.0))
    now: float = 1000.0
    session_timeout: float = 10.0
    rebalance_timeout: float = 60.0
    # What a coordinator that takes the group over would find.
    saved: Group = field(default_factory=lambda: Group(group_id="orders"))
    saves: int = 0
    parked: defaultdict[tuple[str, str], deque[Call]] = field(
        default_factory=lambda: defaultdict(deque)
    )

    @classmethod
    def stable(cls, *names: str, **settings: Any) -> "GroupHarness":
        """These are members, the first leads, and each is assigned what it is called."""
        harness = cls(**settings)
        harness.join_all(*names)
        harness.sync_all()
        assert harness.state is State.STABLE
        return harness

    @classmethod
    def completing(cls, *names: str, **settings: Any) -> "GroupHarness":
        """These have joined, and nobody has synced."""
        harness = cls(**settings)
        harness.join_all(*names)
        assert harness.state is State.COMPLETING_REBALANCE
        return harness

    @classmethod
    def in_state(cls, state: State) -> "GroupHarness":
        """With members a, which leads, and b; in a prepared rebalance a has joined."""
        if state is State.EMPTY:
            return cls()
        if state is State.COMPLETING_REBALANCE:
            return cls.completing("a", "b")
        harness = cls.stable("a", "b")
        if state is State.PREPARING_REBALANCE:
            harness.rejoin("a")
        return harness

    # --- what clients do ---

    def join_new(self, name: str, **fields: Any) -> Call:
        """A first join; whoever gets an id is called by this name."""
        fields = {"requires_member_id": False, **fields}
        return self._join(Call("join", name), member_id="", new_member_id=name, **fields)

    def rejoin(self, member_id: str, **fields: Any) -> Call:
        """Join under an id that was given before."""
        member = self.group.members.get(member_id)
        if member is not None:
            known = {"instance_id": member.instance_id, "protocols": member.protocols}
            fields = {**known, **fields}
        call = Call("join", member_id)
        return self._join(call, member_id=member_id, new_member_id="unused", **fields)

    def _join(self, call: Call, **fields: Any) -> Call:
        defaults = {
            "protocol_type": "consumer",
            "protocols": protocols("range"),
            "session_timeout": self.session_timeout,
            "rebalance_timeout": self.rebalance_timeout,
        }
        request = Join(**{**defaults, **fields})
        return self._call(
            call, lambda: group_join.join(self.group, request, self.limits, self.now)
        )

    def sync(self, member_id: str, *assigned: str, **fields: Any) -> Call:
        """Ask for an assignment; a leader hands in that of `assigned`, by their names."""
        request = Sync(
            **{
                "member_id": member_id,
                "generation": self.group.generation,
                "assignments": tuple((name, name.encode()) for name in assigned),
                **fields,
            }
        )
        return self._call(
            Call("sync", member_id),
            lambda: rules.sync(self.group, request, self.limits, self.now),
        )

    def join_all(self, *names: str) -> dict[str, Call]:
        """Everybody gets an id before anybody joins, so that it takes one rebalance.

        Of members, name the leader first: its join is what begins the rebalance.
        """
        for name in names:
            if name not in self.group.members:
                self.join_new(name, requires_member_id=True)
        return {name: self.rejoin(name) for name in names}

    def sync_all(self) -> dict[str, Call]:
        """The leader first; each is assigned its own name."""
        names = list(self.group.members)
        leader = self.group.leader
        assert leader is not None
        calls = {leader: self.sync(leader, *names)}
        return calls | {name: self.sync(name) for name in names if name != leader}

    def heartbeat(
        self, member_id: str, generation: int | None = None, instance_id: str | None = None
    ) -> ErrorCode:
        at = self.group.generation if generation is None else generation
        return self._code(
            lambda: rules.heartbeat(self.group, member_id, instance_id, at, self.now)
        )

    def commit(
        self,
        member_id: str = "",
        generation: int | None = None,
        instance_id: str | None = None,
    ) -> ErrorCode:
        at = self.group.generation if generation is None else generation
        return self._code(
            lambda: rules.check_commit(self.group, member_id, instance_id, at, self.now)
        )

    def leave(self, *leaving: str | Leaving) -> list[ErrorCode]:
        whom = tuple(Leaving(one, None) if isinstance(one, str) else one for one in leaving)
        codes = self._apply(rules.leave(self.group, whom, self.now))
        assert codes is not None
        return list(codes)

    def vanish(self, call: Call) -> None:
        """The client of a parked call goes away without a word."""
        key = (call.kind, call.member_id)
        self.parked[key].remove(call)
        if not self.parked[key]:
            del self.parked[key]
            self.group = rules.forget_call(self.group, call.member_id, self.now)
        self.check()

    # --- what happens to a coordinator ---

    def advance(self, seconds: float) -> None:
        """Move the clock, firing each timer on the way at its own time."""
        end = self.now + seconds
        fired = 0
        while (deadline := self.group.next_deadline()) is not None and deadline <= end:
            fired = fired + 1 if deadline <= self.now else 0
            assert fired < _MAX_TIMERS_AT_ONCE, "timers set each other off"
            self.now = max(self.now, deadline)
            self._apply(rules.expire(self.group, self.now))
        self.now = end

    def take_over(self) -> None:
        """The owner is gone, and another one goes on with what it had saved."""
        for waiting in self.parked.values():
            for call in waiting:
                call.answers.append(ErrorCode.NOT_COORDINATOR)
        self.parked.clear()
        stored = StoredGroup(group=self.saved, owner=_OWNER, version=1, empty_since_ms=None)
        found = decode(self.saved.group_id, encode(stored))
        self.group = rules.resumed(found.group, self.now)
        self.check()

    # --- what tests look at ---

    @property
    def state(self) -> State:
        return self.group.state

    @property
    def members(self) -> list[str]:
        return list(self.group.members)

    def member(self, member_id: str) -> Member:
        return self.group.members[member_id]

    def check(self) -> None:
        """Whom the group takes for parked is parked, once, and nobody else is; and what
        would be saved of members is what they are."""
        for member in self.group.members.values():
            assert member.said == said(member)
        flagged = {
            (kind, member.member_id)
            for member in self.group.members.values()
            for kind, is_set in (("join", member.is_joining), ("sync", member.is_syncing))
            if is_set and member.is_parked
        }
        assert flagged == set(self.parked), (self.group, self.parked)
        assert all(len(waiting) == 1 for waiting in self.parked.values()), self.parked

    def watch(self, before: Group) -> None:
        """For subclasses that look at each single step."""

    # --- how the actor applies a step ---

    def _call(self, call: Call, event: Callable[[], Step[Any]]) -> Call:
        try:
            step = event()
        except KafkaError as refusal:
            call.answers.append(refusal.code)
            return call
        if step.answer is None:
            self.parked[call.kind, call.member_id].append(call)
        else:
            call.answers.append(step.answer)
        self._apply(step)
        return call

    def _code(self, event: Callable[[], Step[ErrorCode]]) -> ErrorCode:
        try:
            code = self._apply(event())
        except KafkaError as refusal:
            return refusal.code
        assert code is not None
        return code

    def _apply(self, step: Step[_Result]) -> _Result | None:
        before = self.group
        if rules.is_transition(before, step.group):
            self.saved = step.group
            self.saves += 1
        self.group = step.group
        for effect in step.effects:
            self._answer(effect)
        self.check()
        self.watch(before)
        return step.answer

    def _answer(self, effect: JoinAnswer | SyncAnswer) -> None:
        key = ("join" if isinstance(effect, JoinAnswer) else "sync", effect.member_id)
        # Unlike the actor, which must live with it: no effect is for nobody.
        call = self.parked[key].popleft()
        if not self.parked[key]:
            del self.parked[key]
        call.answers.append(effect.answer)
