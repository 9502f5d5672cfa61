"""The table of error codes."""

from kio.schema.errors import ErrorCode as KioErrorCode

from korvet.kafka.errors import ErrorCode, KafkaError


def test_codes_have_kafkas_names_and_numbers() -> None:
    theirs = {code.name.upper(): int(code) for code in KioErrorCode}

    assert {code.name: int(code) for code in ErrorCode} == theirs


def test_the_codes_that_clients_retry_are_kafkas() -> None:
    theirs = {int(code) for code in KioErrorCode if code.retriable}

    assert {int(code) for code in ErrorCode if code.is_retriable} == theirs


def test_an_error_says_its_code_and_why() -> None:
    error = KafkaError(ErrorCode.INVALID_RECORD, "no key")

    assert str(error) == "INVALID_RECORD: no key"
    assert (error.code, error.detail) == (ErrorCode.INVALID_RECORD, "no key")
    assert str(KafkaError(ErrorCode.NOT_CONTROLLER)) == "NOT_CONTROLLER"
