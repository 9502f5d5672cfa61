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
