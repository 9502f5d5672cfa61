"""`korvet lake` where Spark is not installed."""

import subprocess
import sys

# As the import system has it of a package that is not there.
WITHOUT_SPARK = """
import sys
sys.modules["pyspark"] = None
from korvet.cli.__main__ import main
main()
"""


def run(*arguments: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-c", WITHOUT_SPARK, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_every_command_of_the_lake_says_in_one_line_how_to_get_spark() -> None:
    listed = run("lake", "--help")
    assert listed.returncode == 0, listed.stderr
    for name in ("archive", "verify"):
        assert name in listed.stdout
        ended = run("lake", name, "--lake", "nowhere", "--topics", "orders")

        assert ended.returncode == 1
        (line,) = ended.stderr.splitlines()
        assert "pip install 'korvet[lake]'" in line


def test_other_commands_do_not_need_it() -> None:
    assert run("topics", "--help").returncode == 0
