from korvet.kafka.errors import ErrorCode
from korvet.kafka.first_error import first_error
from korvet.kafka.messages.add_partitions_to_txn import AddPartitionsToTxnResponse
from korvet.kafka.messages.api_versions import ApiVersionsResponse
from korvet.kafka.messages.heartbeat import HeartbeatResponse
from korvet.kafka.messages.metadata import MetadataResponse
from korvet.kafka.messages.produce import ProduceResponse

_Topic = ProduceResponse.TopicProduceResponse
_Partition = ProduceResponse.PartitionProduceResponse


def test_an_error_of_the_whole_answer_is_found() -> None:
    answer = HeartbeatResponse(error_code=ErrorCode.UNKNOWN_MEMBER_ID)

    assert first_error(answer) == ErrorCode.UNKNOWN_MEMBER_ID


def test_the_first_error_of_a_partition_is_found_behind_others_without() -> None:
    answer = ProduceResponse(
        responses=[
            _Topic(name="a", partition_responses=[_Partition(index=0)]),
            _Topic(
                name="b",
                partition_responses=[
                    _Partition(index=0),
                    _Partition(index=1, error_code=ErrorCode.MESSAGE_TOO_LARGE),
                    _Partition(index=2, error_code=ErrorCode.INVALID_RECORD),
                ],
            ),
        ]
    )

    assert first_error(answer) == ErrorCode.MESSAGE_TOO_LARGE


def test_an_error_that_has_another_name_is_found() -> None:
    kind = AddPartitionsToTxnResponse
    partition = kind.AddPartitionsToTxnPartitionResult(
        partition_index=0, partition_error_code=ErrorCode.INVALID_TXN_STATE
    )
    topic = kind.AddPartitionsToTxnTopicResult(name="a", results_by_partition=[partition])

    assert first_error(kind(results_by_topic_v3_and_below=[topic])) == (
        ErrorCode.INVALID_TXN_STATE
    )


def test_answers_without_an_error_have_none() -> None:
    assert first_error(ApiVersionsResponse()) == 0
    assert (
        first_error(MetadataResponse(topics=[MetadataResponse.MetadataResponseTopic()]))
        == 0
    )
