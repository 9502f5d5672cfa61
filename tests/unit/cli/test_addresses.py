"""Commands that use gRPC never take another Korvet for the one that was named."""

import pytest

from korvet.cli.addresses import (
    DEFAULT_BOOTSTRAP,
    DEFAULT_COORDINATOR,
    DEFAULT_STORAGE,
    groups_beside,
    storage_beside,
)
from korvet.cli.failure import Failure


@pytest.mark.parametrize(
    ("bootstrap", "storage", "address"),
    [
        (None, None, DEFAULT_STORAGE),
        (DEFAULT_BOOTSTRAP, None, DEFAULT_STORAGE),
        (None, "there:1", "there:1"),
        ("there:9", "there:1", "there:1"),
    ],
)
def test_storage_is_where_it_is_said_to_be(
    bootstrap: str | None, storage: str | None, address: str
) -> None:
    assert storage_beside(bootstrap, storage) == address


def test_another_korvet_without_its_storage_is_refused() -> None:
    with pytest.raises(Failure, match="beside there:9 is not known"):
        storage_beside("there:9", None)


@pytest.mark.parametrize(
    ("given", "addresses"),
    [
        ((None, None, None), (DEFAULT_COORDINATOR, DEFAULT_STORAGE)),
        ((DEFAULT_BOOTSTRAP, None, None), (DEFAULT_COORDINATOR, DEFAULT_STORAGE)),
        ((None, DEFAULT_STORAGE, None), (DEFAULT_COORDINATOR, DEFAULT_STORAGE)),
        ((None, "there:1", "there:2"), ("there:2", "there:1")),
        (("there:9", "there:1", "there:2"), ("there:2", "there:1")),
        (("there:9", DEFAULT_STORAGE, "there:2"), ("there:2", DEFAULT_STORAGE)),
    ],
)
def test_groups_are_asked_for_where_both_services_are(
    given: tuple[str | None, str | None, str | None], addresses: tuple[str, str]
) -> None:
    assert groups_beside(*given) == addresses


@pytest.mark.parametrize(
    ("given", "missing"),
    [
        (("there:9", None, None), "coordinator"),
        (("there:9", "there:1", None), "coordinator"),
        (("there:9", None, "there:2"), "storage"),
        ((None, "there:1", None), "coordinator"),
        ((None, None, "there:2"), "storage"),
    ],
)
def test_half_of_another_korvet_is_refused(
    given: tuple[str | None, str | None, str | None], missing: str
) -> None:
    with pytest.raises(Failure, match=f"where the {missing} is beside there:") as raised:
        groups_beside(*given)

    assert f"--{missing} HOST:PORT" in raised.value.advice
