import pytest

from bench import records
from bench.records import Losses
from bench.transactional_load import losses_of

VALUES = records.values(4, 20)


@pytest.mark.parametrize("count", [3, 4, 8, 10])
def test_values_that_are_sent_again_and_again_are_no_repetitions(count: int) -> None:
    sent = (VALUES * 3)[:count]

    assert losses_of(VALUES, count, sent) == Losses(0, 0, 0, 0)


@pytest.mark.parametrize("count", [3, 4, 8, 10])
def test_one_record_too_few_or_too_many_is_seen(count: int) -> None:
    sent = (VALUES * 3)[:count]

    assert losses_of(VALUES, count, sent[:-1]).lost == 1
    assert losses_of(VALUES, count, sent[1:]).lost >= 1
    assert losses_of(VALUES, count, [*sent, sent[-1]]).duplicated == 1
