"""The calls that list, describe and delete groups, from message to message.

What is only looked at is read from Redis, where every transition is: so any coordinator
can answer, whoever owns the group.
"""

from collections.abc import Awaitable, Callable, Sequence

from korvet.coordinator.committed_offsets import CommittedOffsets, TopicPartition
from korvet.coordinator.group import State
from korvet.coordinator.group_codec import StoredGroup
from korvet.coordinator.group_store import GroupStore
from korvet.coordinator.groups import Groups
from korvet.coordinator.owned_store import NotOwnerError
from korvet.coordinator.redis_groups import RedisGroups
from korvet.coordinator.refusals import answered
from korvet.kafka.consumer_protocol import assigned_partitions
from korvet.kafka.errors import DecodeError, ErrorCode, KafkaError
from korvet.proto.coordinator.v1 import coordinator_service_pb2 as pb

_CLASSIC = "classic"
# A work queue's consumers come and go in storage; here it is just there.
_QUEUE_STATE = State.STABLE
_QUEUE = "queue"

Partitions = Callable[[], Awaitable[Sequence[TopicPartition]]]


class AdminCalls:
    def __init__(
        self,
        groups: Groups,
        store: GroupStore,
        offsets: CommittedOffsets,
        redis_groups: RedisGroups,
        *,
        all_partitions: Partitions,
    ) -> None:
        self._groups = groups
        self._store = store
        self._offsets = offsets
        self._redis_groups = redis_groups
        self._all_partitions = all_partitions

    async def list_groups(self, request: pb.ListGroupsRequest) -> pb.ListGroupsResponse:
        states = {state.lower() for state in request.states}
        types = {type_.lower() for type_ in request.types}
        response = pb.ListGroupsResponse()
        async for group_id, stored in self._store.load_each(await self._store.names()):
            if isinstance(stored, StoredGroup):
                protocol_type, state = stored.group.protocol_type, stored.group.state
            elif self._store.is_queue(stored):
                protocol_type, state = _QUEUE, _QUEUE_STATE
            else:
                continue
            if (not states or state.lower() in states) and (not types or _CLASSIC in types):
                response.groups.add(
                    group_id=group_id,
                    protocol_type=protocol_type,
                    state=state,
                    type=_CLASSIC,
                )
        return response

    async def describe_groups(
        self, request: pb.DescribeGroupsRequest
    ) -> pb.DescribeGroupsResponse:
        response = pb.DescribeGroupsResponse()
        names = list(dict.fromkeys(request.group_ids))
        found = {name: stored async for name, stored in self._store.load_each(names)}
        live = await self._store.live_coordinators()
        for group_id in request.group_ids:
            described = response.groups.add(group_id=group_id)
            stored = found.get(group_id)
            if stored is None:
                described.state = "Dead"
                described.error_code = ErrorCode.GROUP_ID_NOT_FOUND
            elif self._store.is_queue(stored):
                described.state, described.protocol_type = _QUEUE_STATE, _QUEUE
            elif isinstance(stored, KafkaError):
                described.error_code = stored.code
            else:
                _describe(described, stored)
                owner = stored.owner
                if live.get(owner.address) == owner.incarnation:
                    described.coordinator_address = owner.address
        return response

    async def delete_group(self, request: pb.DeleteGroupRequest) -> pb.DeleteGroupResponse:
        return await answered(self._delete_group(request.group_id), pb.DeleteGroupResponse)

    async def _delete_group(self, group_id: str) -> pb.DeleteGroupResponse:
        if await self._is_queue(group_id):
            # A work queue has no members here; those who consume are told that it is gone.
            partitions = await self._all_partitions()
            await self._redis_groups.destroy(group_id, partitions, is_queue=True)
            await self._store.delete_queue(group_id)
            return pb.DeleteGroupResponse()
        actor = await self._groups.find(group_id)
        if actor is None:
            raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND)

        async def delete(stored: StoredGroup) -> None:
            if stored.group.state is not State.EMPTY:
                raise KafkaError(ErrorCode.NON_EMPTY_GROUP)
            # On all: what was delivered or forgotten is not found through the offsets.
            await self._redis_groups.destroy(group_id, await self._all_partitions())
            places = await self._offsets.places(group_id)
            await self._offsets.delete(group_id, stored.owner, places, with_group=True)
            await self._store.forget_name(group_id)

        await actor.in_turn(delete)
        # Whoever waited for its turn meanwhile looks again, and may make a new one.
        actor.close(NotOwnerError())
        return pb.DeleteGroupResponse()

    async def _is_queue(self, group_id: str) -> bool:
        try:
            await self._store.load(group_id)
        except KafkaError as refusal:
            if self._store.is_queue(refusal):
                return True
            raise
        return False

    def find_readers(self, request: pb.FindReadersRequest) -> pb.FindReadersResponse:
        response = pb.FindReadersResponse()
        wanted = (request.client_id, request.client_host, request.principal)
        for actor in self._groups.owned:
            for member in actor.group.members.values():
                if (member.client_id, member.client_host, member.principal) != wanted:
                    continue
                try:
                    assigned = assigned_partitions(member.assignment)
                except DecodeError:
                    # Not a consumer's: nobody can say what it reads.
                    continue
                reader = response.readers.add(
                    group_id=actor.group.group_id, member_id=member.member_id
                )
                for topic, partitions in assigned.items():
                    reader.assigned.add(topic=topic, partitions=partitions)
        return response


def _describe(described: pb.DescribeGroupsResponse.Group, stored: StoredGroup) -> None:
    group = stored.group
    is_stable = group.state is State.STABLE
    described.state = group.state
    described.protocol_type = group.protocol_type
    described.generation_id = group.generation
    if is_stable:
        described.protocol_name = group.protocol_name or ""
    for member in group.members.values():
        described.members.add(
            member_id=member.member_id,
            group_instance_id=member.instance_id,
            client_id=member.client_id,
            client_host=member.client_host,
            metadata=member.metadata_for(group.protocol_name) if is_stable else b"",
            assignment=member.assignment,
        )
