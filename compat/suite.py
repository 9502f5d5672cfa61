"""What a client's own test suite says about Korvet, and whether that is what it must say.

Pure: the lists, the sources and the results come in as text.
"""

import json
import re
from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass
from typing import Final

# How a function of franz-go's tests reaches the broker.
_REACHES_BROKER: Final = re.compile(
    r"\b(?:newTestClient|testClientOpts|adm|tmp\w*Topic\w*|internalTopic|scramSeeds)\b"
)
_TEST_FUNCTION: Final = re.compile(r"^func (Test\w+)\(.*?^}$", re.DOTALL | re.MULTILINE)
_FINDING: Final = re.compile(r"^\| `([^`]+)`", re.MULTILINE)


def broker_tests(sources: Iterable[str]) -> set[str]:
    """The tests that talk to a broker; the others try the client alone."""
    return {
        function[1]
        for source in sources
        for function in _TEST_FUNCTION.finditer(source)
        if _REACHES_BROKER.search(function[0])
    }


def must_pass(text: str, setting: Set[str]) -> set[str]:
    """The names in a must-pass list; words behind a name say which servers it is for."""
    lines = (line.partition("#")[0].split() for line in text.splitlines())
    return {name for name, *only in filter(None, lines) if setting >= set(only)}


def findings(text: str) -> set[str]:
    """The tests that a findings table explains, one to a row."""
    return set(_FINDING.findall(text))


@dataclass(frozen=True, slots=True)
class Results:
    """Test -> "pass", "fail" or "skip", and what each one printed."""

    outcomes: Mapping[str, str]
    outputs: Mapping[str, str]


def results(lines: Iterable[str]) -> Results:
    """Read what `go test -json` prints. A test that never ended has no outcome."""
    outcomes: dict[str, str] = {}
    outputs: dict[str, list[str]] = {}
    for line in lines:
        event = json.loads(line)
        name = event.get("Test", "")
        if event["Action"] in ("output", "build-output"):
            outputs.setdefault(name, []).append(event["Output"])
        elif name and event["Action"] in ("pass", "fail", "skip"):
            outcomes[name] = event["Action"]
    return Results(outcomes, {name: "".join(parts) for name, parts in outputs.items()})


@dataclass(frozen=True, slots=True)
class Verdict:
    """`broken` and `unexplained` fail a run; `new` is for whoever keeps the lists."""

    broken: Mapping[str, str]
    unexplained: Set[str]
    new: Set[str]

    @property
    def good(self) -> bool:
        return not self.broken and not self.unexplained


def judge(outcomes: Mapping[str, str], required: Set[str], explained: Set[str]) -> Verdict:
    """Compare: all that is required passes, and what else does not pass is explained."""
    passed = {name for name, outcome in outcomes.items() if outcome == "pass"}
    listed = required | explained
    return Verdict(
        broken={name: outcomes.get(name, "missing") for name in required - passed},
        unexplained=outcomes.keys() - passed - listed,
        new=passed - required,
    )
