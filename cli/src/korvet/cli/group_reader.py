"""Asks the coordinator and storage for groups, and puts together what they say."""

import asyncio
from collections.abc import Sequence
from typing import Final

from korvet.cli.coordinator_connection import Coordinators
from korvet.cli.group_model import (
    QUEUE,
    Commit,
    Group,
    Member,
    TopicPartition,
    commits_in_force,
    exists,
    positions,
)
from korvet.cli.log_positions import LogPositions
from korvet.kafka.consumer_protocol import assigned_partitions
from korvet.kafka.errors import DecodeError, ErrorCode
from korvet.proto.coordinator.v1 import coordinator_service_pb2 as pb

_CALLS_AT_ONCE: Final = 16
_CONSUMER: Final = "consumer"


async def read_groups(
    coordinators: Coordinators, log: LogPositions, group_ids: Sequence[str]
) -> list[Group]:
    """The groups that there are among these, each with its commits and its lag."""
    described = [
        group
        for group in await coordinators.describe(group_ids)
        if group.error_code != ErrorCode.GROUP_ID_NOT_FOUND
    ]
    calls = asyncio.Semaphore(_CALLS_AT_ONCE)

    async def commits_of(
        group: pb.DescribeGroupsResponse.Group,
    ) -> dict[TopicPartition, Commit]:
        if group.protocol_type == QUEUE:
            return {}
        async with calls:
            return await coordinators.commits(group.group_id)

    commits = await asyncio.gather(*map(commits_of, described))
    members = [_members(group) for group in described]
    names = {place.topic for each in commits for place in each}
    names |= {
        topic for each in members for member in each for topic in member.assigned or ()
    }
    topics = await log.topics(sorted(names))
    groups = []
    for group, group_members, all_commits in zip(described, members, commits, strict=True):
        in_force = commits_in_force(all_commits, topics)
        places = {place for member in group_members for place in member.partitions()}
        # The offset matters only for the lag, and that is known only from a commit.
        offsets = dict.fromkeys((each for each in places if exists(each, topics)), 0)
        offsets |= {place: commit.offset for place, commit in in_force.items()}
        counts = await log.count(offsets, topics)
        found = positions(group_members, in_force, counts)
        if group.protocol_type == QUEUE:
            found = await log.queue(group.group_id)
        groups.append(
            Group(
                group_id=group.group_id,
                state=group.state,
                protocol_type=group.protocol_type,
                protocol_name=group.protocol_name,
                generation=group.generation_id,
                coordinator=group.coordinator_address,
                members=group_members,
                positions=found,
            )
        )
    return groups


def _members(group: pb.DescribeGroupsResponse.Group) -> tuple[Member, ...]:
    return tuple(
        Member(
            member_id=member.member_id,
            instance_id=(
                member.group_instance_id if member.HasField("group_instance_id") else None
            ),
            client_id=member.client_id,
            client_host=member.client_host,
            assigned=_assigned(group.protocol_type, member.assignment),
        )
        for member in sorted(group.members, key=lambda each: each.member_id)
    )


def _assigned(protocol_type: str, assignment: bytes) -> dict[str, list[int]] | None:
    if assignment and protocol_type != _CONSUMER:
        return None
    try:
        return {
            topic: sorted(partitions)
            for topic, partitions in sorted(assigned_partitions(assignment).items())
        }
    except DecodeError:
        return None
