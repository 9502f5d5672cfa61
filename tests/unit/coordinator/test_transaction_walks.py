"""Random walks through a transactional id's life: whatever happens, some things hold."""

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from korvet.coordinator.transaction import (
    MAX_EPOCH,
    NO_PRODUCER,
    TRANSITIONS,
    Partition,
    Producer,
    State,
    Transaction,
)
from korvet.kafka.errors import ErrorCode
from tests.support.transaction_harness import TransactionHarness, everybody

PARTITIONS = [Partition("orders", "id", number) for number in range(3)]
GROUPS = ["first", "second"]
# Whose of those that were ever given; mostly the newest.
PICKS = st.sampled_from([0, 0, 0, 0, 1, 1, 2, 3, 5])
FENCING = (ErrorCode.PRODUCER_FENCED, ErrorCode.INVALID_PRODUCER_ID_MAPPING)


class WatchedTransaction(TransactionHarness):
    """Looks at each single step."""

    def watch(self, before: Transaction) -> None:
        after = self.transaction
        if after == before:
            return
        assert after.state in TRANSITIONS[before.state]
        assert after.number - before.number in (0, 1)
        has_begun = not before.is_open and after.is_open
        assert (after.number > before.number) is has_begun
        self._check_producer(before, after)
        if before.is_prepared:
            assert after.is_commit is before.is_commit
            assert not list(everybody(after))
        if before.state is State.ONGOING:
            assert before.partitions <= after.partitions
            assert before.groups <= after.groups
            assert before.started_ms == after.started_ms
        assert after.is_open or not list(everybody(after))
        assert after.is_open is (after.started_ms >= 0)
        assert after.updated_ms >= before.updated_ms

    @staticmethod
    def _check_producer(before: Transaction, after: Transaction) -> None:
        assert after.producer != NO_PRODUCER
        assert 0 <= after.producer.epoch <= MAX_EPOCH + 1
        if after.producer.producer_id == before.producer.producer_id:
            assert after.producer.epoch >= before.producer.epoch
        else:
            assert after.producer.epoch == 0
            assert after.producer.producer_id > before.producer.producer_id
            assert before.producer == NO_PRODUCER or before.producer.epoch >= MAX_EPOCH


class TransactionWalk(RuleBasedStateMachine):
    @initialize(first_epoch=st.sampled_from([0, 0, MAX_EPOCH - 2, MAX_EPOCH - 1]))
    def begin(self, first_epoch: int) -> None:
        self.harness = WatchedTransaction()
        # In the order in which they were given away.
        self.given: list[Producer] = []
        # Who may be fenced for good: another one was given an id without expecting one.
        self.fenced: set[Producer] = set()
        self.decided: dict[int, bool] = {}
        producer = self.harness.init()
        self.was_given(producer)
        if first_epoch:
            # The way there is long.
            at = Producer(self.harness.producer.producer_id, first_epoch)
            self.harness._keep(_with_producer(self.harness.transaction, at))
            self.was_given(at)

    def was_given(self, answer: Producer | ErrorCode) -> None:
        if isinstance(answer, Producer) and (not self.given or self.given[-1] != answer):
            self.given.append(answer)

    def pick(self, pick: int) -> Producer:
        return self.given[max(0, len(self.given) - 1 - pick)]

    def noticed(self, producer: Producer, answer: object) -> None:
        """A producer that was fenced succeeds with nothing."""
        if producer in self.fenced:
            assert answer in (*FENCING, ErrorCode.CONCURRENT_TRANSACTIONS), answer

    @rule()
    def init(self) -> None:
        answer = self.harness.init()
        if isinstance(answer, Producer):
            self.fenced.update(self.given)
            assert answer not in self.fenced
            self.was_given(answer)

    @rule(pick=PICKS)
    def init_again(self, pick: int) -> None:
        producer = self.pick(pick)
        answer = self.harness.init(producer)
        self.noticed(producer, answer)
        self.was_given(answer)

    @rule(pick=PICKS, partitions=st.sets(st.sampled_from(PARTITIONS)))
    def add(self, pick: int, partitions: set[Partition]) -> None:
        producer = self.pick(pick)
        answer = self.harness.add(producer, *partitions)
        self.noticed(producer, answer)
        if answer is ErrorCode.NONE:
            assert producer == self.harness.producer
            assert partitions <= self.harness.transaction.partitions

    @rule(pick=PICKS, group_id=st.sampled_from(GROUPS))
    def add_group(self, pick: int, group_id: str) -> None:
        producer = self.pick(pick)
        self.noticed(producer, self.harness.add_group(producer, group_id))

    @rule(pick=PICKS, is_commit=st.booleans(), bumps_epoch=st.booleans())
    def end(self, pick: int, is_commit: bool, bumps_epoch: bool) -> None:
        producer, before = self.pick(pick), self.harness.transaction
        answer = self.harness.end(producer, is_commit=is_commit, bumps_epoch=bumps_epoch)
        self.noticed(producer, answer)
        if isinstance(answer, Producer):
            if before.state is State.ONGOING:
                assert self.decided.setdefault(before.number, is_commit) is is_commit
            elif is_commit:
                assert before.state is State.COMPLETE_COMMIT
            self.was_given(answer)

    @rule()
    def abort_from_outside(self) -> None:
        if self.harness.abort() is ErrorCode.NONE:
            self.fenced.update(self.given)

    @rule(milliseconds=st.sampled_from([0, 1, 1000, 59_999, 60_000, 1 << 40]))
    def time(self, milliseconds: int) -> None:
        before = self.harness.transaction
        self.harness.advance(milliseconds)
        if before.state is State.ONGOING and self.harness.state is not State.ONGOING:
            self.fenced.update(self.given)

    @rule(completes=st.booleans())
    def participants(self, completes: bool) -> None:
        """They answer, or nobody can reach them."""
        self.harness.completes = completes
        if completes and self.harness.transaction.is_prepared:
            self.harness.complete()

    @rule()
    def take_over(self) -> None:
        self.harness.take_over()

    @invariant()
    def whoever_took_part_heard_once_and_the_same(self) -> None:
        outcomes: dict[int, set[bool]] = {}
        for told in self.harness.ended.values():
            numbers = [each.number for each in told]
            assert numbers == sorted(set(numbers))
            for each in told:
                outcomes.setdefault(each.number, set()).add(each.is_commit)
        for number, outcome in outcomes.items():
            # What nobody decided was aborted.
            assert outcome == {self.decided.get(number, False)}

    @invariant()
    def all_that_is_registered_is_ended_or_known_to_be_open(self) -> None:
        transaction = self.harness.transaction
        taking_part = set(everybody(transaction))
        for each, numbers in self.harness.registered.items():
            ended = {told.number for told in self.harness.ended[each]}
            assert numbers - ended <= {transaction.number}
            assert numbers <= ended or each in taking_part


def _with_producer(transaction: Transaction, producer: Producer) -> Transaction:
    return Transaction(
        transactional_id=transaction.transactional_id,
        producer=producer,
        timeout_ms=transaction.timeout_ms,
        updated_ms=transaction.updated_ms,
    )


TestTransactionWalk = TransactionWalk.TestCase
TestTransactionWalk.settings = settings(
    max_examples=300, stateful_step_count=40, deadline=None
)
