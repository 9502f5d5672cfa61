"""PURE: a transactional id's state <-> the value of its key.

The first line says who owns it (`owner`), the rest is the state as JSON.
"""

import json
from dataclasses import dataclass
from typing import Final

from korvet.coordinator.owner import Owner, head_line, parse_head
from korvet.coordinator.transaction import Partition, Producer, State, Transaction

TRANSACTION: Final = "transaction"


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredTransaction:
    transaction: Transaction
    owner: Owner
    # Grows with each save of one owner.
    version: int

    @property
    def name(self) -> str:
        return self.transaction.transactional_id

    @property
    def head(self) -> str:
        """The first line, by which a save knows that nobody else has saved."""
        return head_line(TRANSACTION, self.owner, self.version)


def encode(stored: StoredTransaction) -> bytes:
    transaction = stored.transaction
    body = {
        "state": transaction.state,
        "producer": transaction.producer,
        "lastProducer": transaction.last_producer,
        "nextProducerId": transaction.next_producer_id,
        "number": transaction.number,
        "timeoutMs": transaction.timeout_ms,
        "startedMs": transaction.started_ms,
        "updatedMs": transaction.updated_ms,
        "partitions": sorted(transaction.partitions),
        "groups": sorted(transaction.groups),
    }
    return f"{stored.head}\n{json.dumps(body, separators=(',', ':'))}".encode()


def decode(transactional_id: str, value: bytes) -> StoredTransaction:
    """Raises ValueError where this is no transactional id's value."""
    line, _, text = value.partition(b"\n")
    try:
        head = parse_head(line.decode())
        if head.kind != TRANSACTION:
            raise ValueError(f"a value of kind {head.kind}")
        body = json.loads(text)
        return StoredTransaction(
            transaction=Transaction(
                transactional_id=transactional_id,
                producer=Producer(*body["producer"]),
                last_producer=Producer(*body["lastProducer"]),
                next_producer_id=body["nextProducerId"],
                number=body["number"],
                state=State(body["state"]),
                timeout_ms=body["timeoutMs"],
                partitions=frozenset(Partition(*each) for each in body["partitions"]),
                groups=frozenset(body["groups"]),
                started_ms=body["startedMs"],
                updated_ms=body["updatedMs"],
            ),
            owner=head.owner,
            version=head.version,
        )
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(
            f"the state of transactional id {transactional_id!r} cannot be read: {error}"
        ) from error
