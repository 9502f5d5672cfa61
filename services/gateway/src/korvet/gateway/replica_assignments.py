"""PURE: which replica assignments make sense to ask for.

A partition has one replica, on the gateway that Metadata names, and gateways share
partitions out among themselves. So an assignment is checked as Kafka checks it, that a
mistaken request is not taken for a good one, but it decides nothing.
"""

from collections.abc import Collection, Sequence

from korvet.kafka.errors import ErrorCode, KafkaError


def check_replicas(broker_ids: Sequence[int], known: Collection[int]) -> None:
    """Raise INVALID_REPLICA_ASSIGNMENT unless these could be one partition's replicas."""
    if not broker_ids:
        raise _invalid("The manual partition assignment includes an empty replica list.")
    seen: set[int] = set()
    for broker_id in broker_ids:
        if broker_id not in known:
            raise _invalid(
                f"The manual partition assignment includes broker {broker_id}, but no such "
                "broker is registered."
            )
        if broker_id in seen:
            raise _invalid(
                f"The manual partition assignment includes the broker {broker_id} more "
                "than once."
            )
        seen.add(broker_id)


def check_partition_indexes(indexes: Sequence[int]) -> None:
    """Raise INVALID_REPLICA_ASSIGNMENT unless these are all of a new topic's."""
    seen: set[int] = set()
    for index in indexes:
        if index in seen:
            raise _invalid(
                f"Found multiple manual partition assignments for partition {index}"
            )
        seen.add(index)
    if seen != set(range(len(seen))):
        raise _invalid("partitions should be a consecutive 0-based integer sequence")


def _invalid(detail: str) -> KafkaError:
    return KafkaError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, detail)
