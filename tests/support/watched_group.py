"""A group harness that checks, after each single step, what must hold whatever happens."""

from dataclasses import dataclass, field

from korvet.coordinator.group import TRANSITIONS, Group, State
from tests.support.group_harness import GroupHarness


@dataclass
class WatchedGroup(GroupHarness):
    # When each member was last heard from, as its own client would count.
    heard: dict[str, float] = field(default_factory=dict)
    _is_time_passing: bool = False

    def advance(self, seconds: float) -> None:
        self._is_time_passing = True
        super().advance(seconds)
        self._is_time_passing = False

    def take_over(self) -> None:
        before = self.group
        super().take_over()
        # Nothing that anybody was told is taken back.
        assert (self.state, self.group.generation) == (before.state, before.generation)
        assert self.group.members.keys() <= before.members.keys()
        self.heard = dict.fromkeys(self.group.members, self.now)
        self._check_shape()

    def watch(self, before: Group) -> None:
        self._check_path(before)
        self._check_shape()
        if self._is_time_passing:
            for member_id in before.members.keys() - self.group.members.keys():
                self._check_expired(before, member_id)
        for member_id, member in self.group.members.items():
            was = before.members.get(member_id)
            if not member.is_parked and (was is None or was.is_parked):
                self.heard[member_id] = self.now

    def _check_path(self, before: Group) -> None:
        """One step begins at most one rebalance and completes at most one."""
        after = self.group
        ends = TRANSITIONS[State.PREPARING_REBALANCE]
        assert after.state in {before.state, *TRANSITIONS[before.state], *ends}
        assert after.generation - before.generation in (0, 1)
        if after.generation != before.generation:
            assert after.state in ends
            # Static members that are away have their places besides.
            joined = [one for one in after.members.values() if one.owes_sync]
            assert len(joined) <= self.limits.max_size
        elif after.state is not before.state:
            assert after.state in {State.PREPARING_REBALANCE, State.STABLE}

    def _check_shape(self) -> None:
        group, members = self.group, self.group.members.values()
        is_preparing = group.state is State.PREPARING_REBALANCE
        is_completing = group.state is State.COMPLETING_REBALANCE
        if group.members:
            assert group.state is not State.EMPTY
            assert group.leader in group.members
        else:
            assert group.state in {State.EMPTY, State.PREPARING_REBALANCE}
            assert group.leader is None
        assert not group.members.keys() & group.pending.keys()
        instances = [one.instance_id for one in members if one.instance_id]
        assert len(instances) == len(set(instances))
        assert is_preparing is (group.join_deadline is not None)
        assert is_preparing or not any(one.is_joining for one in members)
        assert is_completing or not any(one.is_syncing for one in members)
        if is_completing:
            assert group.leader is not None
            assert group.members[group.leader].owes_sync
            assert group.sync_deadline is not None
        if group.members and not is_preparing:
            assert group.protocol_name in group.common_protocols()

    def _check_expired(self, before: Group, member_id: str) -> None:
        """Time takes out only who is late for a rebalance, owes a sync, or is silent."""
        member = before.members[member_id]
        is_due = before.join_deadline is not None and before.join_deadline <= self.now
        if is_due and not member.is_joining:
            return
        is_due = before.sync_deadline is not None and before.sync_deadline <= self.now
        if is_due and member.owes_sync:
            return
        assert not member.is_parked
        assert self.heard[member_id] + member.session_timeout <= self.now
