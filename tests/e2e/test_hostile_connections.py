"""Whatever arrives on one connection disturbs no other, and breaks nothing.

Each attack has a bystander: a consumer whose fetch waits at the gateway meanwhile, and who
must get the next record at once.
"""

import random
import struct
import threading
import time
from collections.abc import Callable, Iterator
from typing import Final

import pytest

from korvet.kafka.compression import NONE, ZSTD
from korvet.kafka.errors import ErrorCode
from korvet.kafka.frames import encode_request
from korvet.kafka.message import Message
from korvet.kafka.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from korvet.kafka.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResponse,
)
from korvet.kafka.messages.find_coordinator import (
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from korvet.kafka.messages.metadata import MetadataRequest, MetadataResponse
from korvet.kafka.records import build_batch
from tests.support.korvet_process import KorvetCluster
from tests.support.topic_admin import create_topic
from tests.support.wire_client import WireClient, batch_of, produce_request, values_of

pytestmark = pytest.mark.e2e

_MAX_REQUEST: Final = 100 * 1024 * 1024
_METADATA: Final = encode_request(
    1, MetadataRequest(topics=[MetadataRequest.MetadataRequestTopic(name="x")]), 12, "c"
)
_BODY: Final = _METADATA[4:]
_WHO: Final = ApiVersionsRequest(
    client_software_name="korvet-tests", client_software_version="1"
)


class Bystander:
    """Waits in a long poll for as long as the attack lasts."""

    def __init__(self, korvet: KorvetCluster, topic: str) -> None:
        self._topic = topic
        self._consumer = WireClient(korvet.bootstrap, patience=10.0)
        self._producer = WireClient(korvet.bootstrap, patience=10.0)
        self._consumer.send_fetch(topic, 0, max_wait=60.0)

    def assert_is_undisturbed(self) -> None:
        produced = self._producer.produce(self._topic, batch_of([b"a record"]))
        fetched = self._consumer.receive_fetched(self._topic, 0)
        assert produced.error is ErrorCode.NONE
        assert values_of(fetched.records) == [b"a record"]

    def close(self) -> None:
        self._consumer.close()
        self._producer.close()


@pytest.fixture
def bystander(korvet: KorvetCluster, topic: str) -> Iterator[Bystander]:
    create_topic(korvet.bootstrap, topic)
    bystander = Bystander(korvet, topic)
    yield bystander
    bystander.close()


@pytest.fixture
def wire(korvet: KorvetCluster) -> Iterator[WireClient]:
    """The attacker's connection."""
    with WireClient(korvet.bootstrap, patience=10.0) as wire:
        yield wire


def _frame(body: bytes, length: int | None = None) -> bytes:
    return struct.pack(">i", len(body) if length is None else length) + body


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"GET / HTTP/1.1\r\nHost: korvet\r\n\r\n", id="HTTP"),
        pytest.param(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", id="TLS"),
        pytest.param(_frame(random.Random(1).randbytes(1000)), id="a frame of noise"),
        pytest.param(b"\xff" * 1000, id="a negative length"),
        pytest.param(_frame(b"", -1), id="length -1"),
        pytest.param(_frame(b""), id="an empty frame"),
        pytest.param(_frame(_BODY[:7]), id="less than a header"),
        pytest.param(_frame(b"", _MAX_REQUEST + 1), id="just too large"),
        pytest.param(_frame(b"", 0x7FFFFFFF), id="2 GiB announced"),
        pytest.param(_frame(_BODY[:-3]), id="a cut body"),
        pytest.param(_frame(struct.pack(">hhih", 999, 0, 1, -1)), id="an unknown API"),
        pytest.param(_frame(struct.pack(">hhih", -5, 0, 1, -1)), id="a negative API"),
        pytest.param(_frame(struct.pack(">hhih", 3, 99, 1, -1)), id="Metadata v99"),
        pytest.param(_frame(struct.pack(">hhih", 1, 3, 1, -1)), id="Fetch v3"),
        pytest.param(_frame(struct.pack(">hhih", 3, -1, 1, -1)), id="Metadata v-1"),
        pytest.param(
            _frame(struct.pack(">hhihi", 3, 1, 1, -1, 0x7FFFFFFF)), id="2^31 topics"
        ),
        pytest.param(
            _frame(struct.pack(">hhihih", 3, 1, 1, -1, 1, 30_000)), id="a name too long"
        ),
        pytest.param(
            _frame(struct.pack(">hhihih", 3, 1, 1, -1, 1, 2) + b"\xff\xfe"), id="not UTF-8"
        ),
    ],
)
def test_a_bad_frame_closes_its_own_connection(
    wire: WireClient, bystander: Bystander, data: bytes
) -> None:
    wire.send_bytes(data)

    assert wire.is_hung_up()
    bystander.assert_is_undisturbed()


