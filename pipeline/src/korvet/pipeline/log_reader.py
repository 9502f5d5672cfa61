"""Reads a range of one partition's log: the next answer is on its way while one is decoded.

What is read is what was committed, and all of it: a range that the log no longer has whole
is an error, never less.
"""

import contextlib
import time
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import grpc

from korvet.client.errors import RETRIABLE, ErrorCode, KorvetError
from korvet.pipeline.failure import LakeError
from korvet.pipeline.planning import Range
from korvet.pipeline.storage_link import DEADLINE, Endpoint, StorageLink, TopicGoneError
from korvet.pipeline.table import topic_id_text
from korvet.proto.storage.v1 import storage_service_pb2 as pb
from korvet.proto.storage.v1 import storage_service_pb2_grpc as pb_grpc

if TYPE_CHECKING:
    import pyarrow as pa

_READ_BYTES: Final = 4 << 20
# The range ends at the last stable offset or before it, so that nothing is waited for; but
# a storage that has just begun may not know yet.
_PAUSE: Final = 0.1
_GONE: Final = (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_TOPIC_ID)


def read_range(endpoint: Endpoint, part: Range) -> Iterator["pa.RecordBatch"]:
    with StorageLink(endpoint) as link:
        yield from _Reading(link, endpoint, part).batches()


def _read(request: pb.ReadRequest, stub: pb_grpc.StorageServiceStub) -> pb.ReadResponse:
    return stub.Read(request, timeout=DEADLINE)


class _Reading:
    def __init__(self, link: StorageLink, endpoint: Endpoint, part: Range) -> None:
        self._link = link
        self._part = part
        self._patience = endpoint.patience

    def batches(self) -> Iterator["pa.RecordBatch"]:
        # Not needed to plan, and not quick to import.
        from korvet.pipeline.arrow_records import Place, arrow_batches

        part = self._part
        place = Place(part.topic, topic_id_text(part.topic_id), part.partition)
        position = part.start
        following: Any = None
        while position < part.end:
            data = self._answer(following, position)
            following = None
            if data.next_offset < part.end:
                # Decoding takes as long as reading: so both at once.
                following = self._begin(data.next_offset)
            yield from arrow_batches(
                place, data.batches, data.aborted_transactions, position, part.end
            )
            position = data.next_offset

    def _begin(self, offset: int) -> Any:
        return self._link.stub.Read.future(self._request(offset), timeout=DEADLINE)

    def _request(self, offset: int) -> pb.ReadRequest:
        part = self._part
        read = pb.PartitionRead(
            topic=pb.TopicRef(id=part.topic_id), partition=part.partition, offset=offset
        )
        return pb.ReadRequest(
            partitions=[read],
            max_bytes=_READ_BYTES,
            isolation_level=pb.ISOLATION_LEVEL_READ_COMMITTED,
        )

    def _answer(self, following: Any, position: int) -> pb.PartitionData:
        """What is at the position; asked again while storage or its Redis is away."""
        until = time.monotonic() + self._patience
        while True:
            response: pb.ReadResponse | None = None
            if following is not None:
                with contextlib.suppress(grpc.RpcError):
                    response = following.result()
            if response is None:
                response = self._link.ask(partial(_read, self._request(position)))
            following = None
            (data,) = response.partitions
            if not data.error_code and data.next_offset > position:
                return data
            if data.error_code and data.error_code not in RETRIABLE:
                raise self._refusal(data)
            if not data.error_code and data.last_stable_offset >= self._part.end:
                # Nothing is left of the rest: compacted, or deleted behind our back.
                data.next_offset = self._part.end
                return data
            if time.monotonic() > until:
                raise self._unanswered(data)
            time.sleep(_PAUSE)

    def _unanswered(self, data: pb.PartitionData) -> Exception:
        part = self._part
        if data.error_code:
            return KorvetError(data.error_code, data.error_message)
        return LakeError(
            f"The log of {part.topic}-{part.partition} ends at"
            f" {data.last_stable_offset}, and was longer: it went up to {part.end}.",
            "Its Redis seems to have lost what it wrote last; its leader epoch tells.",
        )

    def _refusal(self, data: pb.PartitionData) -> Exception:
        part = self._part
        if data.error_code in _GONE:
            return TopicGoneError(part.topic)
        if data.error_code == ErrorCode.OFFSET_OUT_OF_RANGE:
            return LakeError(
                f"Of {part.topic}-{part.partition} the offsets {part.start} to"
                f" {data.log_start_offset} were deleted before they were read.",
                "Retention has overtaken this reader; read from the log's start.",
            )
        return KorvetError(data.error_code, data.error_message)
