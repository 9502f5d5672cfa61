"""franz-go's own tests against Korvet: `compat/franz-go/run`, or `make compat`.

The suite comes from the Go module that `franz-go/go.mod` pins, and Go checks it against
`franz-go/go.sum`. Every Korvet is a fresh one in a temporary folder; nothing is written
into this repository.
"""

import argparse
import itertools
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from compat.suite import Results, Verdict, broker_tests, findings, judge, must_pass, results
from tests.support.up_process import UpProcess, clean_environ

FOLDER: Final = Path(__file__).parent / "franz-go"
MODULE: Final = "github.com/twmb/franz-go"
PACKAGE: Final = f"{MODULE}/pkg/kgo"

ENCODINGS: Final = ("dense", "time")
FORMATS: Final = ("batch", "record")
# Enough that members still join and leave while records flow.
RECORDS: Final = 50_000
# For Go to end a suite that hangs, and say where it does.
DEADLINE: Final = "10m"
OUTPUT_SHOWN: Final = 3000


def main(arguments: Sequence[str]) -> int:
    asked = _parse(arguments)
    tests = broker_tests(path.read_text() for path in _sources())
    if asked.run:
        tests = {name for name in tests if re.search(asked.run, name)}
    good = True
    for encoding, form in itertools.product(asked.encoding, asked.format):
        settings = {"offset.encoding": encoding, "storage.format": form}
        found, server = _run_suite(tests, settings, asked.records, asked.log)
        required = must_pass(_read("must-pass.txt"), {encoding, form})
        verdict = judge(
            found.outcomes,
            {name for name in required if name.partition("/")[0] in tests or not asked.run},
            findings(_read("FINDINGS.md")),
        )
        _report(f"{encoding} offsets, {form} format", found, verdict)
        if not verdict.good:
            print(f"--- korvet up, the end of its output:\n{server[-OUTPUT_SHOWN:]}")
        good = good and verdict.good
    return 0 if good else 1


def _parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Run franz-go's own tests against Korvet.")
    parser.add_argument("--encoding", nargs="+", choices=ENCODINGS, default=ENCODINGS)
    parser.add_argument("--format", nargs="+", choices=FORMATS, default=FORMATS)
    parser.add_argument("--records", type=int, default=RECORDS, help="for each ETL test")
    parser.add_argument("--run", metavar="REGEX", help="only tests with such names")
    parser.add_argument(
        "--log", choices=("none", "info", "debug"), default="none", help="the client's log"
    )
    return parser.parse_args(arguments)


def _read(name: str) -> str:
    return (FOLDER / name).read_text()


def _sources() -> list[Path]:
    _go("mod", "download")
    module = Path(_go("list", "-m", "-f", "{{.Dir}}", MODULE).strip())
    return sorted((module / "pkg" / "kgo").glob("*_test.go"))


def _go(*arguments: str) -> str:
    done = subprocess.run(
        ["go", *arguments], cwd=FOLDER, stdout=subprocess.PIPE, text=True, check=True
    )
    return done.stdout


def _run_suite(
    tests: set[str], settings: dict[str, str], records: int, log_level: str
) -> tuple[Results, str]:
    """What the tests say, and what `korvet up` had to say."""
    options = itertools.chain(*(("--set", f"{k}={v}") for k, v in settings.items()))
    with (
        tempfile.TemporaryDirectory(prefix="korvet-franz-go-") as data,
        UpProcess(Path(data), *options) as up,
    ):
        suite = subprocess.run(
            [
                *("go", "test", "-mod=readonly", "-json", "-count=1"),
                *("-timeout", DEADLINE),
                *("-run", f"^({'|'.join(sorted(tests))})$"),
                PACKAGE,
            ],
            cwd=FOLDER,
            env=clean_environ(_suite_environ(up.bootstrap, records, log_level)),
            stdout=subprocess.PIPE,
            text=True,
            check=False,
        )
    return results(suite.stdout.splitlines()), up.output


def _suite_environ(bootstrap: str, records: int, log_level: str) -> dict[str, str]:
    # No word in an environment stands for the client's level "info": it is the default.
    level = {} if log_level == "info" else {"KGO_LOG_LEVEL": log_level}
    return {
        "KGO_SEEDS": bootstrap,
        "KGO_TEST_RF": "1",
        "KGO_TEST_RECORDS": str(records),
        **level,
    }


def _report(title: str, found: Results, verdict: Verdict) -> None:
    print(f"franz-go on {title}: {'good' if verdict.good else 'NOT GOOD'}")
    for name, outcome in sorted(verdict.broken.items()):
        print(f"  must pass: {name}: {outcome}")
    for name in sorted(verdict.unexplained):
        print(f"  not explained in FINDINGS.md: {name}: {found.outcomes[name]}")
    for name in sorted(verdict.new):
        print(f"  passes, and is not in must-pass.txt: {name}")
    if verdict.good:
        return
    for name in ("", *sorted(verdict.broken.keys() | verdict.unexplained)):
        if output := found.outputs.get(name):
            print(f"--- {name or 'the suite'}, the end of its output:")
            print(output[-OUTPUT_SHOWN:])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