def test_a_client_that_goes_away_in_the_middle_of_a_frame_leaves_nothing(
    korvet: KorvetCluster, bystander: Bystander, topic: str
) -> None:
    request, version = produce_request(topic, batch_of([b"half a request"] * 100))
    frame = encode_request(1, request, version)
    for size in (1, 4, 6, 20, len(frame) // 2, len(frame) - 1):
        with WireClient(korvet.bootstrap) as wire:
            wire.send_bytes(frame[:size])

    # Its own record is the only one there.
    bystander.assert_is_undisturbed()


def test_a_client_that_goes_away_while_its_fetch_waits_leaves_nothing(
    korvet: KorvetCluster, bystander: Bystander, topic: str
) -> None:
    for _ in range(20):
        with WireClient(korvet.bootstrap) as wire:
            wire.send_fetch(topic, 0, max_wait=60.0)

    bystander.assert_is_undisturbed()


def test_a_client_that_never_takes_its_answers_holds_up_nobody(
    korvet: KorvetCluster, bystander: Bystander, topic: str, wire: WireClient
) -> None:
    large = f"{topic}-large"
    with WireClient(korvet.bootstrap) as other:
        other.create_topic(large)
        for _ in range(20):
            other.produce(large, batch_of([random.Random(3).randbytes(500_000)]))
    for _ in range(50):
        wire.send_fetch(large, 0)

    bystander.assert_is_undisturbed()


# Seconds it was; this bears with a busy machine.
_MOST_WAIT: Final = 2.0
_BROKER: Final = 4
# Each of them took seconds in which nobody else was served, or was never answered.
_GREAT_MANY: Final[dict[str, tuple[Message, type[Message], int]]] = {
    "coordinators": (
        FindCoordinatorRequest(coordinator_keys=[f"g{n}" for n in range(200_000)]),
        FindCoordinatorResponse,
        4,
    ),
    "unknown topics": (
        MetadataRequest(
            topics=[
                MetadataRequest.MetadataRequestTopic(name=f"x{n}") for n in range(50_000)
            ],
            allow_auto_topic_creation=False,
        ),
        MetadataResponse,
        12,
    ),
    "configs of one broker": (
        DescribeConfigsRequest(
            resources=[
                DescribeConfigsRequest.DescribeConfigsResource(
                    resource_type=_BROKER, resource_name="1", configuration_keys=None
                )
            ]
            * 20_000,
            include_synonyms=True,
            include_documentation=True,
        ),
        DescribeConfigsResponse,
        4,
    ),
}


def longest_wait(greedy: Callable[[], None], modest: Callable[[], object]) -> float:
    """The seconds for which the modest one has waited while the greedy one was served."""
    serving = threading.Thread(target=greedy)
    serving.start()
    wait = 0.0
    while serving.is_alive():
        asked = time.monotonic()
        modest()
        wait = max(wait, time.monotonic() - asked)
    return wait


@pytest.mark.parametrize("what", _GREAT_MANY)
def test_a_request_about_a_great_many_things_is_answered_and_holds_up_nobody(
    korvet: KorvetCluster, bystander: Bystander, what: str
) -> None:
    request, response_type, version = _GREAT_MANY[what]
    answers: list[Message] = []

    def ask() -> None:
        with WireClient(korvet.bootstrap, patience=60.0) as greedy:
            answers.append(greedy.call(request, response_type, version))

    with WireClient(korvet.bootstrap, patience=60.0) as modest:
        wait = longest_wait(ask, lambda: modest.call(_WHO, ApiVersionsResponse, 3))

    assert len(answers) == 1
    assert wait < _MOST_WAIT
    bystander.assert_is_undisturbed()


# Redis does nothing else while it writes a batch. This many took it seconds.
_MANY_RECORDS: Final[dict[str, tuple[int, int, bytes, ErrorCode]]] = {
    "as many as a batch may have": (50_000, NONE, b"v", ErrorCode.NONE),
    "more, in little": (300_000, ZSTD, b"a value", ErrorCode.MESSAGE_TOO_LARGE),
}


@pytest.mark.parametrize("what", _MANY_RECORDS)
def test_a_batch_of_a_great_many_records_is_answered_and_holds_up_nobody(
    korvet: KorvetCluster, bystander: Bystander, topic: str, what: str
) -> None:
    count, codec, value, expected = _MANY_RECORDS[what]
    batch = build_batch(
        [(index, 0, None, value, []) for index in range(count)], base_offset=0, codec=codec
    )
    assert len(batch) < 1_000_000
    greedy_topic, modest_topic = f"{topic}-greedy", f"{topic}-modest"
    for name in (greedy_topic, modest_topic):
        create_topic(korvet.bootstrap, name, configs={"storage.format": "record"})
    answers: list[ErrorCode] = []

    def produce() -> None:
        with WireClient(korvet.bootstrap, patience=60.0) as greedy:
            answers.append(greedy.produce(greedy_topic, batch, timeout=60.0).error)

    with WireClient(korvet.bootstrap, patience=60.0) as modest:

        def produce_one() -> None:
            produced = modest.produce(modest_topic, batch_of([b"v"]))
            assert produced.error is ErrorCode.NONE

        wait = longest_wait(produce, produce_one)

    assert answers == [expected]
    assert wait < _MOST_WAIT
    bystander.assert_is_undisturbed()


def test_a_client_that_sends_byte_by_byte_is_served(wire: WireClient) -> None:
    for byte in encode_request(1, ApiVersionsRequest(), 0):
        wire.send_bytes(bytes([byte]))

    assert wire.receive(ApiVersionsResponse, 0).error_code == ErrorCode.NONE


@pytest.mark.parametrize("version", [5, 99, 32767])
def test_an_unknown_version_of_api_versions_is_answered_in_version_0(
    wire: WireClient, version: int
) -> None:
    # Whatever follows the head belongs to a version that nobody knows.
    wire.send_bytes(_frame(struct.pack(">hhih", 18, version, 77, -1) + b"\x00\x01\x02"))
    number, answer = wire.receive_numbered(ApiVersionsResponse, 0)

    assert number == 77
    assert answer.error_code == ErrorCode.UNSUPPORTED_VERSION
    # So that the client can choose one (KIP-511), on this connection.
    served = {api.api_key: api for api in answer.api_keys}
    chosen = served[ApiVersionsRequest.API_KEY].max_version
    again = wire.call(_WHO, ApiVersionsResponse, chosen)
    assert again.error_code == ErrorCode.NONE
