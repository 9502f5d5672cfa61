"""What a process counts: plain numbers where it happens, read only when somebody asks.

A module makes its instruments when it is imported, and keeps the series that it needs:

    _requests = metrics.counter("korvet.requests", unit="{request}", ...)
    _requests.of("Produce").value += 1

That costs the hot path an addition. Names, units and attributes follow OpenTelemetry's
conventions where there are any. An instrument has no more series than its `limit`: what
comes later is counted in one whose attributes are all `OTHER`.
"""

import contextlib
import math
from abc import ABC, abstractmethod
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import ClassVar, Final, Generic, Literal, TypeAlias, TypeVar

# No name of a topic or of Kafka's; a group may have it, and is then among the others.
OTHER: Final = "(other)"
# Topics, groups: what clients can make any number of.
NAMES_SHOWN: Final = 200
# Of a lookup that answers at once, and of a fetch that waits as long as clients let it.
SECONDS: Final = (
    0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0,
    30.0,
)  # fmt: skip

Kind: TypeAlias = Literal["counter", "gauge", "histogram"]
_Attributes: TypeAlias = tuple[str, ...]


class Number:
    """One series of a counter or gauge."""

    __slots__ = ("value",)

    def __init__(self) -> None:
        self.value: int | float = 0


class Distribution:
    """One series of a histogram: how many observations lie between its bounds."""

    __slots__ = ("bounds", "counts", "sum")

    def __init__(self, bounds: Sequence[float]) -> None:
        self.bounds = bounds
        # The last is of what lies above every bound.
        self.counts = [0] * (len(bounds) + 1)
        self.sum = 0.0

    def observe(self, value: float) -> None:
        self.counts[bisect_left(self.bounds, value)] += 1
        self.sum += value


Series = TypeVar("Series", Number, Distribution)


class Instrument(ABC, Generic[Series]):
    """Something that is counted, in a series for each combination of its attributes."""

    kind: ClassVar[Kind]

    def __init__(
        self, name: str, unit: str, description: str, attributes: _Attributes, limit: int
    ) -> None:
        self.name: Final = name
        self.unit: Final = unit
        self.description: Final = description
        # The attributes' names; one that is empty in a series is left out there.
        self.attributes: Final = attributes
        self.limit: Final = limit
        self._series: dict[_Attributes, Series] = {}

    def of(self, *values: str) -> Series:
        """The series with these values of the attributes, in their order."""
        found = self._series.get(values)
        return found if found is not None else self._add(values)

    def series(self) -> list[tuple[_Attributes, Series]]:
        """All of them now; may be asked by another thread."""
        return list(self._series.items())

    def forget(self, attribute: str, value: str) -> None:
        """Drop the series of something that is no more, so that others find room."""
        if attribute in self.attributes:
            place = self.attributes.index(attribute)
            for values, _ in self.series():
                if values[place] == value:
                    del self._series[values]

    @abstractmethod
    def _new(self) -> Series: ...

    def _add(self, values: _Attributes) -> Series:
        assert len(values) == len(self.attributes), self.name
        if len(self._series) >= self.limit:
            values = (OTHER,) * len(values)
        return self._series.setdefault(values, self._new())


class Numbers(Instrument[Number]):
    def set_all(self, values: Mapping[_Attributes, float]) -> None:
        """Have exactly these series. Beyond the limit they are added up in one."""
        fresh: dict[_Attributes, Number] = {}
        for attributes, value in values.items():
            if len(fresh) >= self.limit:
                attributes = (OTHER,) * len(attributes)
            fresh.setdefault(attributes, Number()).value += value
        # At once, for those who read meanwhile.
        self._series = fresh

    def _new(self) -> Number:
        return Number()


class Counter(Numbers):
    """What only grows."""

    kind = "counter"


class Gauge(Numbers):
    """What goes up and down."""

    kind = "gauge"


class Histogram(Instrument[Distribution]):
    """How something is distributed, most often durations."""

    kind = "histogram"

    def __init__(
        self,
        name: str,
        unit: str,
        description: str,
        attributes: _Attributes,
        limit: int,
        bounds: Sequence[float],
    ) -> None:
        super().__init__(name, unit, description, attributes, limit)
        self._bounds = tuple(bounds)

    def _new(self) -> Distribution:
        return Distribution(self._bounds)


AnyInstrument: TypeAlias = Counter | Gauge | Histogram
_Made = TypeVar("_Made", Counter, Gauge, Histogram)


class Registry:
    """The instruments of a process, by their names."""

    def __init__(self) -> None:
        self._instruments: dict[str, AnyInstrument] = {}
        self._observers: list[Callable[[], None]] = []

    def add(self, instrument: _Made) -> _Made:
        assert instrument.name not in self._instruments, f"{instrument.name} is there twice"
        self._instruments[instrument.name] = instrument
        return instrument

    @property
    def instruments(self) -> list[AnyInstrument]:
        return [self._instruments[name] for name in sorted(self._instruments)]

    def observe(self, observer: Callable[[], None]) -> None:
        """As `observing`, for as long as there is this process."""
        self._observers.append(observer)

    @contextlib.contextmanager
    def observing(self, observer: Callable[[], None]) -> Iterator[None]:
        """Have `observer` set its series whenever somebody is about to read them.

        It is called in any thread, and must be quick.
        """
        self._observers.append(observer)
        try:
            yield
        finally:
            self._observers.remove(observer)

    def look(self) -> None:
        """Make what is observed true; for whoever reads, before."""
        for observer in list(self._observers):
            observer()

    def forget(self, attribute: str, value: str) -> None:
        for instrument in self._instruments.values():
            instrument.forget(attribute, value)


# Of this process. Like loggers and tracers, instruments belong to modules.
REGISTRY: Final = Registry()


def counter(
    name: str,
    *,
    unit: str,
    description: str,
    attributes: _Attributes = (),
    limit: int = 1000,
) -> Counter:
    return REGISTRY.add(Counter(name, unit, description, attributes, limit))


def gauge(
    name: str,
    *,
    unit: str,
    description: str,
    attributes: _Attributes = (),
    limit: int = 1000,
) -> Gauge:
    return REGISTRY.add(Gauge(name, unit, description, attributes, limit))


def histogram(
    name: str,
    *,
    unit: str,
    description: str,
    attributes: _Attributes = (),
    limit: int = 1000,
    bounds: Sequence[float] = SECONDS,
) -> Histogram:
    assert all(map(math.isfinite, bounds)), name
    return REGISTRY.add(Histogram(name, unit, description, attributes, limit, bounds))
