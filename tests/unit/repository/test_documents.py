"""What the documents point at is there."""

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[3]


def test_the_two_commands_are_there() -> None:
    plan = subprocess.run(
        ["make", "-n", "run", "test"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout

    assert "korvet up" in plan
    assert "tests/e2e" in plan


def test_every_source_file_that_a_document_names_is_there() -> None:
    folders = ("bench", "cli", "libs", "pipeline", "protos", "services", "tests")
    names = {path.name for folder in folders for path in (ROOT / folder).rglob("*.*")}
    for document in [*ROOT.glob("docs/*.md"), *ROOT.glob("[a-z]*/**/README.md")]:
        for name in re.findall(
            r"`(?:[\w/]+/)?(\w+\.(?:py|lua|proto))`", document.read_text()
        ):
            assert name in names, f"{document}: {name}"


def test_every_module_on_a_readmes_map_is_there() -> None:
    """The table under "Where things are": each word in backquotes is a module."""
    readmes = [
        *(ROOT / folder / "README.md" for folder in ("cli", "pipeline")),
        *ROOT.glob("services/*/README.md"),
    ]
    for readme in readmes:
        modules = {path.name for path in readme.parent.glob("src/**/*") if path.is_file()}
        folders = {path.parent.name for path in readme.parent.glob("src/**/*.py")}
        text = readme.read_text().split("## Where things are", 1)[1].split("\n\n")[1]
        for name in re.findall(r"`([\w/.]+)`", text):
            path = name.rstrip("/").removesuffix("/__init__")
            known = {path, f"{path}.py"} & modules or path in folders
            assert known, f"{readme}: {name}"


def test_every_link_leads_somewhere() -> None:
    documents = [
        *ROOT.glob("*.md"),
        *ROOT.glob("docs/**/*.md"),
        *ROOT.glob("*/*/README.md"),
    ]
    for document in [*documents, *ROOT.glob("*/README.md")]:
        for target in re.findall(r"\]\(([^)#\s]+)", document.read_text()):
            if "://" not in target:
                assert (document.parent / target).exists(), f"{document}: {target}"
