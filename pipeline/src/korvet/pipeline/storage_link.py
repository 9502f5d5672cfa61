"""Storage over gRPC for code that blocks, as Spark's workers do: one answer a call.

A storage that is away is asked again for a while, so that a restart of Korvet is a pause
and not a failure. Only questions are asked here, which may be repeated.
"""

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Final, NamedTuple, Protocol, Self, TypeVar

import grpc

from korvet.client.connection import CHANNEL_OPTIONS
from korvet.client.errors import RETRIABLE, ErrorCode, KorvetError
from korvet.pipeline.failure import LakeError
from korvet.proto.storage.v1 import storage_service_pb2 as pb
from korvet.proto.storage.v1 import storage_service_pb2_grpc as pb_grpc

DEADLINE: Final = 30.0
# How long storage may be away, and how often it is looked for.
PATIENCE: Final = 60.0
_PAUSE: Final = 0.25

_AWAY: Final = (
    grpc.StatusCode.UNAVAILABLE,
    grpc.StatusCode.DEADLINE_EXCEEDED,
    grpc.StatusCode.CANCELLED,
)
_GONE: Final = (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_TOPIC_ID)
# Questions about many positions are asked in parts of so many.
_AT_ONCE: Final = 1000


class _Refusable(Protocol):
    """An answer about one position, which may be a refusal."""

    error_code: int
    error_message: str


_Answer = TypeVar("_Answer")
_OneAnswer = TypeVar("_OneAnswer", bound=_Refusable)
_Stub = pb_grpc.StorageServiceStub


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """Where storage is, and with what to be trusted; sent to Spark's workers as it is.

    Files are read where a connection is made, so each worker needs them under these paths.
    """

    address: str
    tls: bool = False
    ca: str | None = None
    certificate: str | None = None
    key: str | None = None
    patience: float = PATIENCE

    def credentials(self) -> grpc.ChannelCredentials | None:
        if not self.tls:
            return None
        files = (_content(path) for path in (self.ca, self.key, self.certificate))
        return grpc.ssl_channel_credentials(*files)

    def channel(self, address: str) -> grpc.Channel:
        credentials = self.credentials()
        if credentials is None:
            return grpc.insecure_channel(address, options=CHANNEL_OPTIONS)
        return grpc.secure_channel(address, credentials, options=CHANNEL_OPTIONS)


class TopicInfo(NamedTuple):
    name: str
    id: bytes
    partitions: int
    # Of each partition, in order.
    leader_epochs: tuple[int, ...]


class TopicGoneError(KorvetError):
    """The topic was deleted; one made again under its name is another one."""

    def __init__(self, topic: str) -> None:
        super().__init__(ErrorCode.UNKNOWN_TOPIC_ID, f"{topic} was deleted")
        self.topic = topic


