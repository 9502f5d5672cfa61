"""The jars that Spark needs beside its own: pom.xml lists them, Maven fetches them once.

They are kept in the user's cache, in a folder named after the list, so that every checkout
and every environment shares them. `python -m korvet.pipeline.jars` fetches them ahead.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from korvet.pipeline.failure import LakeError

POM: Final = Path(__file__).with_name("pom.xml")
# Seconds; Maven itself waits much longer for a network that is not there.
_PATIENCE: Final = 600


def jars(cache: Path | None = None) -> list[Path]:
    """The paths of all jars, after fetching them if they are not there yet."""
    folder = (cache or default_cache()) / f"spark-jars-{_fingerprint()}"
    if not folder.is_dir():
        _fetch(folder)
    return sorted(folder.glob("*.jar"))


def default_cache() -> Path:
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home) / "korvet"


def _fingerprint() -> str:
    return hashlib.sha256(POM.read_bytes()).hexdigest()[:12]


def _fetch(folder: Path) -> None:
    if shutil.which("mvn") is None:
        raise LakeError(
            "Spark needs jars beside its own, and Maven (mvn) is not here to fetch them.",
            f"Install Maven, or put the jars that {POM} lists into {folder}.",
        )
    folder.parent.mkdir(parents=True, exist_ok=True)
    # Renamed when it is complete: half a download is not taken for the whole, and of two
    # that fetch at a time one wins.
    with tempfile.TemporaryDirectory(dir=folder.parent) as unfinished:
        destination = Path(unfinished) / "jars"
        _run_maven(["dependency:copy-dependencies", f"-DoutputDirectory={destination}"])
        try:
            destination.rename(folder)
        except OSError:
            if not folder.is_dir():
                raise


def _run_maven(goals: Sequence[str]) -> None:
    command = ["mvn", "-q", "-B", "-Dstyle.color=never", "-f", str(POM), *goals]
    try:
        done = subprocess.run(  # noqa: S603
            command, capture_output=True, text=True, timeout=_PATIENCE, check=False
        )
    except subprocess.TimeoutExpired:
        raise LakeError(f"Maven took longer than {_PATIENCE} s.", "Try again.") from None
    if done.returncode:
        said = [line for line in done.stdout.splitlines() if "ERROR" in line]
        raise LakeError(
            f"Maven could not fetch Spark's jars: {said[0] if said else done.stderr}",
            "It needs a network once; after that they are in the cache.",
        )


if __name__ == "__main__":
    sys.stdout.write("".join(f"{jar}\n" for jar in jars()))
