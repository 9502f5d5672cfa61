"""Tables of figures, before anyone decides where they are shown."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

NONE: Final = "-"
TARGETS_TITLE: Final = "Targets"
TARGETS_HEADER: Final = ("what", "bound", "measured", "")


class Grid(NamedTuple):
    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]


class Figures:
    """Looks figures up in a result by path, and writes them."""

    def __init__(self, result: Mapping[str, Any]) -> None:
        self._figures: Mapping[str, Mapping[str, float]] = result["figures"]

    def thousands(self, path: str) -> str:
        return self._write(path, 1e3, 0)

    def plain(self, path: str, digits: int = 2) -> str:
        return self._write(path, 1.0, digits)

    def median(self, path: str, digits: int) -> str:
        figure = self._figures.get(path)
        return NONE if figure is None else f"{figure['median']:.{digits}f}"

    def by_role(self, path: str, digits: int) -> str:
        """All that is under a path, as "role 1.2, role 3.4"."""
        found = [one for one in self._figures if one.startswith(f"{path}/")]
        parts = [f"{one.rpartition('/')[2]} {self.median(one, digits)}" for one in found]
        return ", ".join(parts) or NONE

    def _write(self, path: str, unit: float, digits: int) -> str:
        figure = self._figures.get(path)
        if figure is None:
            return NONE
        middle, least, most = (
            f"{figure[name] / unit:.{digits}f}" for name in ("median", "least", "most")
        )
        return f"{middle} ({least} to {most})"


def targets_grid(result: Mapping[str, Any]) -> Grid:
    rows = [
        [
            target["label"],
            target["bound"],
            NONE if target["value"] is None else f"{target['value']:.2f}",
            _outcome(target),
        ]
        for target in result["targets"]
    ]
    return Grid(TARGETS_TITLE, TARGETS_HEADER, rows)


def _outcome(target: Mapping[str, Any]) -> str:
    if target["value"] is None:
        return "not measured"
    return "met" if target["met"] else "MISSED"
