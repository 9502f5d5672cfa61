"""Many requests at once on one connection: each answered, in the order of the requests."""

from collections.abc import Iterator

import pytest

from korvet.kafka.errors import ErrorCode
from korvet.kafka.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from korvet.kafka.messages.fetch import FetchResponse
from korvet.kafka.messages.metadata import MetadataRequest, MetadataResponse
from korvet.kafka.messages.produce import ProduceResponse
from tests.support.korvet_process import KorvetCluster
from tests.support.wire_client import WireClient, batch_of, produce_request, values_of

pytestmark = pytest.mark.e2e

_METADATA_VERSION = 12
_PRODUCE_VERSION = 9
_FETCH_VERSION = 12


@pytest.fixture
def wire(korvet: KorvetCluster) -> Iterator[WireClient]:
    with WireClient(korvet.bootstrap) as wire:
        yield wire


def test_quick_requests_wait_for_the_answer_to_a_slow_one(
    korvet: KorvetCluster, log: str, wire: WireClient
) -> None:
    wire.send(ApiVersionsRequest(), 0)
    wire.send_fetch(log, 0, max_wait=20.0)
    wire.send(MetadataRequest(topics=[]), _METADATA_VERSION)
    wire.send_produce(log, batch_of([b"behind the fetch that it wakes"]))
    wire.send(ApiVersionsRequest(), 0)

    numbers = [
        wire.receive_numbered(ApiVersionsResponse, 0)[0],
        wire.receive_numbered(FetchResponse, _FETCH_VERSION)[0],
        wire.receive_numbered(MetadataResponse, _METADATA_VERSION)[0],
        wire.receive_numbered(ProduceResponse, _PRODUCE_VERSION)[0],
        wire.receive_numbered(ApiVersionsResponse, 0)[0],
    ]

    assert numbers == [1, 2, 3, 4, 5]


def test_batches_of_one_connection_are_appended_in_their_order(
    log: str, wire: WireClient
) -> None:
    count = 400
    for number in range(count):
        wire.send_produce(log, batch_of([b"%d a" % number, b"%d b" % number]))
    answers = [wire.receive_produced(log) for _ in range(count)]

    assert {answer.error for answer in answers} == {ErrorCode.NONE}
    offsets = [answer.base_offset for answer in answers]
    assert offsets == sorted(set(offsets))
    found = wire.read_all(log)
    assert values_of(found) == [
        b"%d %s" % (number, half) for number in range(count) for half in (b"a", b"b")
    ]
    assert [record.offset for record in found] == [
        offset + distance for offset in offsets for distance in (0, 1)
    ]


def test_a_batch_has_consecutive_offsets_however_large_it_is(
    log: str, wire: WireClient
) -> None:
    # More than the 1024 that a millisecond has room for.
    values = [b"%d" % number for number in range(3000)]

    first = wire.produce(log, batch_of(values))
    second = wire.produce(log, batch_of([b"next"]))

    found = wire.read_all(log)
    assert values_of(found) == [*values, b"next"]
    assert [record.offset for record in found[:-1]] == list(
        range(first.base_offset, first.base_offset + 3000)
    )
    assert found[-1].offset == second.base_offset >= first.base_offset + 3000


def test_acks_0_is_not_answered_and_keeps_the_order(log: str, wire: WireClient) -> None:
    for number in range(100):
        request, version = produce_request(log, batch_of([b"%d" % number]))
        # Every tenth wants to know.
        request.acks = 0 if number % 10 else 1
        wire.send(request, version)
    answers = [wire.receive_numbered(ProduceResponse, version) for _ in range(10)]

    # Requests are counted from 1.
    assert [number for number, _ in answers] == list(range(1, 101, 10))
    wire.produce(log, batch_of([b"last"]))
    assert values_of(wire.read_all(log)) == [b"%d" % n for n in range(100)] + [b"last"]


def test_a_refused_batch_with_acks_0_closes_the_connection(
    log: str, wire: WireClient
) -> None:
    # There is no answer that could say so: Kafka hangs up, and the client looks again.
    request, version = produce_request(log, b"no batch at all")
    request.acks = 0
    wire.send(request, version)

    assert wire.is_hung_up()
