"""One group that this coordinator owns: events one at a time, parked calls, one timer.

It decides nothing: it applies a rule, saves what must survive by compare-and-set, and only
then carries out the effects. When a save fails, nobody knows what Redis has: the actor
closes, everybody who is parked is told, and the group is read again when it is next wanted.
"""

import asyncio
import contextlib
import logging
from collections import defaultdict, deque
from collections.abc import Callable, Coroutine
from dataclasses import replace
from typing import Any, Final, TypeAlias, TypeVar

import hiredis

from korvet.coordinator import group_join
from korvet.coordinator import group_rules as rules
from korvet.coordinator.background import Background
from korvet.coordinator.group import Group, JoinAnswer, Joined, Synced
from korvet.coordinator.group_codec import StoredGroup
from korvet.coordinator.group_join import Join, JoinResult, Limits
from korvet.coordinator.group_rules import Leaving, Sync
from korvet.coordinator.group_store import GroupStore
from korvet.coordinator.owned_store import NotOwnerError
from korvet.coordinator.rebalance import Step
from korvet.kafka.errors import ErrorCode, KafkaError
from korvet.redis.lane import ConnectionLost, NotSent
from korvet.runtime import metrics
from korvet.runtime.waiting import begin_wait

log = logging.getLogger(__name__)

REBALANCES: Final = metrics.counter(
    "korvet.group.rebalances",
    unit="{rebalance}",
    description="Generations that groups have begun, that of a group that has lost its last"
    " member included.",
    attributes=("messaging.consumer.group.name",),
    limit=metrics.NAMES_SHOWN,
)

_Answer = TypeVar("_Answer")
_Event: TypeAlias = Callable[[Group, float], Step[_Answer]]
# Kind of call and member.
_Key: TypeAlias = tuple[str, str]


