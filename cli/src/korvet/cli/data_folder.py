"""The folder in which one `korvet up` keeps its data and its sockets.

    lock       held (flock) by the one `up` that uses the folder; says which
    redis/     the embedded Redis's append-only files
    run/       unix sockets; elsewhere where this path is too long for a socket's address

A lock outlives no process, so that nothing has to be cleaned up after a crash.
"""

import contextlib
import fcntl
import hashlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final, TextIO

from korvet.cli.failure import Failure

# Linux allows 107 bytes, macOS 103; the longest socket name of ours takes about 20.
_LONGEST_RUN_PATH: Final = 80


class DataFolder:
    """A data folder that is ours for as long as the context `claimed` lasts."""

    def __init__(self, path: Path, lock: TextIO) -> None:
        self.path = path
        self._lock = lock

    @classmethod
    @contextlib.contextmanager
    def claimed(cls, path: Path) -> Iterator["DataFolder"]:
        """Create the folder where needed and lock it; refuse one that another `up` has."""
        path = path.absolute()
        try:
            path.mkdir(parents=True, exist_ok=True)
            if not (path / "lock").exists() and any(path.iterdir()):
                raise Failure(
                    f"{path} is not empty, and no data folder of Korvet's.",
                    "Choose a new or an empty folder with --data.",
                )
            lock = (path / "lock").open("a+")
        except OSError as error:
            raise Failure(
                f"Cannot use the data folder {path}: {error.strerror}.",
                "Choose another one with --data.",
            ) from error
        with lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                lock.seek(0)
                holder = lock.read().strip() or "another `korvet up`"
                raise Failure(
                    f"The data folder {path} is in use by {holder}.",
                    "Stop that one, or choose another folder with --data"
                    " (and other ports: --port, --storage-port, --coordinator-port).",
                ) from None
            yield cls(path, lock)
            lock.truncate(0)

    def say_who_holds_it(self, description: str) -> None:
        """What a second `up` on this folder is told."""
        self._lock.seek(0)
        self._lock.truncate()
        self._lock.write(description)
        self._lock.flush()

    @property
    def redis(self) -> Path:
        folder = self.path / "redis"
        folder.mkdir(exist_ok=True)
        return folder

    def sockets(self) -> Path:
        """A folder for unix sockets, only ours, with a path short enough for them."""
        folder = self.path / "run"
        if len(os.fsencode(folder)) > _LONGEST_RUN_PATH:
            digest = hashlib.sha256(os.fsencode(self.path)).hexdigest()[:12]
            folder = Path(tempfile.gettempdir()) / f"korvet-{os.getuid()}-{digest}"
        folder.mkdir(mode=0o700, exist_ok=True)
        if folder.stat().st_uid != os.getuid():
            raise Failure(f"{folder} belongs to another user.", "Remove it, and try again.")
        folder.chmod(0o700)
        return folder
