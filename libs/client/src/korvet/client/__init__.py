"""Korvet's log over gRPC, for people who write Python.

async with Korvet("127.0.0.1:50051") as korvet:
    await korvet.append("orders", b"hello", key=b"customer-7")
    async for record in korvet.tail("orders", start="earliest"):
        ...
"""

from korvet.client.client import DEFAULT_ADDRESS, Korvet
from korvet.client.errors import ErrorCode, KorvetError, TopicDeletedError, UnavailableError
from korvet.client.model import (
    Config,
    NewRecord,
    PartitionLog,
    Position,
    ReadResult,
    Record,
    Topic,
)
from korvet.client.moments import Moment
from korvet.client.work_queue import Delivery

__all__ = [
    "DEFAULT_ADDRESS",
    "Config",
    "Delivery",
    "ErrorCode",
    "Korvet",
    "KorvetError",
    "Moment",
    "NewRecord",
    "PartitionLog",
    "Position",
    "ReadResult",
    "Record",
    "Topic",
    "TopicDeletedError",
    "UnavailableError",
]