class StorageLink:
    """Holds a channel to each replica of storage, and uses whichever answers."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        addresses = [each.strip() for each in endpoint.address.split(",") if each.strip()]
        if not addresses:
            raise LakeError("Storage has no address.", "Give it as HOST:PORT.")
        self._channels = [endpoint.channel(each) for each in addresses]
        self._stubs = [_Stub(channel) for channel in self._channels]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for channel in self._channels:
            channel.close()

    @property
    def stub(self) -> _Stub:
        return self._stubs[0]

    def ask(self, call: Callable[[_Stub], _Answer]) -> _Answer:
        """The answer, or LakeError when storage stays away."""
        until = time.monotonic() + self._endpoint.patience
        while True:
            try:
                return call(self.stub)
            except grpc.RpcError as error:
                if error.code() not in _AWAY:
                    raise LakeError(
                        f"What answers at {self._endpoint.address} is not Korvet's storage:"
                        f" {error.details()}.",
                        "`korvet up` says where storage is.",
                    ) from error
                if time.monotonic() > until:
                    raise LakeError(
                        f"Storage at {self._endpoint.address} does not answer:"
                        f" {error.details()}.",
                        "Is Korvet running? Nothing was lost: start the job again when it"
                        " is.",
                    ) from error
            self._stubs.append(self._stubs.pop(0))
            time.sleep(_PAUSE)

    # ------------------------------------------------------------ questions

    def topics(self) -> list[TopicInfo]:
        request = pb.DescribeTopicsRequest(all=True)
        found = self.ask(lambda stub: stub.DescribeTopics(request, timeout=DEADLINE))
        return [_topic_info(each.topic) for each in found.topics if not each.error_code]

    def topic(self, name: str) -> TopicInfo | None:
        request = pb.DescribeTopicsRequest(topics=[pb.TopicRef(name=name)])
        found = self.ask(lambda stub: stub.DescribeTopics(request, timeout=DEADLINE))
        (result,) = found.topics
        if result.error_code in _GONE:
            return None
        _check(name, result.error_code, result.error_message)
        return _topic_info(result.topic)

    def find_offsets(
        self, topic: TopicInfo, partitions: Iterable[int], timestamp_ms: int
    ) -> dict[int, "pb.FindOffsetsResponse.Found"]:
        """Where each partition has what is committed from a time on, or -2, or -1."""
        wanted = list(partitions)
        found: dict[int, pb.FindOffsetsResponse.Found] = {}
        for first in range(0, len(wanted), _AT_ONCE):
            some = wanted[first : first + _AT_ONCE]
            request = pb.FindOffsetsRequest(
                isolation_level=pb.ISOLATION_LEVEL_READ_COMMITTED,
                positions=[
                    pb.FindOffsetsRequest.Position(
                        topic=pb.TopicRef(id=topic.id),
                        partition=partition,
                        timestamp_ms=timestamp_ms,
                    )
                    for partition in some
                ],
            )
            found |= zip(some, self._find(topic.name, request), strict=True)
        return found

    def epoch_ends(
        self, topic: TopicInfo, epochs: Mapping[int, int]
    ) -> dict[int, "pb.FindEpochEndsResponse.EpochEnd"]:
        """Partition -> where the epoch that was given for it ended."""
        request = pb.FindEpochEndsRequest(
            questions=[
                pb.FindEpochEndsRequest.Question(
                    topic=pb.TopicRef(id=topic.id), partition=partition, leader_epoch=epoch
                )
                for partition, epoch in epochs.items()
            ]
        )
        ends = self._settled(
            topic.name,
            lambda: list(
                self.ask(lambda stub: stub.FindEpochEnds(request, timeout=DEADLINE)).ends
            ),
        )
        return dict(zip(epochs, ends, strict=True))

    def count(
        self, topic: TopicInfo, ranges: Iterable[tuple[int, int, int]]
    ) -> list["pb.CountRecordsResponse.Count"]:
        """Of each (partition, start, end): how many records, and where the log starts."""
        wanted = list(ranges)
        counts: list[pb.CountRecordsResponse.Count] = []
        for first in range(0, len(wanted), _AT_ONCE):
            request = pb.CountRecordsRequest(
                positions=[
                    pb.CountRecordsRequest.Position(
                        topic=pb.TopicRef(id=topic.id),
                        partition=partition,
                        offset=start,
                        end_offset=end,
                    )
                    for partition, start, end in wanted[first : first + _AT_ONCE]
                ]
            )
            counts += self._count(topic.name, request)
        return counts

    def mean_record_bytes(self, topic: TopicInfo) -> int:
        """What a record of the topic takes on average, as it is stored."""
        selection = pb.DescribeLogsRequest.Selection(topic=pb.TopicRef(id=topic.id))
        request = pb.DescribeLogsRequest(topics=[selection])
        found = self.ask(lambda stub: stub.DescribeLogs(request, timeout=DEADLINE))
        records = sum(log.record_count for log in found.logs)
        return sum(log.size_bytes for log in found.logs) // max(1, records)

    def _find(
        self, name: str, request: pb.FindOffsetsRequest
    ) -> list["pb.FindOffsetsResponse.Found"]:
        return self._settled(
            name,
            lambda: list(
                self.ask(lambda stub: stub.FindOffsets(request, timeout=DEADLINE)).found
            ),
        )

    def _count(
        self, name: str, request: pb.CountRecordsRequest
    ) -> list["pb.CountRecordsResponse.Count"]:
        return self._settled(
            name,
            lambda: list(
                self.ask(lambda stub: stub.CountRecords(request, timeout=DEADLINE)).counts
            ),
        )

    def _settled(
        self, name: str, answers: Callable[[], list[_OneAnswer]]
    ) -> list[_OneAnswer]:
        """Ask again while storage cannot ask Redis; raise what it refuses."""
        until = time.monotonic() + self._endpoint.patience
        while True:
            found = answers()
            errors = [each for each in found if each.error_code]
            if not errors:
                return found
            code, message = errors[0].error_code, errors[0].error_message
            if code not in RETRIABLE or time.monotonic() > until:
                _check(name, code, message)
            time.sleep(_PAUSE)


def _check(topic: str, code: int, message: str) -> None:
    if code in _GONE:
        raise TopicGoneError(topic)
    if code:
        raise KorvetError(code, message)


def _topic_info(topic: pb.Topic) -> TopicInfo:
    epochs = tuple(topic.leader_epochs)
    return TopicInfo(topic.name, topic.id, len(epochs), epochs)


def _content(path: str | None) -> bytes | None:
    if path is None:
        return None
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise LakeError(f"{path} cannot be read: {error.strerror}.") from error
