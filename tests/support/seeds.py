"""Seeds of tests that break things at random: the same in each run, or those asked for.

    @pytest.mark.parametrize("seed", seeds(4))

`KORVET_TEST_SEEDS=5,6,7` takes the place of every test's own. A seed is in its test's name,
and so in the report of a failure.
"""

import os
from collections.abc import Mapping
from typing import Any

import pytest

_VARIABLE = "KORVET_TEST_SEEDS"


def seeds(own: int, environ: Mapping[str, str] = os.environ) -> list[Any]:
    """Parameters of a test, of which it has its own one by default."""
    wanted = [int(seed) for seed in environ.get(_VARIABLE, str(own)).split(",")]
    return [pytest.param(seed, id=f"seed-{seed}") for seed in wanted]
