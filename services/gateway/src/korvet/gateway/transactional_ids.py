"""Which transactional ids Kafka allows, and how refusals of them are told to clients."""

from korvet.kafka.errors import ErrorCode, KafkaError


def require_transactional_id(transactional_id: str) -> None:
    """Raises INVALID_REQUEST for the empty one."""
    if not transactional_id:
        raise KafkaError(ErrorCode.INVALID_REQUEST, "the transactional id is empty")


def understood(code: int, version: int, *, fenced_from: int) -> int:
    """The code, as clients of this version know it.

    `fenced_from` is the API's first version with PRODUCER_FENCED (KIP-588).
    """
    if code == ErrorCode.PRODUCER_FENCED and version < fenced_from:
        return ErrorCode.INVALID_PRODUCER_EPOCH
    return code
