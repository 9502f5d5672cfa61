"""What a client's own test suite must say, from its sources, its lists and its results."""

import json

import pytest

from compat.franz_go import FOLDER
from compat.suite import broker_tests, findings, judge, must_pass, results

SETTINGS = [{e, f} for e in ("dense", "time") for f in ("batch", "record")]


def test_a_test_reaches_the_broker_if_its_own_body_does() -> None:
    source = """
func TestAlone(t *testing.T) {
\tnewRing()
}

func newTestClient() *Client {
\treturn nil
}

func TestPing(t *testing.T) {
\tif cl, err := newTestClient(); err != nil {
\t}
}
"""
    assert broker_tests([source]) == {"TestPing"}


def test_a_must_pass_line_may_be_limited_to_some_servers() -> None:
    text = "# why\nTestA\nTestB  dense  # offsets\nTestC dense batch\n\n"
    assert must_pass(text, {"dense", "batch"}) == {"TestA", "TestB", "TestC"}
    assert must_pass(text, {"dense", "record"}) == {"TestA", "TestB"}
    assert must_pass(text, {"time", "batch"}) == {"TestA"}


def test_a_finding_is_a_row_that_starts_with_a_test() -> None:
    text = "`TestZ` is text.\n\n| test | why |\n|---|---|\n| `TestA/b` | `TestC` |\n"
    assert findings(text) == {"TestA/b"}


def test_results_are_read_with_what_each_test_printed() -> None:
    events = [
        {"Action": "start", "Package": "kgo"},
        {"Action": "run", "Test": "TestA"},
        {"Action": "output", "Test": "TestA", "Output": "one\n"},
        {"Action": "output", "Test": "TestA", "Output": "two\n"},
        {"Action": "fail", "Test": "TestA", "Elapsed": 1.0},
        {"Action": "skip", "Test": "TestB"},
        {"Action": "run", "Test": "TestNeverEnds"},
        {"Action": "output", "Output": "FAIL\n"},
        {"Action": "fail", "Package": "kgo"},
    ]
    found = results(json.dumps(event) for event in events)
    assert found.outcomes == {"TestA": "fail", "TestB": "skip"}
    assert found.outputs == {"TestA": "one\ntwo\n", "": "FAIL\n"}


@pytest.mark.parametrize("outcome", ["fail", "skip"])
def test_what_must_pass_is_broken_by_any_other_outcome(outcome: str) -> None:
    verdict = judge({"TestA": outcome}, {"TestA", "TestGone"}, {"TestA"})
    assert verdict.broken == {"TestA": outcome, "TestGone": "missing"}
    assert not verdict.good


def test_what_does_not_pass_needs_a_finding() -> None:
    outcomes = {"TestA": "pass", "TestB": "skip", "TestC": "fail", "TestD": "pass"}
    verdict = judge(outcomes, {"TestA"}, {"TestB"})
    assert verdict.unexplained == {"TestC"}
    assert verdict.new == {"TestD"}
    assert not verdict.good
    assert judge(outcomes, {"TestA"}, {"TestB", "TestC"}).good


def test_a_test_is_explained_exactly_where_it_need_not_pass() -> None:
    listed = (FOLDER / "must-pass.txt").read_text()
    explained = findings((FOLDER / "FINDINGS.md").read_text())
    everywhere = set.intersection(*(must_pass(listed, setting) for setting in SETTINGS))
    anywhere = set.union(*(must_pass(listed, setting) for setting in SETTINGS))
    assert not everywhere & explained
    assert anywhere - everywhere <= explained
