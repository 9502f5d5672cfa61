"""The calls about committed offsets, from message to message."""

from collections.abc import Awaitable, Collection

from korvet.coordinator.committed_offsets import Commit, CommittedOffsets, TopicPartition
from korvet.coordinator.group_actor import GroupActor
from korvet.coordinator.group_codec import StoredGroup
from korvet.coordinator.groups import Groups
from korvet.coordinator.offset_rules import topics_in_use
from korvet.coordinator.owned_store import NotOwnerError
from korvet.coordinator.pending_offsets import PendingOffsets
from korvet.coordinator.redis_groups import RedisGroups
from korvet.coordinator.refusals import answered, explained
from korvet.coordinator.transaction import Producer
from korvet.kafka.errors import ErrorCode, KafkaError
from korvet.proto.coordinator.v1 import coordinator_service_pb2 as pb
from korvet.redis.topic_ids import TOPIC_ID_BYTES, parse_topic_id, topic_id_text


class OffsetCalls:
    def __init__(
        self,
        groups: Groups,
        offsets: CommittedOffsets,
        pending: PendingOffsets,
        redis_groups: RedisGroups,
        *,
        max_metadata_length: int,
    ) -> None:
        self._groups = groups
        self._offsets = offsets
        self._pending = pending
        self._redis_groups = redis_groups
        self._max_metadata_length = max_metadata_length

    # --- commit ---

    async def commit(self, request: pb.CommitOffsetsRequest) -> pb.CommitOffsetsResponse:
        return await answered(self._commit(request), pb.CommitOffsetsResponse)

    async def _commit(self, request: pb.CommitOffsetsRequest) -> pb.CommitOffsetsResponse:
        group_id = request.group_id
        actor = await self._committing(request, if_absent=ErrorCode.GROUP_ID_NOT_FOUND)
        codes, commits = self._commits(request)
        reply = await actor.check_commit(
            request.member_id,
            _instance_id(request),
            request.generation_id,
            lambda stored: self._offsets.send(group_id, stored.owner, commits),
        )
        await _carried_out(actor, self._offsets.sent(reply))
        self._redis_groups.committed(group_id, commits)
        return pb.CommitOffsetsResponse(offset_error_codes=codes)

    async def commit_in_transaction(
        self, request: pb.CommitTransactionOffsetsRequest
    ) -> pb.CommitOffsetsResponse:
        return await answered(
            self._commit_in_transaction(request), pb.CommitOffsetsResponse
        )

    async def _commit_in_transaction(
        self, request: pb.CommitTransactionOffsetsRequest
    ) -> pb.CommitOffsetsResponse:
        commit = request.commit
        if not commit.group_id:
            raise KafkaError(ErrorCode.INVALID_GROUP_ID)
        producer = Producer(request.producer_id, request.producer_epoch)
        actor = await self._committing(commit, if_absent=ErrorCode.ILLEGAL_GENERATION)
        codes, commits = self._commits(commit)
        reply = await actor.check_transactional_commit(
            commit.member_id,
            _instance_id(commit),
            commit.generation_id,
            lambda stored: self._pending.send(
                commit.group_id, stored.owner, producer, commits
            ),
        )
        await _carried_out(actor, self._pending.sent(reply))
        return pb.CommitOffsetsResponse(offset_error_codes=codes)

    async def _committing(
        self, request: pb.CommitOffsetsRequest, *, if_absent: ErrorCode
    ) -> GroupActor:
        """The group; one that commits from outside makes it, where there is none."""
        if request.generation_id < 0:
            return await self._groups.claim(request.group_id)
        found = await self._groups.find(request.group_id)
        if found is None:
            raise KafkaError(if_absent)
        return found

    def _commits(
        self, request: pb.CommitOffsetsRequest
    ) -> tuple[list[ErrorCode], dict[TopicPartition, Commit]]:
        """What each offset is answered, and those that are committed."""
        codes = [self._check(offset) for offset in request.offsets]
        commits = {
            TopicPartition(offset.topic, offset.partition): Commit(
                offset.offset,
                topic_id_text(offset.topic_id),
                offset.leader_epoch,
                offset.metadata,
            )
            for offset, code in zip(request.offsets, codes, strict=True)
            if code is ErrorCode.NONE
        }
        return codes, commits

    def _check(self, offset: pb.CommitOffsetsRequest.Offset) -> ErrorCode:
        if len(offset.topic_id) != TOPIC_ID_BYTES:
            return ErrorCode.UNKNOWN_TOPIC_ID
        # Kafka counts Java's characters, whatever the setting is called.
        if len(offset.metadata.encode("utf-16-le")) // 2 > self._max_metadata_length:
            return ErrorCode.OFFSET_METADATA_TOO_LARGE
        return ErrorCode.NONE

    # --- fetch ---

    async def fetch(self, request: pb.FetchOffsetsRequest) -> pb.FetchOffsetsResponse:
        unstable: Collection[TopicPartition] = ()
        try:
            if request.require_stable:
                # First: what is committed meanwhile is then found as well.
                unstable = (await self._pending.all(request.group_id)).keys()
            if request.all:
                found = await self._offsets.fetch_all(request.group_id)
            else:
                places = [TopicPartition(p.topic, p.partition) for p in request.partitions]
                found = await self._offsets.fetch(request.group_id, places)
                unstable = set(unstable).intersection(places)
        except Exception as error:  # noqa: BLE001 - each kind has its code
            return pb.FetchOffsetsResponse(error_code=explained(error)[0])
        response = pb.FetchOffsetsResponse()
        for place in unstable:
            response.offsets.add(
                topic=place.topic,
                partition=place.partition,
                offset=-1,
                leader_epoch=-1,
                error_code=ErrorCode.UNSTABLE_OFFSET_COMMIT,
            )
        for place, committed in found.items():
            if place in unstable:
                continue
            commit = committed.commit
            response.offsets.add(
                topic=place.topic,
                topic_id=parse_topic_id(commit.topic_id),
                partition=place.partition,
                offset=commit.offset,
                leader_epoch=commit.leader_epoch,
                metadata=commit.metadata,
            )
        return response

    # --- delete ---

    async def delete(self, request: pb.DeleteOffsetsRequest) -> pb.DeleteOffsetsResponse:
        return await answered(self._delete(request), pb.DeleteOffsetsResponse)

    async def _delete(self, request: pb.DeleteOffsetsRequest) -> pb.DeleteOffsetsResponse:
        actor = await self._groups.find(request.group_id)
        if actor is None:
            raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND)
        places = [TopicPartition(p.topic, p.partition) for p in request.partitions]

        async def delete(stored: StoredGroup) -> list[ErrorCode]:
            in_use = topics_in_use(stored.group, {place.topic for place in places})
            free = [place for place in places if place.topic not in in_use]
            await self._offsets.delete(request.group_id, stored.owner, free)
            self._redis_groups.forgotten(request.group_id, free)
            used = ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC
            return [used if place.topic in in_use else ErrorCode.NONE for place in places]

        codes = await actor.in_turn(delete)
        return pb.DeleteOffsetsResponse(partition_error_codes=codes)


async def _carried_out(actor: GroupActor, commit: Awaitable[None]) -> None:
    try:
        await commit
    except NotOwnerError as error:
        # It has been taken over, or Redis has lost it: its members shall not go on as if
        # nothing had happened, with commits that are refused for ever.
        actor.close(error)
        raise


def _instance_id(request: pb.CommitOffsetsRequest) -> str | None:
    return request.group_instance_id if request.HasField("group_instance_id") else None
