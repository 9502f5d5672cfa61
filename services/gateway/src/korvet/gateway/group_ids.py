"""Which group ids Kafka allows.

Members need a name for their group. Offsets may be committed and fetched without one, by
consumers that assign partitions to themselves, as Kafka has always let them.
"""

from korvet.kafka.errors import ErrorCode, KafkaError


def require_group_id(group_id: str) -> None:
    """Raises INVALID_GROUP_ID for the empty one."""
    if not group_id:
        raise KafkaError(ErrorCode.INVALID_GROUP_ID, "the group id is empty")
