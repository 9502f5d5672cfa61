"""Messages from the network are hostile: cut, lengthened, lying about their lengths."""

import tracemalloc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from korvet.kafka.errors import DecodeError
from korvet.kafka.message import Message
from korvet.kafka.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from korvet.kafka.messages.describe_topic_partitions import DescribeTopicPartitionsRequest
from korvet.kafka.messages.fetch import FetchRequest
from korvet.kafka.messages.metadata import MetadataRequest
from korvet.kafka.messages.produce import ProduceRequest
from tests.support import kio_oracle
from tests.support.kafka_messages import ALL_VERSIONS, label
from tests.support.kio_oracle import Values

UNKNOWN_TAG = b"\xe8\x07\x03abc"


class _Small(Values):
    def length(self) -> int:
        return 1


def encoded(message: type[Message], version: int) -> bytes:
    return kio_oracle.build(message, version, _Small()).ours.encode(version)


@pytest.mark.parametrize(("message", "version"), ALL_VERSIONS, ids=label)
def test_a_message_cut_at_any_byte_is_a_decode_error(
    message: type[Message], version: int
) -> None:
    whole = encoded(message, version)

    for cut in range(len(whole)):
        with pytest.raises(DecodeError):
            message.decode(whole[:cut], version)


@pytest.mark.parametrize(("message", "version"), ALL_VERSIONS, ids=label)
def test_trailing_bytes_are_a_decode_error(message: type[Message], version: int) -> None:
    with pytest.raises(DecodeError, match="after the message's end"):
        message.decode(encoded(message, version) + b"\0", version)


@pytest.mark.parametrize(
    ("message", "version"),
    [
        (message, version)
        for message, version in ALL_VERSIONS
        if version >= message.FLEXIBLE_FROM
    ],
    ids=label,
)
def test_an_unknown_tag_is_skipped(message: type[Message], version: int) -> None:
    bare = message().encode(version)
    assert bare.endswith(b"\0")

    decoded = message.decode(bare[:-1] + b"\x01" + UNKNOWN_TAG, version)

    assert decoded == message()


def test_unknown_tags_inside_and_beside_known_ones_are_skipped() -> None:
    partition = b"\0\0\0\x07" + b"\0" * 4 + b"\0" * 8 + b"\0" * 4 + b"\0" * 8 + b"\0" * 4
    topic = bytes(range(16)) + b"\x02" + partition + b"\x01" + UNKNOWN_TAG + b"\0"
    tags = b"\x02" + b"\x00\x05\x04abc" + UNKNOWN_TAG
    with pytest.raises(DecodeError, match="tagged field"):
        FetchRequest.decode(_fetch_request(topic, tags), 13)

    tags = b"\x02" + b"\x00\x04\x04abc" + UNKNOWN_TAG
    request = FetchRequest.decode(_fetch_request(topic, tags), 13)

    assert request.cluster_id == "abc"
    assert request.topics[0].topic_id == bytes(range(16))
    assert request.topics[0].partitions[0].partition == 7


def _fetch_request(topic: bytes, tags: bytes) -> bytes:
    fixed = b"\0" * 4 * 4 + b"\0" + b"\0" * 4 * 2
    return fixed + b"\x02" + topic + b"\x01" + b"\x01" + tags


