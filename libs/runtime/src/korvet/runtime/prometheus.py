"""PURE: instruments in Prometheus's text format, under OpenTelemetry's names for them.

Dots become underscores, the unit follows, and a counter ends with `_total`.
"""

from collections.abc import Iterable, Iterator
from itertools import accumulate
from typing import Final

from korvet.runtime.metrics import AnyInstrument, Histogram, Instrument

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
# Units in braces only say what is counted.
_UNITS: Final = {"s": "seconds", "By": "bytes", "1": "ratio"}


def metric_name(instrument: AnyInstrument) -> str:
    name = instrument.name.replace(".", "_")
    unit = _UNITS.get(instrument.unit, "")
    if unit and not name.endswith(f"_{unit}"):
        name = f"{name}_{unit}"
    return f"{name}_total" if instrument.kind == "counter" else name


def label_name(attribute: str) -> str:
    return attribute.replace(".", "_")


def exposition(instruments: Iterable[AnyInstrument]) -> str:
    """All of them; those that nothing was counted with have a head and no series."""
    return "".join(line for each in instruments for line in _family(each))


def _family(instrument: AnyInstrument) -> Iterator[str]:
    name = metric_name(instrument)
    yield f"# HELP {name} {_escaped(instrument.description)}\n"
    yield f"# TYPE {name} {instrument.kind}\n"
    if isinstance(instrument, Histogram):
        yield from _distributions(name, instrument)
        return
    for values, number in instrument.series():
        yield f"{name}{_labels(instrument, values)} {number.value}\n"


def _distributions(name: str, instrument: Histogram) -> Iterator[str]:
    for values, distribution in instrument.series():
        counts = list(accumulate(distribution.counts))
        for bound, count in zip((*distribution.bounds, "+Inf"), counts, strict=True):
            labels = _labels(instrument, values, f'le="{bound}"')
            yield f"{name}_bucket{labels} {count}\n"
        labels = _labels(instrument, values)
        yield f"{name}_sum{labels} {distribution.sum}\n"
        yield f"{name}_count{labels} {counts[-1]}\n"


def _labels(instrument: Instrument, values: tuple[str, ...], *more: str) -> str:  # type: ignore[type-arg]
    pairs = [
        f'{label_name(attribute)}="{_quoted(value)}"'
        for attribute, value in zip(instrument.attributes, values, strict=True)
        if value
    ]
    pairs += more
    return f"{{{','.join(pairs)}}}" if pairs else ""


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n")


def _quoted(text: str) -> str:
    return _escaped(text).replace('"', '\\"')
