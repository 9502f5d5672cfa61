"""Transactional ids in Redis (`owned_store`)."""

from dataclasses import replace

from korvet.coordinator.owned_store import OwnedStore, now_ms
from korvet.coordinator.owner import Owner
from korvet.coordinator.transaction import Transaction
from korvet.coordinator.transaction_codec import StoredTransaction, decode, encode


class TransactionStore(OwnedStore[StoredTransaction]):
    @property
    def _names(self) -> str:
        return self._keys.transactional_ids

    def _key(self, name: str) -> str:
        return self._keys.transaction(name)

    def _new(self, name: str, owner: Owner) -> StoredTransaction:
        new = Transaction(transactional_id=name, updated_ms=now_ms())
        return StoredTransaction(transaction=new, owner=owner, version=1)

    def _encode(self, stored: StoredTransaction) -> bytes:
        return encode(stored)

    def _decode(self, name: str, value: bytes) -> StoredTransaction:
        return decode(name, value)

    async def save(
        self, stored: StoredTransaction, transaction: Transaction
    ) -> StoredTransaction:
        """Save the next state; NotOwnerError where it is not ours any more."""
        wanted = replace(stored, transaction=transaction, version=stored.version + 1)
        return await self._keep(stored, wanted)
