"""A Redis that comes back without what it wrote last, as after a crash without fsync."""

import shutil
from pathlib import Path

from tests.support.korvet_process import KorvetCluster


class RedisCopy:
    """Redis's files as they are now, for putting them back later."""

    def __init__(self, korvet: KorvetCluster, folder: Path) -> None:
        self._redis = korvet.redis
        self._files = korvet.redis.log_file.parent
        self._copy = folder / "copy"
        # Every write is on disk before it is answered, and nobody writes now.
        shutil.copytree(self._files, self._copy)

    def restore(self) -> None:
        """Crash Redis, and bring it back as it was then."""
        self._redis.kill()
        shutil.rmtree(self._files)
        shutil.copytree(self._copy, self._files)
        self._redis.start()
