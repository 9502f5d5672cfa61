import pytest

from korvet.gateway.handler import ApiRange
from korvet.gateway.handlers import HANDLERS, api_versions
from korvet.kafka.errors import ErrorCode, KafkaError
from korvet.kafka.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from tests.support.fake_storage import FakeStorage
from tests.support.gateway_context import request_context
from tests.support.kafka_client import KafkaClient, kafka_server


def client_of(
    software: str = "apache-kafka-java", version: str = "4.1.0"
) -> ApiVersionsRequest:
    return ApiVersionsRequest(
        client_software_name=software, client_software_version=version
    )


@pytest.mark.parametrize("version", range(5))
async def test_every_handler_is_advertised_with_its_range(version: int) -> None:
    client = KafkaClient(kafka_server())

    answer = await client.ask(client_of(), version, ApiVersionsResponse)

    listed = {api.api_key: (api.min_version, api.max_version) for api in answer.api_keys}
    assert answer.error_code == 0
    assert len(listed) == len(HANDLERS)
    assert listed[18] == (0, 4)
    assert listed[1] == (4, 18)


async def test_produce_is_advertised_from_0_because_librdkafka_looks_for_that() -> None:
    answer = await KafkaClient(kafka_server()).ask(client_of(), 3, ApiVersionsResponse)

    ranges = {api.api_key: (api.min_version, api.max_version) for api in answer.api_keys}
    assert ranges[0] == (0, 13)


@pytest.mark.parametrize(
    ("name", "software_version"),
    [("", "1"), ("x", ""), ("-x", "1"), ("x", "1\n"), ("ü", "1")],
)
async def test_software_that_is_badly_named_is_an_invalid_request(
    name: str, software_version: str
) -> None:
    context = request_context(FakeStorage(), 3, apis=[ApiRange(18, 0, 4)])

    with pytest.raises(KafkaError) as refused:
        await api_versions.handle(client_of(name, software_version), context)

    assert refused.value.code is ErrorCode.INVALID_REQUEST


async def test_before_v3_clients_do_not_name_their_software() -> None:
    context = request_context(FakeStorage(), 2, apis=[ApiRange(18, 0, 4)])

    answer = await api_versions.handle(ApiVersionsRequest(), context)

    assert [api.api_key for api in answer.api_keys] == [18]


def test_no_two_handlers_serve_the_same_api() -> None:
    keys = [handler.api_key for handler in HANDLERS]

    assert len(keys) == len(set(keys))


def test_every_version_that_is_served_can_be_encoded_and_decoded() -> None:
    for handler in HANDLERS:
        message = handler.request_type
        assert message.MIN_VERSION <= handler.min_version <= handler.max_version
        assert handler.max_version <= message.MAX_VERSION


@pytest.mark.parametrize("version", range(5))
async def test_from_v3_on_transactions_are_of_version_2(version: int) -> None:
    answer = await KafkaClient(kafka_server()).ask(
        client_of(), version, ApiVersionsResponse
    )

    supported = [
        (each.name, each.min_version, each.max_version)
        for each in answer.supported_features
    ]
    finalized = [
        (each.name, each.min_version_level, each.max_version_level)
        for each in answer.finalized_features
    ]
    # Clients of v3 cannot read a feature whose lowest version is 0.
    assert supported == ([("transaction.version", 0, 2)] if version == 4 else [])
    assert finalized == ([("transaction.version", 2, 2)] if version >= 3 else [])
    # Java's producers take features in only with an epoch above -1.
    assert answer.finalized_features_epoch == (0 if version >= 3 else -1)
