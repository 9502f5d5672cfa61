import pytest

from bench.report import PAGE, filled, kept_results, markdown, sections
from bench.tables import Grid


def test_the_page_shows_the_kept_results() -> None:
    text = PAGE.read_text()

    assert filled(text, sections(kept_results())) == text


def test_a_section_is_replaced_between_its_marks_only() -> None:
    text = "before\n<!-- speed -->\nold\n<!-- /speed -->\nafter\n"

    new = filled(text, {"speed": "new"})

    assert new == "before\n<!-- speed -->\nnew\n<!-- /speed -->\nafter\n"


def test_a_page_without_the_marks_is_refused() -> None:
    with pytest.raises(ValueError, match="speed"):
        filled("no marks", {"speed": "new"})


def test_a_grid_becomes_a_markdown_table() -> None:
    grid = Grid("Title", ["a", "b"], [["1", "2"]])

    assert markdown([grid]) == "**Title**\n\n| a | b |\n|---|---|\n| 1 | 2 |"


def test_the_targets_of_all_runs_stand_together_with_their_faults_folded() -> None:
    run = {
        "command": "python -m bench.profile",
        "commit": "0123456789abcdef",
        "uncommitted_changes": False,
        "when": "2026-11-19T00:00:00",
        "machine": {
            "cores": 2,
            "cpu": "fast",
            "memory_gb": 4,
            "kernel": "6",
            "load_average": 0.0,
        },
        "versions": {"python": "3", "librdkafka": "2", "java": "17", "redis": "7"},
        "targets": [
            {"label": "fast", "bound": "≥ 1", "value": 0.5, "met": False},
            {"label": "lost", "bound": "= 0", "value": 0, "met": True},
            {"label": "doubled", "bound": "= 0", "value": 1, "met": False},
            {"label": "foreign", "bound": "= 0", "value": 0, "met": True},
        ],
        "profiles": [],
    }

    lines = sections({"profile": run})["targets"].splitlines()

    assert lines[4:] == [
        "| profile | fast | ≥ 1 | 0.50 | MISSED |",
        "| profile | doubled | = 0 | 1.00 | MISSED |",
        (
            "| profile | 2 kinds of fault that were looked for, in all measurements |"
            " = 0 | 0 | met |"
        ),
    ]