@pytest.mark.parametrize(
    ("message", "version", "data"),
    [
        pytest.param(MetadataRequest, 1, b"\x7f\xff\xff\xff", id="array"),
        pytest.param(MetadataRequest, 12, b"\xff\xff\xff\xff\x0f", id="compact array"),
        pytest.param(MetadataRequest, 1, b"\xff\xff\xff\xfe", id="count -2"),
        pytest.param(MetadataRequest, 0, b"\xff\xff\xff\xff", id="null array"),
        pytest.param(MetadataRequest, 1, b"\0\0\0\x01\x7f\xff", id="string"),
        pytest.param(MetadataRequest, 1, b"\0\0\0\x01\xff\xff", id="null string"),
        pytest.param(MetadataRequest, 1, b"\0\0\0\x01\xff\xfe", id="string of -2"),
        pytest.param(MetadataRequest, 1, b"\0\0\0\x01\0\x01\xff", id="string not UTF-8"),
        pytest.param(ApiVersionsRequest, 3, b"\xff" * 5, id="compact string"),
        pytest.param(ApiVersionsRequest, 3, b"\x80" * 9 + b"\0", id="endless varint"),
        pytest.param(ApiVersionsRequest, 3, b"\0\0\0", id="null compact string"),
        pytest.param(
            ApiVersionsRequest, 3, b"\x01\x01\xff\xff\xff\xff\x0f", id="tag count"
        ),
        pytest.param(ApiVersionsRequest, 3, b"\x01\x01\x01\x05\xff\x7f", id="tag size"),
        pytest.param(
            ProduceRequest,
            3,
            b"\xff\xff\0\x01\0\0\0\0\0\0\0\x01\0\x01t\0\0\0\x01\0\0\0\0\x7f\xff\xff\xff",
            id="records",
        ),
    ],
)
def test_lengths_are_not_trusted(message: type[Message], version: int, data: bytes) -> None:
    tracemalloc.start()
    with pytest.raises(DecodeError):
        message.decode(data, version)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert peak < 100_000


def test_counts_inside_counts_cost_no_more_than_the_bytes_that_carry_them() -> None:
    # Each of these topics claims as many partitions as there are bytes left.
    topics = b"".join(b"\0\x01t" + (60_000).to_bytes(4, "big") for _ in range(10_000))
    data = b"\xff\xff\0\x01\0\0\0\0" + (10_000).to_bytes(4, "big") + topics

    tracemalloc.start()
    with pytest.raises(DecodeError):
        ProduceRequest.decode(data, 3)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert peak < 40 * len(data)


def test_a_null_struct_is_none() -> None:
    present = DescribeTopicPartitionsRequest(
        cursor=DescribeTopicPartitionsRequest.Cursor(topic_name="t", partition_index=3)
    )

    for request in (present, DescribeTopicPartitionsRequest(cursor=None)):
        assert DescribeTopicPartitionsRequest.decode(request.encode(0), 0) == request


def test_a_message_is_read_from_any_buffer_and_any_place_in_it() -> None:
    request = ProduceRequest(
        topic_data=[
            ProduceRequest.TopicProduceData(
                name="t",
                partition_data=[ProduceRequest.PartitionProduceData(records=b"batch")],
            )
        ]
    )
    data = b"header" + request.encode(9)

    for buffer in (data, bytearray(data), memoryview(data)):
        decoded = ProduceRequest.decode(buffer, 9, position=6)
        assert decoded == request
        assert type(decoded.topic_data[0].partition_data[0].records) is bytes


def test_fields_that_a_version_lacks_have_their_defaults() -> None:
    decoded = FetchRequest.decode(FetchRequest(max_bytes=5).encode(4), 4)

    assert decoded.session_epoch == -1
    assert decoded.cluster_id is None
    assert decoded.replica_state == FetchRequest.ReplicaState(replica_id=-1)
    assert decoded.max_bytes == 5


@settings(max_examples=500, deadline=None)
@given(st.sampled_from(ALL_VERSIONS), st.binary(max_size=300))
def test_garbage_is_decoded_or_a_decode_error(
    case: tuple[type[Message], int], data: bytes
) -> None:
    message, version = case
    try:
        message.decode(data, version)
    except DecodeError:
        return


@settings(max_examples=500, deadline=None)
@given(st.sampled_from(ALL_VERSIONS), st.data())
def test_a_changed_message_is_decoded_or_a_decode_error(
    case: tuple[type[Message], int], data: st.DataObject
) -> None:
    message, version = case
    changed = bytearray(encoded(message, version))
    for _ in range(data.draw(st.integers(1, 5)) if changed else 0):
        changed[data.draw(st.integers(0, len(changed) - 1))] = data.draw(
            st.integers(0, 255)
        )
    try:
        message.decode(changed, version)
    except DecodeError:
        return


def test_an_unknown_version_is_the_callers_mistake() -> None:
    with pytest.raises(ValueError, match="no version 2"):
        ProduceRequest.decode(b"", 2)
    with pytest.raises(ValueError, match="no version 5"):
        ApiVersionsResponse().encode(5)
