"""A member of a group by bare requests: it does what a test says, and nothing by itself.

So a test can hold a group in the middle of a join or of a sync, for as long as it likes.
"""

import struct
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from korvet.coordinator.group import State
from korvet.kafka.errors import ErrorCode
from korvet.kafka.messages.delete_groups import DeleteGroupsRequest, DeleteGroupsResponse
from korvet.kafka.messages.describe_groups import (
    DescribeGroupsRequest,
    DescribeGroupsResponse,
)
from korvet.kafka.messages.find_coordinator import (
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from korvet.kafka.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from korvet.kafka.messages.join_group import JoinGroupRequest, JoinGroupResponse
from korvet.kafka.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse
from korvet.kafka.messages.offset_commit import OffsetCommitRequest, OffsetCommitResponse
from korvet.kafka.messages.offset_delete import OffsetDeleteRequest, OffsetDeleteResponse
from korvet.kafka.messages.offset_fetch import OffsetFetchRequest, OffsetFetchResponse
from korvet.kafka.messages.sync_group import SyncGroupRequest, SyncGroupResponse
from tests.support.eventually import eventually_true
from tests.support.group_member import Place
from tests.support.member_process import PATIENCE
from tests.support.wire_client import WireClient

JOIN_VERSION: Final = 9
_SYNC_VERSION: Final = 5
# What a client is told while a group's coordinator is away or just back.
AWAY: Final = (
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.NOT_COORDINATOR,
)


class Committed(NamedTuple):
    """What OffsetFetch tells; an offset of -1 is none."""

    offset: int
    leader_epoch: int
    metadata: str | None
    error: ErrorCode = ErrorCode.NONE


class GroupWire(WireClient):
    def coordinator_id(self, group: str) -> int:
        """The gateway that clients are sent to for this group."""
        request = FindCoordinatorRequest(coordinator_keys=[group])
        (found,) = self.call(request, FindCoordinatorResponse, 6).coordinators
        assert found.error_code == ErrorCode.NONE, ErrorCode(found.error_code)
        return found.node_id

    # ------------------------------------------------------------ membership

    def join(
        self, group: str, topics: Iterable[str], member_id: str = ""
    ) -> JoinGroupResponse:
        """Join as new clients do: where an id is given first, come again with it."""
        joined = self.join_once(group, topics, member_id)
        if joined.error_code == ErrorCode.MEMBER_ID_REQUIRED:
            joined = self.join_once(group, topics, joined.member_id)
        assert joined.error_code == ErrorCode.NONE, ErrorCode(joined.error_code)
        return joined

    def join_once(
        self,
        group: str,
        topics: Iterable[str],
        member_id: str = "",
        version: int = JOIN_VERSION,
    ) -> JoinGroupResponse:
        self.send_join(group, topics, member_id, version)
        return self.receive_join(version)

    def send_join(
        self,
        group: str,
        topics: Iterable[str],
        member_id: str = "",
        version: int = JOIN_VERSION,
    ) -> None:
        protocol = JoinGroupRequest.JoinGroupRequestProtocol(
            name="range", metadata=subscription(topics)
        )
        request = JoinGroupRequest(
            group_id=group,
            session_timeout_ms=30_000,
            rebalance_timeout_ms=60_000,
            member_id=member_id,
            protocol_type="consumer",
            protocols=[protocol],
        )
        self.send(request, version)

    def receive_join(self, version: int = JOIN_VERSION) -> JoinGroupResponse:
        return self.receive(JoinGroupResponse, version)

    def sync(
        self,
        group: str,
        joined: JoinGroupResponse,
        assignments: Mapping[str, Iterable[Place]] | None = None,
    ) -> SyncGroupResponse:
        """As a follower; the leader passes what it assigns to whom."""
        request = SyncGroupRequest(
            group_id=group,
            generation_id=joined.generation_id,
            member_id=joined.member_id,
            protocol_type="consumer",
            protocol_name=joined.protocol_name,
            assignments=[
                SyncGroupRequest.SyncGroupRequestAssignment(
                    member_id=member_id, assignment=assignment(places)
                )
                for member_id, places in (assignments or {}).items()
            ],
        )
        return self.call(request, SyncGroupResponse, _SYNC_VERSION)

    def heartbeat(self, group: str, joined: JoinGroupResponse) -> ErrorCode:
        request = HeartbeatRequest(
            group_id=group,
            generation_id=joined.generation_id,
            member_id=joined.member_id,
        )
        return ErrorCode(self.call(request, HeartbeatResponse, 4).error_code)

    def leave(self, group: str, member_id: str) -> ErrorCode:
        leaving = LeaveGroupRequest.MemberIdentity(member_id=member_id)
        request = LeaveGroupRequest(group_id=group, members=[leaving])
        response = self.call(request, LeaveGroupResponse, 5)
        return ErrorCode(response.error_code or response.members[0].error_code)

    def leave_in_time(self, group: str, member_id: str) -> ErrorCode:
        """Leave as soon as a coordinator is there."""
        answers: list[ErrorCode] = []

        def is_answered() -> bool:
            answers.append(self.leave(group, member_id))
            return answers[-1] not in AWAY

        eventually_true(is_answered, PATIENCE)
        return answers[-1]

    def members_in(self, group: str, state: State) -> int:
        """How many members it has, where it is in this state; else none."""
        request = DescribeGroupsRequest(groups=[group])
        (found,) = self.call(request, DescribeGroupsResponse, 5).groups
        assert found.error_code == ErrorCode.NONE, ErrorCode(found.error_code)
        return len(found.members) if found.group_state == state else 0

    # ------------------------------------------------------------ offsets

    def commit(
        self,
        group: str,
        place: Place,
        offset: int,
        *,
        joined: JoinGroupResponse | None = None,
        leader_epoch: int = -1,
        metadata: str = "",
    ) -> ErrorCode:
        """By a member, or from outside."""
        partition = OffsetCommitRequest.OffsetCommitRequestPartition(
            partition_index=place[1],
            committed_offset=offset,
            committed_leader_epoch=leader_epoch,
            committed_metadata=metadata,
        )
        request = OffsetCommitRequest(
            group_id=group,
            generation_id_or_member_epoch=joined.generation_id if joined else -1,
            member_id=joined.member_id if joined else "",
            topics=[
                OffsetCommitRequest.OffsetCommitRequestTopic(
                    name=place[0], partitions=[partition]
                )
            ],
        )
        response = self.call(request, OffsetCommitResponse, 9)
        return ErrorCode(response.topics[0].partitions[0].error_code)

    def committed(self, group: str, place: Place, *, stable: bool = True) -> Committed:
        """With `stable`, an offset that a transaction is about to change is an error."""
        topic = OffsetFetchRequest.OffsetFetchRequestTopics(
            name=place[0], partition_indexes=[place[1]]
        )
        refusal, found = self._fetch_offsets(group, [topic], stable=stable)
        assert refusal is ErrorCode.NONE, repr(refusal)
        return found[place]

    def all_committed(self, group: str) -> dict[Place, Committed]:
        refusal, found = self._fetch_offsets(group, None, stable=True)
        assert refusal is ErrorCode.NONE, repr(refusal)
        return found

    def is_found(self, group: str) -> bool:
        """Whether a coordinator answers for it."""
        return self._fetch_offsets(group, [], stable=False)[0] not in AWAY

    def _fetch_offsets(
        self,
        group: str,
        topics: list[OffsetFetchRequest.OffsetFetchRequestTopics] | None,
        *,
        stable: bool,
    ) -> tuple[ErrorCode, dict[Place, Committed]]:
        wanted = OffsetFetchRequest.OffsetFetchRequestGroup(group_id=group, topics=topics)
        response = self.call(
            OffsetFetchRequest(groups=[wanted], require_stable=stable),
            OffsetFetchResponse,
            9,
        )
        (answer,) = response.groups
        offsets = {
            (topic.name, found.partition_index): Committed(
                found.committed_offset,
                found.committed_leader_epoch,
                found.metadata,
                ErrorCode(found.error_code),
            )
            for topic in answer.topics
            for found in topic.partitions
        }
        return ErrorCode(answer.error_code), offsets

    def delete_offset(self, group: str, place: Place) -> ErrorCode:
        partition = OffsetDeleteRequest.OffsetDeleteRequestPartition(
            partition_index=place[1]
        )
        topic = OffsetDeleteRequest.OffsetDeleteRequestTopic(
            name=place[0], partitions=[partition]
        )
        request = OffsetDeleteRequest(group_id=group, topics=[topic])
        response = self.call(request, OffsetDeleteResponse, 0)
        assert response.error_code == ErrorCode.NONE, ErrorCode(response.error_code)
        return ErrorCode(response.topics[0].partitions[0].error_code)

    def delete_group(self, group: str) -> ErrorCode:
        request = DeleteGroupsRequest(groups_names=[group])
        response = self.call(request, DeleteGroupsResponse, 2)
        return ErrorCode(response.results[0].error_code)


def subscription(topics: Iterable[str]) -> bytes:
    """Which topics a member wants, as consumers tell each other."""
    names = [name.encode() for name in topics]
    return b"".join(
        [
            struct.pack(">hi", 0, len(names)),
            *(struct.pack(">h", len(name)) + name for name in names),
            struct.pack(">i", -1),
        ]
    )


def assignment(places: Iterable[Place]) -> bytes:
    """What a leader assigns to a member, as consumers tell each other."""
    by_topic: dict[str, list[int]] = {}
    for topic, partition in sorted(places):
        by_topic.setdefault(topic, []).append(partition)
    parts = [struct.pack(">hi", 0, len(by_topic))]
    for topic, partitions in by_topic.items():
        name = topic.encode()
        parts.append(struct.pack(">h", len(name)) + name)
        parts.append(struct.pack(f">i{len(partitions)}i", len(partitions), *partitions))
    parts.append(struct.pack(">i", -1))
    return b"".join(parts)
