"""What a version cannot carry is dropped if Kafka says so, and refused otherwise."""

import pytest

from korvet.kafka.errors import ErrorCode
from korvet.kafka.messages.create_topics import CreateTopicsResponse
from korvet.kafka.messages.fetch import FetchRequest, FetchResponse
from korvet.kafka.messages.metadata import MetadataRequest, MetadataResponse
from korvet.kafka.messages.produce import ProduceResponse


def test_an_ignorable_field_is_dropped_where_the_version_lacks_it() -> None:
    response = MetadataResponse(throttle_time_ms=7, cluster_id="c")

    assert response.encode(0) == MetadataResponse().encode(0)


def test_a_field_that_must_not_be_lost_is_refused_where_the_version_lacks_it() -> None:
    request = MetadataRequest(allow_auto_topic_creation=False)

    with pytest.raises(ValueError, match="v3 cannot carry allow_auto_topic_creation"):
        request.encode(3)
    assert MetadataRequest.decode(request.encode(4), 4) == request


def test_a_tagged_field_that_must_not_be_lost_is_refused_in_older_versions() -> None:
    leader = FetchResponse.LeaderIdAndEpoch(leader_id=1, leader_epoch=2)
    topic = FetchResponse.FetchableTopicResponse(
        partitions=[FetchResponse.PartitionData(current_leader=leader)]
    )

    with pytest.raises(ValueError, match="v11 cannot carry current_leader"):
        FetchResponse(responses=[topic]).encode(11)


def test_an_ignorable_tagged_field_is_dropped_in_older_versions() -> None:
    assert FetchRequest(cluster_id="c").encode(11) == FetchRequest().encode(11)


def test_tagged_fields_with_their_default_take_no_room() -> None:
    response = CreateTopicsResponse.CreatableTopicResult(name="t")
    out: list[bytes] = []

    response.write(out, 7)

    assert b"".join(out).endswith(b"\x00")


def test_tagged_fields_are_written_in_order_with_their_sizes() -> None:
    epoch = FetchResponse.EpochEndOffset(epoch=1, end_offset=2)
    snapshot = FetchResponse.SnapshotId(end_offset=3, epoch=4)
    out: list[bytes] = []

    FetchResponse.PartitionData(snapshot_id=snapshot, diverging_epoch=epoch).write(out, 12)

    assert b"".join(out).endswith(
        b"\x02\x00\x0d\0\0\0\x01\0\0\0\0\0\0\0\x02\0\x02\x0d\0\0\0\0\0\0\0\x03\0\0\0\x04\0"
    )


def test_null_is_refused_in_versions_that_cannot_carry_it() -> None:
    with pytest.raises(ValueError, match="topics is null, which v0"):
        MetadataRequest(topics=None).encode(0)
    topic = MetadataRequest.MetadataRequestTopic(name=None, topic_id=b"i" * 16)
    with pytest.raises(ValueError, match="name is null, which v9"):
        MetadataRequest(topics=[topic]).encode(9)


@pytest.mark.parametrize(
    "request_",
    [
        pytest.param(FetchRequest(max_wait_ms=2**31), id="int32"),
        pytest.param(
            FetchRequest(topics=[FetchRequest.FetchTopic(topic="t" * 40_000)]), id="string"
        ),
    ],
)
def test_a_value_that_does_not_fit_its_type_is_a_value_error(
    request_: FetchRequest,
) -> None:
    with pytest.raises(ValueError, match="FetchRequest v11"):
        request_.encode(11)


def test_a_uuid_of_another_length_is_a_value_error() -> None:
    request = FetchRequest(topics=[FetchRequest.FetchTopic(topic_id=b"short")])

    with pytest.raises(ValueError, match="16 bytes"):
        request.encode(13)


def test_error_codes_are_written_as_their_numbers() -> None:
    partition = ProduceResponse.PartitionProduceResponse(
        error_code=ErrorCode.CORRUPT_MESSAGE
    )
    topic = ProduceResponse.TopicProduceResponse(partition_responses=[partition])

    decoded = ProduceResponse.decode(ProduceResponse(responses=[topic]).encode(9), 9)

    assert decoded.responses[0].partition_responses[0].error_code == 2


def test_records_are_passed_on_without_a_copy() -> None:
    records = bytes(1_000_000)
    partition = FetchResponse.PartitionData(records=records)
    topic = FetchResponse.FetchableTopicResponse(partitions=[partition])

    chunks = FetchResponse(responses=[topic]).chunks(16)

    assert any(chunk is records for chunk in chunks)


def test_records_are_not_shown() -> None:
    assert "batch" not in repr(FetchResponse.PartitionData(records=b"batch"))


@pytest.mark.parametrize(("count", "is_long"), [(0, False), (100, False), (101, True)])
def test_a_message_with_many_elements_is_long(count: int, is_long: bool) -> None:
    topics = [MetadataResponse.MetadataResponseTopic() for _ in range(count)]

    assert MetadataResponse(topics=topics).is_long is is_long
