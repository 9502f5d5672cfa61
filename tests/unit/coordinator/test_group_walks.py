"""Random walks through a group's life: whatever happens, what must hold holds.

What must hold after each single step is in `WatchedGroup`; here are the clients, and what
they may be told.
"""

from itertools import zip_longest

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)

from korvet.coordinator.group import Joined, Protocol, State, Synced
from korvet.coordinator.group_join import Limits, MemberIdRequired
from korvet.coordinator.group_rules import Leaving
from korvet.kafka.errors import ErrorCode
from tests.support.group_harness import Call, protocols
from tests.support.watched_group import WatchedGroup

# Longer than everything that a group waits for, one after the other.
FOR_EVER = 10_000.0
INSTANCES = ("i1", "i2")

PROTOCOLS = st.sampled_from(
    [
        protocols("range"),
        protocols("range", "sticky"),
        protocols("sticky", "range"),
        protocols("sticky", "range", metadata=b"other topics"),
        protocols("sticky"),
    ]
)
SESSIONS = st.sampled_from([6.0, 10.0, 45.0])
# Not 0: then whoever does not wait already is out as soon as a rebalance begins.
REBALANCES = st.sampled_from([1.0, 5.0, 30.0, 60.0])
# Who of those that a rule may choose from, counted round and round.
PICKS = st.integers(0, 7)
MOSTLY = st.sampled_from([True, True, True, False])


