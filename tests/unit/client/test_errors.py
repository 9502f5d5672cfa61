from korvet.client import errors as client_errors
from korvet.kafka import errors as kafka_errors


def test_the_clients_codes_are_kafkas() -> None:
    for code in client_errors.ErrorCode:
        assert kafka_errors.ErrorCode[code.name] == code.value


def test_a_code_without_a_name_is_still_an_error() -> None:
    error = client_errors.KorvetError(999, "new in some later version")

    assert error.name == "ERROR_999"
    assert "new in some later version" in str(error)
