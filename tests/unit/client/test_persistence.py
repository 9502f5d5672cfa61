from korvet.client.persistence import Persistence


def test_it_lasts_as_long_as_it_is_told() -> None:
    persistence = Persistence(retry_for=30)
    persistence.opened(100)

    assert not persistence.is_over(100)
    persistence.opened(129)
    assert not persistence.is_over(130)
    persistence.opened(130.2)
    assert persistence.is_over(130.3)


def test_something_heard_begins_it_anew() -> None:
    persistence = Persistence(retry_for=30)
    persistence.opened(100)
    assert not persistence.is_over(100)

    persistence.opened(129)
    persistence.heard()

    assert not persistence.is_over(135)


def test_a_stream_that_was_silent_for_long_was_not_broken_for_long() -> None:
    persistence = Persistence(retry_for=30)
    persistence.opened(100)

    assert not persistence.is_over(4000)
    persistence.opened(4000.2)
    assert not persistence.is_over(8000)


def test_without_patience_the_second_failure_is_the_end() -> None:
    persistence = Persistence(retry_for=0)
    persistence.opened(100)

    assert not persistence.is_over(101)
    persistence.opened(101)
    assert persistence.is_over(101.5)