class GroupWalk(RuleBasedStateMachine):
    @initialize(
        delay=st.sampled_from([0.0, 3.0]),
        size=st.sampled_from([3, 5]),
        founders=st.integers(0, 3),
        are_static=st.booleans(),
        synced=st.sampled_from(["nobody", "followers", "all"]),
    )
    def begin(
        self, delay: float, size: int, founders: int, are_static: bool, synced: str
    ) -> None:
        self.group = WatchedGroup(limits=Limits(initial_delay=delay, max_size=size))
        self.calls: list[Call] = []
        self.vanished: list[Call] = []
        # What each sync asked for.
        self.generation_of: dict[Call, int] = {}
        # What all who have joined a generation were told of it.
        self.protocol_of: dict[int, str | None] = {}
        # Members, and those who were: neither is ever named anew.
        self.ids: list[str] = []
        self.highest_generation = 0
        # Walks from nothing seldom come to groups of several members.
        instances = INSTANCES if are_static else ()
        for _, instance_id in zip_longest(range(founders), instances[:founders]):
            self.called(self.group.join_new(self.new_id(), instance_id=instance_id))
        self.members_rejoin()
        self.group.advance(2 * delay)
        if synced != "nobody":
            self.followers_sync()
        if synced == "all" and founders:
            self.leader_syncs(is_current=True)

    def new_id(self) -> str:
        self.ids.append(f"m{len(self.ids)}")
        return self.ids[-1]

    def pick(self, pick: int) -> str:
        """A member mostly; else one that was, or never became one."""
        candidates = [*self.group.members, *self.group.members, *self.ids]
        return candidates[pick % len(candidates)]

    # --- joins ---

    @rule(
        requires_member_id=MOSTLY,
        spoken=PROTOCOLS,
        session=SESSIONS,
        rebalance=REBALANCES,
    )
    def join_new(
        self,
        requires_member_id: bool,
        spoken: tuple[Protocol, ...],
        session: float,
        rebalance: float,
    ) -> None:
        call = self.group.join_new(
            self.new_id(),
            requires_member_id=requires_member_id,
            protocols=spoken,
            session_timeout=session,
            rebalance_timeout=rebalance,
        )
        self.called(call)

    @rule(
        instance_id=st.sampled_from(INSTANCES),
        can_skip_assignment=st.booleans(),
        spoken=PROTOCOLS,
        session=SESSIONS,
        rebalance=REBALANCES,
    )
    def join_static(
        self,
        instance_id: str,
        can_skip_assignment: bool,
        spoken: tuple[Protocol, ...],
        session: float,
        rebalance: float,
    ) -> None:
        call = self.group.join_new(
            self.new_id(),
            instance_id=instance_id,
            can_skip_assignment=can_skip_assignment,
            protocols=spoken,
            session_timeout=session,
            rebalance_timeout=rebalance,
        )
        self.called(call)

    @precondition(lambda self: self.group.group.pending)
    @rule(pick=PICKS, spoken=PROTOCOLS)
    def join_pending(self, pick: int, spoken: tuple[Protocol, ...]) -> None:
        pending = list(self.group.group.pending)
        self.called(self.group.rejoin(pending[pick % len(pending)], protocols=spoken))

    @precondition(lambda self: self.ids)
    @rule(pick=PICKS)
    def rejoin(self, pick: int) -> None:
        self.called(self.group.rejoin(self.pick(pick)))

    @precondition(lambda self: self.ids)
    @rule(pick=PICKS, spoken=PROTOCOLS)
    def rejoin_with_something_else(self, pick: int, spoken: tuple[Protocol, ...]) -> None:
        self.called(self.group.rejoin(self.pick(pick), protocols=spoken))

    @precondition(lambda self: self.group.state is State.PREPARING_REBALANCE)
    @rule()
    def members_rejoin(self) -> None:
        for member_id in self.group.members:
            self.called(self.group.rejoin(member_id))

    # --- syncs ---

    @precondition(lambda self: self.ids)
    @rule(pick=PICKS, is_current=MOSTLY)
    def sync(self, pick: int, is_current: bool) -> None:
        self.sync_of(self.pick(pick), is_current)

    @precondition(lambda self: self.group.group.leader)
    @rule(is_current=MOSTLY)
    def leader_syncs(self, is_current: bool) -> None:
        leader = self.group.group.leader
        assert leader is not None
        self.sync_of(leader, is_current)

    @precondition(lambda self: self.group.state is State.COMPLETING_REBALANCE)
    @rule()
    def followers_sync(self) -> None:
        for member_id in self.group.members:
            if member_id != self.group.group.leader:
                self.sync_of(member_id, is_current=True)

    def sync_of(self, member_id: str, is_current: bool) -> None:
        generation = self.group.group.generation - (not is_current)
        # A follower tries to assign, too; its tag must not be seen.
        by = generation if member_id == self.group.group.leader else "follower"
        call = self.group.sync(
            member_id,
            generation=generation,
            assignments=tuple((one, f"{by}".encode()) for one in self.group.members),
        )
        self.generation_of[call] = generation
        self.called(call)

    # --- the rest ---

    @precondition(lambda self: self.ids)
    @rule(pick=PICKS, is_current=MOSTLY)
    def heartbeat(self, pick: int, is_current: bool) -> None:
        member_id = self.pick(pick)
        generation = self.group.group.generation - (not is_current)
        code = self.group.heartbeat(member_id, generation)
        if code in (ErrorCode.NONE, ErrorCode.REBALANCE_IN_PROGRESS):
            self.group.heard[member_id] = self.group.now

    @rule(seconds=st.sampled_from([3.0, 5.0]))
    def everybody_heartbeats_for_a_while(self, seconds: float) -> None:
        """Every session is longer than this."""
        for _ in range(4):
            for member_id in self.group.members:
                code = self.group.heartbeat(member_id)
                assert code in (ErrorCode.NONE, ErrorCode.REBALANCE_IN_PROGRESS)
                self.group.heard[member_id] = self.group.now
            self.group.advance(seconds)

    @precondition(lambda self: self.ids)
    @rule(pick=PICKS, is_outside=st.booleans())
    def commit(self, pick: int, is_outside: bool) -> None:
        if is_outside:
            code = self.group.commit("", -1)
            assert (code is ErrorCode.NONE) is (self.group.state is State.EMPTY)
            return
        member_id = self.pick(pick)
        if self.group.commit(member_id) is ErrorCode.NONE:
            assert self.group.state is not State.COMPLETING_REBALANCE
            self.group.heard[member_id] = self.group.now

    @precondition(lambda self: self.ids)
    @rule(picks=st.lists(PICKS, min_size=1, max_size=2))
    def leave(self, picks: list[int]) -> None:
        self.group.leave(*(self.pick(pick) for pick in picks))

    @rule(instance_id=st.sampled_from(INSTANCES))
    def remove_by_instance_id(self, instance_id: str) -> None:
        self.group.leave(Leaving("", instance_id))

    @precondition(lambda self: self.group.parked)
    @rule(pick=PICKS)
    def vanish(self, pick: int) -> None:
        parked = [call for waiting in self.group.parked.values() for call in waiting]
        call = parked[pick % len(parked)]
        self.group.vanish(call)
        self.group.heard[call.member_id] = self.group.now
        self.vanished.append(call)

    @rule(seconds=st.sampled_from([0.0, 1.0, 1.0, 3.0, 3.0, 6.0, 20.0, 70.0]))
    def time_passes(self, seconds: float) -> None:
        self.group.advance(seconds)

    @rule()
    def another_coordinator_takes_over(self) -> None:
        self.group.take_over()

    # --- what clients are told ---

    def called(self, call: Call) -> None:
        self.calls.append(call)
        if call.answers and isinstance(call.answer, Joined | Synced):
            self.group.heard[call.member_id] = self.group.now

    @invariant()
    def every_call_is_parked_or_answered_once(self) -> None:
        parked = {call for waiting in self.group.parked.values() for call in waiting}
        for call in self.calls:
            expected = 0 if call in parked or call in self.vanished else 1
            assert len(call.answers) == expected, call

    @invariant()
    def answers_are_of_one_generation(self) -> None:
        answered = [call for call in self.calls if call.answers]
        self.calls = [call for call in self.calls if not call.answers]
        for call in answered:
            if isinstance(call.answer, Joined):
                self.check_joined(call.answer)
            elif isinstance(call.answer, Synced):
                tag = str(self.generation_of[call]).encode()
                assert call.answer.assignment in (b"", tag)
            else:
                assert isinstance(call.answer, ErrorCode | MemberIdRequired)

    def check_joined(self, joined: Joined) -> None:
        known = self.protocol_of.setdefault(joined.generation, joined.protocol_name)
        assert joined.protocol_name == known
        if joined.members:
            assert joined.leader == joined.member_id
            assert joined.member_id in {member_id for member_id, _, _ in joined.members}
        else:
            assert joined.leader != joined.member_id

    @invariant()
    def generations_never_go_down(self) -> None:
        assert self.group.group.generation >= self.highest_generation
        self.highest_generation = self.group.group.generation

    @invariant()
    def nobody_waits_for_those_who_have_all_joined(self) -> None:
        group = self.group.group
        if group.state is State.PREPARING_REBALANCE and not (group.delay or group.pending):
            waits = any(member.is_parked for member in group.members.values())
            assert not waits or not all(one.is_joining for one in group.members.values())

    def teardown(self) -> None:
        """Nobody does anything any more, and in the end nobody is left."""
        if not hasattr(self, "group"):
            return
        self.group.advance(FOR_EVER)
        assert self.group.state is State.EMPTY
        assert self.group.group.next_deadline() is None
        assert not self.group.parked
        self.every_call_is_parked_or_answered_once()
        self.answers_are_of_one_generation()


TestGroupWalk = GroupWalk.TestCase
TestGroupWalk.settings = settings(max_examples=300, stateful_step_count=40, deadline=None)
