"""Prometheus's text format, as far as Korvet's processes write it.

Pure. The other direction is `korvet.runtime.prometheus`.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

_SAMPLE: Final = re.compile(r"(\w+)(?:\{(.*)\})? (\S+)")
_LABEL: Final = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')
_ESCAPED: Final = re.compile(r"\\(.)")


class Sample(NamedTuple):
    name: str
    labels: Mapping[str, str]
    value: float


def samples(text: str) -> Iterator[Sample]:
    for line in text.splitlines():
        if not line.startswith("#") and (found := _SAMPLE.fullmatch(line)):
            name, labels, value = found.groups(default="")
            pairs = {label: _plain(value) for label, value in _LABEL.findall(labels)}
            yield Sample(name, pairs, float(value))


def merge(texts: Mapping[str, str]) -> str:
    """What several processes tell as one, with the label `service` to know them apart.

    A metric's lines must be together, and its head must be there once.
    """
    heads: dict[str, list[str]] = {}
    bodies: dict[str, list[str]] = {}
    for service, text in texts.items():
        lines = iter(text.splitlines())
        for line in lines:
            if line.startswith("# HELP "):
                family = line.split(" ", 3)[2]
                heads.setdefault(family, [line, next(lines)])
                body = bodies.setdefault(family, [])
            else:
                body.append(_with_label(line, f'service="{service}"'))
    return "".join(
        f"{line}\n" for family in sorted(heads) for line in heads[family] + bodies[family]
    )


def _with_label(line: str, label: str) -> str:
    # Neither names of metrics nor numbers have a brace.
    before, brace, behind = line.partition("{")
    if brace:
        return f"{before}{{{label},{behind}"
    name, _, value = line.partition(" ")
    return f"{name}{{{label}}} {value}"


def _plain(text: str) -> str:
    return _ESCAPED.sub(lambda found: {"n": "\n"}.get(found[1], found[1]), text)
