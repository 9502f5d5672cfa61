"""What a consumer of a work queue may ask for."""

import pytest

from korvet.kafka.errors import ErrorCode, KafkaError
from korvet.proto.storage.v1 import storage_service_pb2 as pb
from korvet.storage.consume_calls import read_options


def start(
    *,
    group: str = "workers",
    consumer: str = "me",
    max_in_flight: int = 0,
    redeliver_after_ms: int = 0,
) -> pb.ConsumeRequest.Start:
    return pb.ConsumeRequest.Start(
        group=group,
        consumer=consumer,
        max_in_flight=max_in_flight,
        redeliver_after_ms=redeliver_after_ms,
    )


@pytest.mark.parametrize(
    ("asked", "given"), [(0, 100), (1, 1), (500, 500), (1_000_000, 10_000)]
)
def test_what_is_in_flight_has_a_default_and_a_bound(asked: int, given: int) -> None:
    assert read_options(start(max_in_flight=asked)).max_in_flight == given


@pytest.mark.parametrize(
    ("asked", "given"), [(0, 30_000), (1, 100), (5000, 5000), (1 << 30, 86_400_000)]
)
def test_the_time_to_acknowledge_has_a_default_and_bounds(asked: int, given: int) -> None:
    assert read_options(start(redeliver_after_ms=asked)).redeliver_after_ms == given


@pytest.mark.parametrize(
    ("wrong", "code"),
    [
        (start(group=""), ErrorCode.INVALID_GROUP_ID),
        (start(consumer=""), ErrorCode.INVALID_REQUEST),
        (start(max_in_flight=-1), ErrorCode.INVALID_REQUEST),
        (start(redeliver_after_ms=-1), ErrorCode.INVALID_REQUEST),
    ],
)
def test_what_makes_no_sense_is_refused(
    wrong: pb.ConsumeRequest.Start, code: ErrorCode
) -> None:
    with pytest.raises(KafkaError) as raised:
        read_options(wrong)

    assert raised.value.code is code
