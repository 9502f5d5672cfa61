"""The `korvet` command on a cluster, which it finds through its environment."""

import json
import subprocess
import sys
from typing import Any

from tests.support.korvet_process import KorvetCluster
from tests.support.up_process import Ended, clean_environ, korvet


class Shell:
    def __init__(self, cluster: KorvetCluster) -> None:
        self.environ = {
            "KORVET_BOOTSTRAP": cluster.bootstrap,
            "KORVET_STORAGE": cluster.storage,
            "KORVET_COORDINATOR": cluster.coordinator,
        }

    def __call__(self, *arguments: str, stdin: bytes = b"") -> Ended:
        """Run a command to its end."""
        return korvet(*arguments, stdin=stdin, environ=self.environ)

    def json(self, *arguments: str, stdin: bytes = b"") -> Any:
        """What a command answers with `--json`."""
        ended = self(*arguments, "--json", stdin=stdin)
        assert ended.code == 0, ended.err
        return json.loads(ended.out)

    def start(
        self,
        *arguments: str,
        stdin: int | None = None,
        stdout: int = subprocess.PIPE,
        stderr: int = subprocess.PIPE,
    ) -> "subprocess.Popen[bytes]":
        """Start a command that goes on for a while."""
        return subprocess.Popen(
            [sys.executable, "-m", "korvet.cli", *arguments],
            env={**clean_environ(self.environ), "TERM": "xterm-256color"},
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
        )
