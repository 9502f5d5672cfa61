"""How calls fail: storage refused (KorvetError), or could not be asked (UnavailableError).

The names are Kafka's. Only those that storage answers are here, so that this package needs
no codec; a unit test compares them with the whole table in `korvet.kafka.errors`.
"""

from enum import IntEnum
from typing import Final


class ErrorCode(IntEnum):
    UNKNOWN_SERVER_ERROR = -1
    NONE = 0
    OFFSET_OUT_OF_RANGE = 1
    CORRUPT_MESSAGE = 2
    UNKNOWN_TOPIC_OR_PARTITION = 3
    NOT_LEADER_OR_FOLLOWER = 6
    REQUEST_TIMED_OUT = 7
    MESSAGE_TOO_LARGE = 10
    INVALID_TOPIC_EXCEPTION = 17
    NOT_ENOUGH_REPLICAS = 19
    NOT_ENOUGH_REPLICAS_AFTER_APPEND = 20
    INCONSISTENT_GROUP_PROTOCOL = 23
    INVALID_GROUP_ID = 24
    INVALID_TIMESTAMP = 32
    TOPIC_ALREADY_EXISTS = 36
    INVALID_PARTITIONS = 37
    INVALID_CONFIG = 40
    INVALID_REQUEST = 42
    POLICY_VIOLATION = 44
    OUT_OF_ORDER_SEQUENCE_NUMBER = 45
    DUPLICATE_SEQUENCE_NUMBER = 46
    INVALID_PRODUCER_EPOCH = 47
    OPERATION_NOT_ATTEMPTED = 55
    KAFKA_STORAGE_ERROR = 56
    UNKNOWN_PRODUCER_ID = 59
    GROUP_ID_NOT_FOUND = 69
    FENCED_LEADER_EPOCH = 74
    UNKNOWN_LEADER_EPOCH = 75
    INVALID_RECORD = 87
    THROTTLING_QUOTA_EXCEEDED = 89
    UNKNOWN_TOPIC_ID = 100
    INCONSISTENT_TOPIC_ID = 103


_NAMES: Final = {code.value: code.name for code in ErrorCode}

# Worth asking again without any change. For an append that is safe only with a sequence
# number: two of them leave its outcome open.
RETRIABLE: Final = frozenset(
    {
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.REQUEST_TIMED_OUT,
        ErrorCode.NOT_ENOUGH_REPLICAS,
        ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
        ErrorCode.KAFKA_STORAGE_ERROR,
        ErrorCode.THROTTLING_QUOTA_EXCEEDED,
    }
)


class KorvetError(Exception):
    """Storage refused with one of Kafka's errors: `code` is its number, `name` its name."""

    def __init__(self, code: int, detail: str = "") -> None:
        self.code = code
        self.name = _NAMES.get(code, f"ERROR_{code}")
        self.detail = detail
        super().__init__(f"{self.name}: {detail}" if detail else self.name)


class TopicDeletedError(KorvetError):
    """The topic that was followed is no more, though there may be another of its name."""

    def __init__(self, topic: str) -> None:
        self.topic = topic
        super().__init__(
            ErrorCode.UNKNOWN_TOPIC_ID,
            f"{topic} was deleted; if it was made again, that is another topic",
        )


def refusal(topic: str, code: int, detail: str) -> KorvetError:
    """What to raise where a topic went by its id, and storage refused."""
    if code == ErrorCode.UNKNOWN_TOPIC_ID:
        return TopicDeletedError(topic)
    return KorvetError(code, detail)


class UnavailableError(ConnectionError):
    """Storage could not be asked, or could not answer; `status` is gRPC's name for why."""

    def __init__(self, address: str, status: str, detail: str) -> None:
        self.address = address
        self.status = status
        self.detail = detail
        super().__init__(f"no answer from storage at {address}: {status}: {detail}")
