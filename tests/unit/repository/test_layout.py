"""Rules about the repository that no tool checks for us."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PROJECTS = sorted(
    path for path in ROOT.glob("*/pyproject.toml") if path.parent.name in ("protos", "cli")
) + sorted([*ROOT.glob("libs/*/pyproject.toml"), *ROOT.glob("services/*/pyproject.toml")])


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def required(requirement: str) -> str:
    found = re.match(r"[A-Za-z0-9._-]+", requirement)
    assert found, requirement
    return normal(found[0])


def locked(name: str) -> set[str]:
    lines = (ROOT / name).read_text().splitlines()
    return {normal(line.split("==")[0]) for line in lines if "==" in line}


def test_the_namespace_package_belongs_to_no_distribution() -> None:
    sources = [*ROOT.glob("*/*/src/korvet"), *ROOT.glob("*/src/korvet")]
    assert sources

    for folder in [*sources, ROOT / "protos/python/korvet"]:
        assert not (folder / "__init__.py").exists(), folder


def test_every_package_of_ours_is_typed() -> None:
    packages = [
        path
        for pattern in ("*/*/src/korvet/*", "*/src/korvet/*")
        for path in ROOT.glob(pattern)
        if path.is_dir() and path.name != "__pycache__"
    ]
    assert packages

    for package in packages:
        assert (package / "py.typed").exists(), package


@pytest.mark.parametrize("project", PROJECTS, ids=lambda path: path.parent.name)
def test_what_a_distribution_requires_is_locked(project: Path) -> None:
    declared = tomllib.loads(project.read_text())["project"]["dependencies"]
    ours = {tomllib.loads(path.read_text())["project"]["name"] for path in PROJECTS}

    assert {required(each) for each in declared} - ours <= locked("requirements.lock")


def test_what_development_requires_is_locked() -> None:
    groups = tomllib.loads((ROOT / "pyproject.toml").read_text())["dependency-groups"]

    assert {required(each) for each in groups["dev"]} <= locked("requirements-dev.lock")
    assert {required(each) for each in groups["build"]} <= locked("requirements.lock")


def test_what_the_pipeline_requires_is_locked_apart() -> None:
    """Spark is large: `make run` must not bring it."""
    declared = tomllib.loads((ROOT / "pipeline/pyproject.toml").read_text())["project"]
    needed = {required(each) for each in declared["dependencies"]}

    assert {each for each in needed if "korvet" not in each} <= locked(
        "requirements-lake.lock"
    )
    assert "pyspark" not in locked("requirements.lock")


def test_pyspark_and_its_jars_are_of_one_release() -> None:
    declared = tomllib.loads((ROOT / "pipeline/pyproject.toml").read_text())["project"]
    (pinned,) = [each for each in declared["dependencies"] if each.startswith("pyspark")]
    pom = (ROOT / "pipeline/src/korvet/pipeline/pom.xml").read_text()
    of_spark = r"<groupId>org\.apache\.spark</groupId>.*?<version>(.*?)</version>"

    releases = set(re.findall(of_spark, pom, re.DOTALL))

    assert releases == {pinned.removeprefix("pyspark==")}


@pytest.mark.parametrize(
    "name", ["requirements.lock", "requirements-lake.lock", "requirements-dev.lock"]
)
def test_a_lock_names_no_address(name: str) -> None:
    assert "://" not in (ROOT / name).read_text()


def test_every_distribution_is_installed_by_make_setup() -> None:
    makefile = (ROOT / "Makefile").read_text()
    members = re.search(r"^MEMBERS := (.*)$", makefile, re.MULTILINE)
    names = re.search(r"^NAMES := (.*)$", makefile, re.MULTILINE)
    assert members
    assert names

    folders = {str(path.parent.relative_to(ROOT)) for path in PROJECTS}
    assert set(members[1].split()) == folders
    ours = {tomllib.loads(path.read_text())["project"]["name"] for path in PROJECTS}
    assert set(names[1].split()) == ours
