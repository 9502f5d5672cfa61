"""Which seeds the tests that break things are run with."""

import pytest

from tests.support.seeds import seeds


def test_a_test_has_one_seed_of_its_own() -> None:
    assert seeds(4, {}) == [pytest.param(4, id="seed-4")]


def test_the_environment_gives_other_seeds() -> None:
    found = seeds(4, {"KORVET_TEST_SEEDS": "5, 17"})

    assert found == [pytest.param(5, id="seed-5"), pytest.param(17, id="seed-17")]
