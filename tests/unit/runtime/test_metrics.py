import pytest

from korvet.runtime.metrics import OTHER, Counter, Gauge, Histogram, Registry


def a_counter(*attributes: str, limit: int = 1000) -> Counter:
    return Counter("korvet.requests", "{request}", "Requests.", attributes, limit)


def a_gauge(*attributes: str, limit: int = 1000) -> Gauge:
    return Gauge("korvet.lag", "{record}", "Lag.", attributes, limit)


def values(instrument: Counter | Gauge) -> dict[tuple[str, ...], float]:
    return {attributes: number.value for attributes, number in instrument.series()}


def test_each_combination_of_attributes_is_counted_by_itself() -> None:
    requests = a_counter("api", "error")

    requests.of("Produce", "").value += 1
    requests.of("Produce", "").value += 1
    requests.of("Produce", "INVALID_RECORD").value += 1

    assert values(requests) == {("Produce", ""): 2, ("Produce", "INVALID_RECORD"): 1}


def test_what_comes_when_there_is_no_room_is_counted_together() -> None:
    appended = a_counter("topic", limit=2)

    for topic in ("a", "b", "c", "d", "a", "d"):
        appended.of(topic).value += 1

    assert values(appended) == {("a",): 2, ("b",): 1, (OTHER,): 3}


def test_one_that_is_no_more_makes_room_for_another() -> None:
    registry = Registry()
    appended = registry.add(a_counter("topic", limit=1))
    appended.of("a").value += 1

    registry.forget("topic", "a")
    appended.of("b").value += 1

    assert values(appended) == {("b",): 1}


def test_forgetting_what_an_instrument_does_not_have_leaves_it_alone() -> None:
    requests = a_counter("api")
    requests.of("Produce").value += 1

    requests.forget("topic", "Produce")

    assert values(requests) == {("Produce",): 1}


def test_what_is_observed_replaces_what_was_before() -> None:
    lag = a_gauge("group")
    lag.set_all({("old",): 7})

    lag.set_all({("new",): 1})

    assert values(lag) == {("new",): 1}


def test_what_is_observed_beyond_the_limit_is_added_up() -> None:
    lag = a_gauge("group", limit=2)

    lag.set_all({("a",): 1, ("b",): 2, ("c",): 4, ("d",): 8})

    assert values(lag) == {("a",): 1, ("b",): 2, (OTHER,): 12}


def test_an_observation_on_a_bound_is_below_it() -> None:
    duration = Histogram("d", "s", "Durations.", (), 1, bounds=(0.1, 1.0))

    for seconds in (0.05, 0.1, 0.5, 3.0):
        duration.of().observe(seconds)

    assert duration.of().counts == [2, 1, 1]
    assert duration.of().sum == pytest.approx(3.65)


def test_observers_are_asked_for_as_long_as_they_observe() -> None:
    registry = Registry()
    looks: list[str] = []

    with registry.observing(lambda: looks.append("meanwhile")):
        registry.look()
    registry.look()

    assert looks == ["meanwhile"]


def test_a_name_is_given_once() -> None:
    registry = Registry()
    registry.add(a_counter())

    with pytest.raises(AssertionError):
        registry.add(a_counter())
