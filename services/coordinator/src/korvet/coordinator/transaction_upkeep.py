"""What becomes of transactions that nobody asks for: those whose coordinator has died go on
here, to the end that was decided or to their time-out, and idle transactional ids expire.
"""

import asyncio
import contextlib
import logging
from typing import Final

from korvet.coordinator.owned_store import NotOwnerError, now_ms
from korvet.coordinator.refusals import REDIS_IS_AWAY
from korvet.coordinator.registration import Registration
from korvet.coordinator.transaction_codec import StoredTransaction
from korvet.coordinator.transaction_rules import is_done_with
from korvet.coordinator.transaction_store import TransactionStore
from korvet.coordinator.transactions import Transactions
from korvet.kafka.errors import KafkaError

log = logging.getLogger(__name__)

_INTERVAL_SECONDS: Final = 10.0
_RETRY_SECONDS: Final = 1.0


class TransactionUpkeep:
    def __init__(
        self,
        transactions: Transactions,
        store: TransactionStore,
        registration: Registration,
        *,
        retention: float,
    ) -> None:
        self._transactions = transactions
        self._store = store
        self._registration = registration
        self._retention_ms = round(retention * 1000)
        self._wanted = asyncio.Event()
        registration.subscribe_to_others(self._wanted.set)
        # With the next registration all is claimed anew.
        registration.subscribe(self._wanted.set)
        transactions.subscribe_to_orphans(self._look_soon)

    def _look_soon(self) -> None:
        # Not at once: what has failed just now may fail again.
        asyncio.get_running_loop().call_later(_RETRY_SECONDS, self._wanted.set)

    async def run(self) -> None:
        while True:
            delay = _INTERVAL_SECONDS
            self._wanted.clear()
            try:
                await self._registration.registered()
                await self._look_after_all()
            except REDIS_IS_AWAY as error:
                log.debug("transactions are looked after later: %s", error)
                delay = _RETRY_SECONDS
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(delay):
                    await self._wanted.wait()

    async def _look_after_all(self) -> None:
        live = await self._store.live_coordinators()
        async for names in self._store.pages_of_names():
            async for name, stored in self._store.load_each(names):
                if stored is None:
                    await self._store.forget_name(name)
                elif isinstance(stored, StoredTransaction) and (
                    live.get(stored.owner.address) != stored.owner.incarnation
                    or stored.owner.incarnation == self._registration.incarnation
                ):
                    await self._look_after(stored)
        self._transactions.forget_idle()

    async def _look_after(self, stored: StoredTransaction) -> None:
        """Of one that is ours, or nobody's."""
        transaction = stored.transaction
        is_old = is_done_with(transaction, retention_ms=self._retention_ms, now_ms=now_ms())
        if not transaction.is_open and not is_old:
            return
        try:
            actor = await self._transactions.claim(stored.name)
            if is_old:
                await actor.delete_if_done_with(self._retention_ms)
                log.info("transactional id %s has expired", stored.name)
        except (NotOwnerError, KafkaError) as error:
            # Another one was quicker, and looks after it.
            log.debug("transactional id %s is left alone: %r", stored.name, error)
