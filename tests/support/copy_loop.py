"""Consume, transform, produce, in transactions, while a test breaks things.

    with ConfluentCopyLoop(bootstrap, routes, ends, seed=1) as loop:
        loop.wait_for_commits(5)
        korvet.coordinators[0].restart()
    loop.history.check()

Whatever a client hands to its user is answered as its documentation says: abort where that
is enough, else a new producer; and then read on from where the group has committed. Some
transactions are aborted for no reason. Leaving the block waits until everything is copied.
A copy is what was read, and behind it the number of the attempt.
"""

import random
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Final, Self

from tests.support.history import Partition
from tests.support.traffic import PATIENCE
from tests.support.transaction_history import Outcome, Transaction, TransactionHistory

# Records of a transaction while things break, and to get done with the rest.
_FEW: Final = 5
_MANY: Final = 500
_ABORTED_SHARE: Final = 0.2
# Between transactions, so that the input lasts for as long as things break.
_PAUSE: Final = 0.01


class CopyLoop(ABC):
    """`routes` says what is copied where; `ends` is what comes after each one's last."""

    def __init__(
        self,
        bootstrap: str,
        routes: Mapping[Partition, Partition],
        ends: Mapping[Partition, int],
        *,
        name: str,
        seed: int,
    ) -> None:
        self.history = TransactionHistory()
        # Of the group, and the transactional id.
        self.name = name
        self._bootstrap = bootstrap
        self._routes = routes
        self._ends = ends
        self._random = random.Random(seed)
        self._attempts = 0
        # Where the group has certainly come to.
        self._positions: dict[Partition, int] = {}
        self._is_hurried = threading.Event()
        self._is_given_up = threading.Event()
        self._crashes: list[BaseException] = []
        self._thread = threading.Thread(target=self._guarded, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._is_hurried.set()
        if kind is not None:
            self._is_given_up.set()
        self._thread.join(PATIENCE)
        is_stuck = self._thread.is_alive()
        self._is_given_up.set()
        if kind is None and self._crashes:
            raise self._crashes[0]
        if kind is None and is_stuck:
            raise TimeoutError(f"not copied in {PATIENCE} s\n{self}")

    def __str__(self) -> str:
        outcomes = {each.name: self.history.count(each) for each in Outcome}
        return f"{outcomes}, {self._positions} of {self._ends}"

    def wait_for_commits(self, count: int) -> None:
        """Wait until so many more transactions are committed."""
        goal = self.history.count(Outcome.COMMITTED) + count
        deadline = time.monotonic() + PATIENCE
        while self.history.count(Outcome.COMMITTED) < goal:
            if self._crashes:
                raise self._crashes[0]
            assert not self._is_done(), "everything is copied already"
            if time.monotonic() > deadline:
                raise TimeoutError(f"no {count} commits in {PATIENCE} s\n{self}")
            time.sleep(0.005)

    def _guarded(self) -> None:
        try:
            self._run()
        except BaseException as error:  # noqa: BLE001 - the test's thread raises it again
            self._crashes.append(error)

    @abstractmethod
    def _run(self) -> None:
        """Copy until `_is_over`."""

    # ------------------------------------------------------------ for every client

    def _is_done(self) -> bool:
        return all(self._positions.get(each, -1) >= end for each, end in self._ends.items())

    def _is_over(self) -> bool:
        return self._is_given_up.is_set() or self._is_done()

    def _batch_size(self) -> int:
        return _MANY if self._is_hurried.is_set() else _FEW

    def _pause(self) -> float:
        return 0.0 if self._is_hurried.is_set() else _PAUSE

    def _is_to_be_aborted(self) -> bool:
        return self._random.random() < _ABORTED_SHARE

    def _begin(self) -> Transaction:
        self._attempts += 1
        return self.history.begin(self.name)

    def _copy(self, transaction: Transaction, source: Partition, value: bytes) -> bytes:
        """What is to be written for a record."""
        copied = b"%s in attempt %d" % (value, self._attempts)
        transaction.write(self._routes[source], copied)
        return copied

    def _committed(self, positions: Mapping[Partition, int]) -> None:
        """The group is told to have committed these."""
        self._positions.update(positions)
        for partition, offset in positions.items():
            self.history.group_offset(self.name, partition, offset)
