"""A coordinator in memory, for tests of the gateway's handlers (`handler.Coordinator`).

It keeps what is committed and describes the groups that a test gives it; membership, whose
rules are the real coordinator's, it answers with what a test sets. It can also be away.
"""

from collections.abc import Sequence

from korvet.kafka.errors import ErrorCode, KafkaError
from korvet.proto.coordinator.v1 import coordinator_service_pb2 as pb
from korvet.proto.storage.v1 import storage_service_pb2 as storage_pb


class FakeCoordinator:
    def __init__(self) -> None:
        # What was asked, in order.
        self.requests: list[object] = []
        # Raised by every call.
        self.is_away_with: ErrorCode | None = None
        # Answers to members.
        self.joined = pb.JoinGroupResponse(
            generation_id=1,
            protocol_type="consumer",
            protocol_name="range",
            leader="member",
            member_id="member",
        )
        self.synced = pb.SyncGroupResponse(
            protocol_type="consumer", protocol_name="range", assignment=b"assignment"
        )
        self.heartbeat_code = ErrorCode.NONE
        # Member id, or instance id without one -> what its leaving gets.
        self.leave_codes: dict[str, ErrorCode] = {}
        # Group -> what a call about all of it gets.
        self.group_codes: dict[str, ErrorCode] = {}
        # Partition -> what a commit, a fetch or a deletion of its offset gets.
        self.offset_codes: dict[tuple[str, int], ErrorCode] = {}
        self.committed: dict[tuple[str, str, int], pb.CommitOffsetsRequest.Offset] = {}
        self.groups: dict[str, pb.DescribeGroupsResponse.Group] = {}
        self.readers: list[pb.FindReadersResponse.Reader] = []
        self.settings: list[storage_pb.Config] = []

    def commit(self, group_id: str, offset: pb.CommitOffsetsRequest.Offset) -> None:
        self.committed[group_id, offset.topic, offset.partition] = offset

    # ------------------------------------------------------------ membership

    async def join_group(self, request: pb.JoinGroupRequest) -> pb.JoinGroupResponse:
        self._called(request)
        return self.joined

    async def sync_group(self, request: pb.SyncGroupRequest) -> pb.SyncGroupResponse:
        self._called(request)
        return self.synced

    async def heartbeat(self, request: pb.HeartbeatRequest) -> pb.HeartbeatResponse:
        self._called(request)
        return pb.HeartbeatResponse(error_code=self.heartbeat_code)

    async def leave_group(self, request: pb.LeaveGroupRequest) -> pb.LeaveGroupResponse:
        self._called(request)
        if code := self.group_codes.get(request.group_id):
            return pb.LeaveGroupResponse(error_code=code)
        return pb.LeaveGroupResponse(
            member_error_codes=[
                self.leave_codes.get(
                    member.member_id or member.group_instance_id, ErrorCode.NONE
                )
                for member in request.members
            ]
        )

    # ------------------------------------------------------------ offsets

    async def commit_offsets(
        self, request: pb.CommitOffsetsRequest
    ) -> pb.CommitOffsetsResponse:
        self._called(request)
        if code := self.group_codes.get(request.group_id):
            return pb.CommitOffsetsResponse(error_code=code)
        response = pb.CommitOffsetsResponse()
        for offset in request.offsets:
            refusal = self._offset_code(offset.topic, offset.partition)
            response.offset_error_codes.append(refusal)
            if not refusal:
                self.commit(request.group_id, offset)
        return response

    async def commit_transaction_offsets(
        self, request: pb.CommitTransactionOffsetsRequest
    ) -> pb.CommitOffsetsResponse:
        self._called(request)
        if code := self.group_codes.get(request.commit.group_id):
            return pb.CommitOffsetsResponse(error_code=code)
        codes = [
            self._offset_code(offset.topic, offset.partition)
            for offset in request.commit.offsets
        ]
        return pb.CommitOffsetsResponse(offset_error_codes=codes)

    async def fetch_offsets(
        self, request: pb.FetchOffsetsRequest
    ) -> pb.FetchOffsetsResponse:
        self._called(request)
        if code := self.group_codes.get(request.group_id):
            return pb.FetchOffsetsResponse(error_code=code)
        wanted = {(each.topic, each.partition) for each in request.partitions}
        return pb.FetchOffsetsResponse(
            offsets=[
                pb.FetchOffsetsResponse.Offset(
                    topic=topic,
                    topic_id=offset.topic_id,
                    partition=partition,
                    offset=offset.offset,
                    leader_epoch=offset.leader_epoch,
                    metadata=offset.metadata,
                    error_code=self._offset_code(topic, partition),
                )
                for (group_id, topic, partition), offset in self.committed.items()
                if group_id == request.group_id
                and (request.all or (topic, partition) in wanted)
            ]
        )

    async def delete_offsets(
        self, request: pb.DeleteOffsetsRequest
    ) -> pb.DeleteOffsetsResponse:
        self._called(request)
        if code := self.group_codes.get(request.group_id):
            return pb.DeleteOffsetsResponse(error_code=code)
        response = pb.DeleteOffsetsResponse()
        for each in request.partitions:
            refusal = self._offset_code(each.topic, each.partition)
            response.partition_error_codes.append(refusal)
            if not refusal:
                self.committed.pop((request.group_id, each.topic, each.partition), None)
        return response

    # ------------------------------------------------------------ administration

    async def list_groups(self, request: pb.ListGroupsRequest) -> pb.ListGroupsResponse:
        self._called(request)
        return pb.ListGroupsResponse(
            groups=[
                pb.ListGroupsResponse.Group(
                    group_id=group_id,
                    protocol_type=group.protocol_type,
                    state=group.state,
                    type="classic",
                )
                for group_id, group in self.groups.items()
                if not request.states or group.state in request.states
            ]
        )

    async def describe_groups(
        self, request: pb.DescribeGroupsRequest
    ) -> pb.DescribeGroupsResponse:
        self._called(request)
        absent = pb.DescribeGroupsResponse.Group(error_code=ErrorCode.GROUP_ID_NOT_FOUND)
        return pb.DescribeGroupsResponse(
            groups=[self.groups.get(group_id, absent) for group_id in request.group_ids]
        )

    async def delete_group(self, request: pb.DeleteGroupRequest) -> pb.DeleteGroupResponse:
        self._called(request)
        if code := self.group_codes.get(request.group_id):
            return pb.DeleteGroupResponse(error_code=code)
        if self.groups.pop(request.group_id, None) is None:
            return pb.DeleteGroupResponse(error_code=ErrorCode.GROUP_ID_NOT_FOUND)
        return pb.DeleteGroupResponse()

    async def find_readers(
        self, request: pb.FindReadersRequest
    ) -> Sequence[pb.FindReadersResponse.Reader]:
        self._called(request)
        return self.readers

    async def describe_server(self) -> Sequence[storage_pb.Config]:
        self._called(pb.DescribeServerRequest())
        return self.settings

    # ------------------------------------------------------------ rules

    def _called(self, request: object) -> None:
        self.requests.append(request)
        if self.is_away_with is not None:
            raise KafkaError(self.is_away_with, "the coordinator cannot be reached")

    def _offset_code(self, topic: str, partition: int) -> ErrorCode:
        return self.offset_codes.get((topic, partition), ErrorCode.NONE)
