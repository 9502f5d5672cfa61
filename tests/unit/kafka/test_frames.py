"""Frames as real clients send them, and as they should not be."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kio.static.protocol import Entity

from korvet.kafka.errors import DecodeError
from korvet.kafka.frames import (
    RequestHead,
    decode_request,
    decode_response,
    encode_request,
    encode_response,
    read_length,
    read_request_head,
    response_chunks,
)
from korvet.kafka.message import Message
from korvet.kafka.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from korvet.kafka.messages.heartbeat import HeartbeatResponse
from korvet.kafka.messages.metadata import MetadataRequest
from korvet.kafka.messages.produce import ProduceRequest
from korvet.kafka.records import check_batch, read_records
from tests.support import kio_oracle
from tests.support.kafka_messages import ALL_VERSIONS, MESSAGES, label

GOLDEN = Path(__file__).parent / "golden/client_requests.txt"
BY_NAME = {message.__name__: message for message in MESSAGES}
CAPTURED = [
    pytest.param(BY_NAME[name], int(version), bytes.fromhex(data), id=f"{client}-{name}")
    for client, name, version, data in (
        line.split() for line in GOLDEN.read_text().splitlines() if not line.startswith("#")
    )
]
TOPIC_ID = bytes(range(1, 17))
PAYLOADS = [case for case in ALL_VERSIONS if not case[0].__name__.endswith("Header")]


@pytest.mark.parametrize(("message", "version", "frame"), CAPTURED)
def test_requests_of_real_clients_are_understood_to_the_byte(
    message: type[Message], version: int, frame: bytes
) -> None:
    head = read_request_head(frame)
    header, request = decode_request(frame, message)

    assert head == RequestHead(message.API_KEY, version, header.correlation_id)
    assert header.client_id == "golden"
    again = encode_request(header.correlation_id, request, version, header.client_id)
    assert again[4:] == frame


@pytest.mark.parametrize(
    ("message", "version", "frame"),
    [case for case in CAPTURED if case.values[0] is ProduceRequest],
)
def test_batches_of_real_clients_are_in_their_requests(
    message: type[ProduceRequest], version: int, frame: bytes
) -> None:
    _, request = decode_request(frame, message)

    [topic] = request.topic_data
    [partition] = topic.partition_data
    assert (
        topic.topic_id == bytes(range(1, 17)) if version >= 13 else topic.name == "orders"
    )
    assert partition.records is not None
    check_batch(partition.records)
    [record] = read_records(partition.records, 1000)
    assert (record.key, record.value) == (b"key", b"value")


@pytest.mark.parametrize(("message", "version", "frame"), CAPTURED)
def test_a_cut_request_is_a_decode_error(
    message: type[Message], version: int, frame: bytes
) -> None:
    for cut in range(len(frame)):
        with pytest.raises(DecodeError):
            decode_request(frame[:cut], message)


@pytest.mark.parametrize(("message", "version"), PAYLOADS, ids=label)
def test_headers_have_the_version_that_the_api_wants(
    message: type[Message], version: int
) -> None:
    schema: Any = kio_oracle.load(message, version)
    body = message().encode(version)
    if message.__name__.endswith("Request"):
        frame = encode_request(7, message(), version, "me")
        fields = {
            "request_api_key": message.API_KEY,
            "request_api_version": version,
            "client_id": "me",
        }
    else:
        frame = encode_response(7, message(), version)
        fields = {}
    header: Entity = schema.__header_schema__(correlation_id=7, **fields)

    assert frame[4:] == kio_oracle.encode(header) + body
    assert read_length(frame, 10_000) == len(frame) - 4


def test_the_header_of_an_api_versions_response_is_never_flexible() -> None:
    for version in range(5):
        assert encode_response(1, ApiVersionsResponse(), version)[4:8] == b"\0\0\0\x01"
        frame = encode_response(1, ApiVersionsResponse(error_code=35), version)[4:]
        assert decode_response(frame, ApiVersionsResponse, version)[1].error_code == 35
    assert encode_response(1, HeartbeatResponse(), 4)[4:9] == b"\0\0\0\x01\0"


def test_a_response_is_the_same_joined_and_in_chunks() -> None:
    response = HeartbeatResponse(throttle_time_ms=5)

    assert b"".join(response_chunks(9, response, 4)) == encode_response(9, response, 4)
    assert decode_response(encode_response(9, response, 4)[4:], HeartbeatResponse, 4) == (
        9,
        response,
    )


@pytest.mark.parametrize("length", [-1, 101, 2**31 - 1, -(2**31)])
def test_a_frame_larger_than_allowed_is_refused_before_it_is_read(length: int) -> None:
    with pytest.raises(DecodeError):
        read_length(length.to_bytes(4, "big", signed=True), 100)


def test_a_length_is_read_from_the_middle_of_a_buffer() -> None:
    assert read_length(b"xx\0\0\0\x64", 100, 2) == 100


def test_the_head_of_an_unknown_api_is_readable() -> None:
    assert read_request_head(b"\x03\xe7\0\x09\0\0\0\x05rest") == RequestHead(999, 9, 5)
    with pytest.raises(DecodeError):
        read_request_head(b"\0\0\0\0\0\0\0")


def test_a_request_of_an_unknown_version_is_a_decode_error() -> None:
    with pytest.raises(DecodeError, match="no version 99"):
        decode_request(b"\0\x12\0\x63\0\0\0\x01\xff\xff", ApiVersionsRequest)


def test_bytes_after_a_request_are_let_pass_as_apache_kafka_does() -> None:
    # What librdkafka 2.16 sends to ask for all topics.
    frame = bytes.fromhex("0003000d00000003000772646b61666b610000000000000000")

    header, request = decode_request(frame, MetadataRequest)

    assert header.correlation_id == 3
    assert request == MetadataRequest(topics=None, allow_auto_topic_creation=False)


def test_a_request_of_absurdly_many_elements_is_a_decode_error() -> None:
    head = b"\0\x03\0\0\0\0\0\x01\xff\xff"
    count = 250_001
    frame = head + count.to_bytes(4, "big") + b"\0\x01a" * count

    with pytest.raises(DecodeError, match="more than 250000 elements"):
        decode_request(frame, MetadataRequest)


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=100), st.sampled_from([m for m in MESSAGES if m.API_KEY >= 0]))
def test_garbage_is_a_request_or_a_decode_error(
    data: bytes, message: type[Message]
) -> None:
    try:
        decode_request(data, message)
    except DecodeError:
        return