class GroupActor:
    def __init__(
        self,
        stored: StoredGroup,
        store: GroupStore,
        limits: Limits,
        *,
        background: Background,
        on_close: Callable[["GroupActor"], None],
    ) -> None:
        self._loop = asyncio.get_running_loop()
        group = rules.resumed(stored.group, self._loop.time())
        self._stored = replace(stored, group=group)
        self._store = store
        self._limits = limits
        self._background = background
        self._on_close = on_close
        # Events change the group one at a time, saving included.
        self._turn = asyncio.Lock()
        # A member that calls again does not wait for its first call any more, which is
        # answered before the second.
        self._parked: defaultdict[_Key, deque[asyncio.Future[Any]]] = defaultdict(deque)
        self._timer: asyncio.TimerHandle | None = None
        self._closed_with: Exception | None = None
        # What has last been applied, by name.
        self._last_event = ""
        self._set_timer()

    @property
    def group(self) -> Group:
        return self._stored.group

    @property
    def is_idle(self) -> bool:
        """Whether nothing is under way, and nobody is expected."""
        return not self._turn.locked() and not self._parked and not self.group.pending

    # --- events ---

    async def join(self, request: Join) -> JoinResult:
        key = "join", request.member_id or request.new_member_id
        call: asyncio.Future[Joined | ErrorCode] = self._loop.create_future()
        return await self._parkable(
            key, call, lambda group, now: group_join.join(group, request, self._limits, now)
        )

    async def sync(self, request: Sync) -> Synced:
        key = "sync", request.member_id
        call: asyncio.Future[Synced | ErrorCode] = self._loop.create_future()
        return await self._parkable(
            key, call, lambda group, now: rules.sync(group, request, self._limits, now)
        )

    def heartbeat_now(
        self, member_id: str, instance_id: str | None, generation: int
    ) -> ErrorCode | None:
        """The answer to a heartbeat, if it can be given without waiting."""
        if self._turn.locked():
            return None
        self._check_open()
        step = rules.heartbeat(
            self.group, member_id, instance_id, generation, self._loop.time()
        )
        # Its deadline moves away, so that the timer need not be set.
        self._stored = replace(self._stored, group=step.group)
        return step.answer

    async def heartbeat(
        self, member_id: str, instance_id: str | None, generation: int
    ) -> ErrorCode:
        return await self._apply_at_once(
            "heartbeat",
            lambda group, now: rules.heartbeat(
                group, member_id, instance_id, generation, now
            ),
        )

    async def leave(self, leaving: tuple[Leaving, ...]) -> tuple[ErrorCode, ...]:
        return await self._apply_at_once(
            "leave", lambda group, now: rules.leave(group, leaving, now)
        )

    async def check_commit(
        self,
        member_id: str,
        instance_id: str | None,
        generation: int,
        then: Callable[[StoredGroup], _Answer],
    ) -> _Answer:
        """Call `then` if these offsets may be committed now, before anything changes."""
        async with self._turn:
            self._check_open()
            step = rules.check_commit(
                self.group, member_id, instance_id, generation, self._loop.time()
            )
            self._stored = replace(self._stored, group=step.group)
            return then(self._stored)

    async def check_transactional_commit(
        self,
        member_id: str,
        instance_id: str | None,
        generation: int,
        then: Callable[[StoredGroup], _Answer],
    ) -> _Answer:
        """The same for offsets that are part of a transaction."""
        async with self._turn:
            self._check_open()
            rules.check_transactional_commit(self.group, member_id, instance_id, generation)
            return then(self._stored)

    async def in_turn(
        self, action: Callable[[StoredGroup], Coroutine[Any, Any, _Answer]]
    ) -> _Answer:
        """Do something about the group while nothing else changes it."""
        async with self._turn:
            self._check_open()
            return await action(self._stored)

    def close(self, reason: Exception) -> None:
        """Stop being the one who decides; tell everybody who is parked."""
        if self._closed_with is not None:
            return
        self._closed_with = reason
        if self._timer is not None:
            self._timer.cancel()
        for waiting in self._parked.values():
            for call in waiting:
                if not call.done():
                    call.set_exception(reason)
        self._parked.clear()
        self._on_close(self)

    # --- how an event is applied ---

    async def _parkable(
        self,
        key: _Key,
        call: "asyncio.Future[Any]",
        event: _Event[_Answer],
    ) -> _Answer:
        try:
            answer = await self._apply(event, key[0], key, call)
            if answer is not None:
                return answer
            waiting = None if call.done() else begin_wait("rebalance")
            answered: _Answer | ErrorCode = await call
            if waiting is not None:
                # Whoever waited goes on before the next event is taken.
                waiting.end(self._last_event)
        except asyncio.CancelledError:
            self._background.spawn(self._forget(key, call))
            raise
        if isinstance(answered, ErrorCode):
            raise KafkaError(answered)
        return answered

    async def _apply_at_once(self, name: str, event: _Event[_Answer]) -> _Answer:
        answer = await self._apply(event, name)
        assert answer is not None
        return answer

    async def _apply(
        self,
        event: _Event[_Answer],
        name: str,
        key: _Key | None = None,
        call: "asyncio.Future[Any] | None" = None,
    ) -> _Answer | None:
        # A caller that goes away does not interrupt what has begun.
        task = self._background.spawn(self._apply_in_turn(event, name, key, call))
        return (await asyncio.shield(task)).answer

    async def _apply_in_turn(
        self,
        event: _Event[_Answer],
        name: str,
        key: _Key | None = None,
        call: "asyncio.Future[Any] | None" = None,
    ) -> Step[_Answer]:
        """Take an event's step; where it has no answer, the call is parked."""
        async with self._turn:
            self._check_open()
            step = event(self.group, self._loop.time())
            await self._keep(step.group)
            if step.answer is None and key is not None and call is not None:
                self._parked[key].append(call)
            self._last_event = name
            self._carry_out(step)
            self._set_timer()
            return step

    async def _keep(self, group: Group) -> None:
        if not rules.is_transition(self.group, group):
            self._stored = replace(self._stored, group=group)
            return
        generation = self.group.generation
        try:
            self._stored = await self._store.save(self._stored, group)
        except (NotOwnerError, NotSent, ConnectionLost, hiredis.ReplyError) as error:
            log.warning("group %s could not be saved: %r", group.group_id, error)
            self.close(error)
            raise
        if group.generation != generation:
            REBALANCES.of(group.group_id).value += 1
        # It may have lost its lease meanwhile, and everybody may have been told so.
        self._check_open()

    def _carry_out(self, step: "Step[Any]") -> None:
        for effect in step.effects:
            kind = "join" if isinstance(effect, JoinAnswer) else "sync"
            waiting = self._parked.get((kind, effect.member_id))
            if not waiting:
                continue
            call = waiting.popleft()
            if not waiting:
                del self._parked[kind, effect.member_id]
            if not call.done():
                call.set_result(effect.answer)

    async def _forget(self, key: _Key, call: "asyncio.Future[Any]") -> None:
        """The client of a parked call has gone."""
        async with self._turn:
            waiting = self._parked.get(key)
            if self._closed_with is not None or waiting is None or call not in waiting:
                return
            waiting.remove(call)
            if not waiting:
                del self._parked[key]
                group = rules.forget_call(self.group, key[1], self._loop.time())
                self._stored = replace(self._stored, group=group)
                self._set_timer()

    # --- time ---

    def _set_timer(self) -> None:
        deadline = self.group.next_deadline()
        if self._timer is not None:
            if deadline is not None and self._timer.when() <= deadline:
                # It comes early, and is then set again.
                return
            self._timer.cancel()
            self._timer = None
        if deadline is not None and deadline != float("inf"):
            self._timer = self._loop.call_at(deadline, self._on_timer)

    def _on_timer(self) -> None:
        self._timer = None
        self._background.spawn(self._expire())

    async def _expire(self) -> None:
        # Where it fails, the actor is closed, with everybody told; `_keep` has logged it.
        with contextlib.suppress(
            NotOwnerError, NotSent, ConnectionLost, hiredis.ReplyError
        ):
            await self._apply_in_turn(rules.expire, "time")

    def _check_open(self) -> None:
        if self._closed_with is not None:
            raise self._closed_with
