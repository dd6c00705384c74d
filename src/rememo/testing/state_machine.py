"""A state machine: anything that can happen to a memory, in any order, against a plain Python model."""

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from itertools import count, pairwise
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from rememo.errors import AlreadyExists, NotFound
from rememo.memory import Memory
from rememo.model.receipt import Receipt
from rememo.model.record import Record
from rememo.testing.base import OpenMemory, Suite
from rememo.testing.clock import ManualClock

TENANTS = ("acme", "umbrella")
# Mostly one of them, so that its writes pile up; the other shows that nothing crosses the wall.
A_TENANT = st.sampled_from([TENANTS[0]] * 3 + [TENANTS[1]])
USERS = (None, "alice", "bob")
# Few, so that lives of one id meet: made, ended, made again, rolled back.
IDS = ("a", "b")
# Words without a common stem or a near spelling, so that each is found by itself alone.
WORDS = ("aquarium", "bicycle", "cathedral", "dolphin")
# Each id says something of its own too: hits that say the same may be folded into one.
OWN_WORDS = {"a": "lighthouse", "b": "windmill"}

_stores = count()


def record_text(id: str, word: str) -> str:
    """Return the text of a record."""
    return f"{word} {OWN_WORDS[id]}"


@dataclass(frozen=True)
class ExpectedRecord:
    """What the model knows of one record."""

    id: str
    version: int
    text: str
    user: str | None
    created_at: datetime
    expires_at: datetime | None
    metadata: dict[str, Any] = field(default_factory=dict[str, Any])

    def visible(self, at: datetime) -> bool:
        """Whether it has not expired then."""
        return self.expires_at is None or self.expires_at > at


@dataclass
class ExpectedTenant:
    """One tenant as it should be."""

    records: dict[str, ExpectedRecord] = field(default_factory=dict[str, ExpectedRecord])
    """Open versions, expired ones included."""
    last_version: dict[str, int] = field(default_factory=dict[str, int])
    past: list[tuple[datetime, dict[str, ExpectedRecord]]] = field(
        default_factory=list[tuple[datetime, dict[str, ExpectedRecord]]]
    )
    """The state after each write, with its system time."""
    snapshots: dict[str, datetime] = field(default_factory=dict[str, datetime])
    undoable: Receipt | None = None

    def at(self, time: datetime) -> dict[str, ExpectedRecord]:
        """Return what was known then."""
        state: dict[str, ExpectedRecord] = {}
        for when, then in self.past:
            if when <= time:
                state = then
        return {id: record for id, record in state.items() if record.visible(time)}


class MemoryMachine(RuleBasedStateMachine):
    """Adds, updates, deletes, expires, batches, undoes, snapshots, rolls back, sweeps and reopens."""

    open_memory: OpenMemory
    clock: ManualClock
    reopens: bool

    @initialize()
    def open(self) -> None:
        self.name = f"machine-{next(_stores)}"
        self.memory = self.open_memory(self.name)
        self.models = {tenant: ExpectedTenant() for tenant in TENANTS}
        self.names = count()

    def teardown(self) -> None:
        if hasattr(self, "memory"):
            self.memory.close()

    def _view(self, tenant: str, user: str | None = None) -> Memory:
        return self.memory.scope(tenant=tenant, user=user)

    def _now(self, tenant: str) -> datetime:
        """Return the moment a write would happen: system time never stands still and never goes back."""
        past = self.models[tenant].past
        return max([self.clock(), *(when for when, _ in past[-1:])])

    def _live(self, tenant: str) -> dict[str, ExpectedRecord]:
        now = self._now(tenant)
        return {id: record for id, record in self.models[tenant].records.items() if record.visible(now)}

    def _wrote(self, tenant: str, receipt: Receipt, *, undoable: bool = True) -> datetime:
        model = self.models[tenant]
        assert receipt.recorded_at is not None
        if model.past:
            assert receipt.recorded_at > model.past[-1][0]
        model.past.append((receipt.recorded_at, deepcopy(model.records)))
        model.undoable = receipt if undoable else None
        return receipt.recorded_at

    def _opened(self, tenant: str, id: str, text: str, user: str | None, receipt: Receipt, **more: Any) -> None:
        model = self.models[tenant]
        version = model.last_version.get(id, 0) + 1
        assert receipt.versions[id] == version
        model.last_version[id] = version
        assert receipt.recorded_at is not None
        created_at = more.pop("created_at", receipt.recorded_at)
        model.records[id] = ExpectedRecord(id, version, text, user, created_at, more.pop("expires_at", None), **more)

    # ---- rules

    @rule(
        tenant=A_TENANT, user=st.sampled_from(USERS), id=st.sampled_from(IDS),
        word=st.sampled_from(WORDS), ttl=st.sampled_from([None, None, 30, 300]), number=st.integers(0, 3),
    )  # fmt: skip
    def add(self, *, tenant: str, user: str | None, id: str, word: str, ttl: int | None, number: int) -> None:
        view = self._view(tenant, user)
        if id in self._live(tenant):
            with pytest.raises(AlreadyExists):
                view.add(word, id=id)
            return
        expires_at = None if ttl is None else self.clock() + timedelta(seconds=ttl)
        receipt = view.add(record_text(id, word), id=id, ttl=ttl, metadata={"n": number})
        assert receipt.outcome == "added"
        self._opened(tenant, id, record_text(id, word), user, receipt, expires_at=expires_at, metadata={"n": number})
        self._wrote(tenant, receipt)

    @rule(
        tenant=A_TENANT,
        user=st.sampled_from(USERS),
        id=st.sampled_from(IDS),
        word=st.sampled_from(WORDS),
    )
    def update(self, tenant: str, user: str | None, id: str, word: str) -> None:
        view, expected = self._view(tenant, user), self._live(tenant).get(id)
        if expected is None or user not in (None, expected.user):
            with pytest.raises(NotFound):
                view.update(id, text=word)
            return
        receipt = view.update(id, text=record_text(id, word))
        self._revised(tenant, expected, receipt, text=record_text(id, word))
        self._wrote(tenant, receipt)

    def _revised(self, tenant: str, expected_record: ExpectedRecord, receipt: Receipt, **changes: Any) -> None:
        model = self.models[tenant]
        version = model.last_version[expected_record.id] + 1
        assert receipt.versions[expected_record.id] == version
        model.last_version[expected_record.id] = version
        model.records[expected_record.id] = replace(expected_record, version=version, **changes)

    @rule(tenant=A_TENANT, user=st.sampled_from(USERS), id=st.sampled_from(IDS))
    def delete(self, tenant: str, user: str | None, id: str) -> None:
        view, expected = self._view(tenant, user), self._live(tenant).get(id)
        if expected is None or user not in (None, expected.user):
            with pytest.raises(NotFound):
                view.delete(id)
            return
        receipt = view.delete(id)
        del self.models[tenant].records[id]
        self._wrote(tenant, receipt)

    @rule(tenant=A_TENANT, user=st.sampled_from(USERS), number=st.integers(0, 3))
    def delete_where(self, tenant: str, user: str | None, number: int) -> None:
        doomed = [
            id
            for id, record in self._live(tenant).items()
            if user in (None, record.user) and record.metadata["n"] == number
        ]
        deleted_at = self._now(tenant)
        assert self._view(tenant, user).delete_where(metadata={"n": number}) == len(doomed)
        for id in doomed:
            del self.models[tenant].records[id]
        # No receipt tells its moment; a snapshot right after it does.
        self._snapshot(tenant)
        assert self.models[tenant].past[-1][0] >= deleted_at

    @rule(
        tenant=A_TENANT,
        words=st.lists(st.sampled_from(WORDS), min_size=1, max_size=2),
        fail=st.booleans(),
    )
    def batch(self, tenant: str, words: list[str], fail: bool) -> None:
        view, live = self._view(tenant), self._live(tenant)
        model = self.models[tenant]
        try:
            with view.batch() as batch:
                for id, word in zip(IDS, words, strict=False):
                    if id in live:
                        batch.update(id, text=record_text(id, word))
                    else:
                        batch.add(record_text(id, word), id=id, metadata={"n": 0})
                if fail:
                    _ = 1 / 0
        except ZeroDivisionError:
            return
        assert batch.receipt is not None
        for id, word in zip(IDS, words, strict=False):
            if id in live:
                self._revised(tenant, live[id], batch.receipt, text=record_text(id, word))
            else:
                self._opened(tenant, id, record_text(id, word), None, batch.receipt, metadata={"n": 0})
        self._wrote(tenant, batch.receipt)
        assert set(model.records) >= set(IDS[: len(words)])

    @rule(tenant=A_TENANT)
    def undo(self, tenant: str) -> None:
        model = self.models[tenant]
        receipt = model.undoable
        if receipt is None or len(model.past) < 1:
            return
        assert receipt.recorded_at is not None
        before = model.at(receipt.recorded_at - timedelta(microseconds=1))
        # Only while nothing has come to its end since: reviving what has expired is a matter of its own.
        now = self._now(tenant)
        touched = [id for id in receipt.ids if id in before or id in self.models[tenant].records]
        if any(
            not record.visible(now) for id in touched for record in (before.get(id), model.records.get(id)) if record
        ):
            return
        undone = self._view(tenant).undo(receipt)
        self._went_back(tenant, undone, {id: before.get(id) for id in receipt.ids})

    @rule(tenant=A_TENANT)
    def snapshot(self, tenant: str) -> None:
        self._snapshot(tenant)

    def _snapshot(self, tenant: str) -> None:
        model = self.models[tenant]
        name = f"s{next(self.names)}"
        at = self._view(tenant).snapshot(name)
        model.snapshots[name] = at
        model.past.append((at, deepcopy(model.records)))
        model.undoable = None

    @rule(tenant=A_TENANT, data=st.data())
    def roll_back(self, tenant: str, data: st.DataObject) -> None:
        model = self.models[tenant]
        if not model.snapshots:
            return
        name = data.draw(st.sampled_from(sorted(model.snapshots)))
        now = self._now(tenant)
        then = model.at(model.snapshots[name])
        receipt = self._view(tenant).rollback(name)
        current = {id: record for id, record in model.records.items() if record.visible(now)}
        expected = {
            id: then.get(id)
            for id in {*then, *current}
            if (then[id].version if id in then else None) != (current[id].version if id in current else None)
        }
        # What has expired since may be brought back as it was, expired, or left: it cannot be seen either way.
        self._went_back(tenant, receipt, {id: record for id, record in expected.items() if id in receipt.ids})
        assert {id for id, record in expected.items() if record is None or record.visible(now)} <= set(receipt.ids)

    def _went_back(self, tenant: str, receipt: Receipt, wanted: dict[str, ExpectedRecord | None]) -> None:
        model = self.models[tenant]
        for id, was in wanted.items():
            if id not in receipt.ids:
                assert was is None or was == model.records.get(id)
                continue
            if was is None:
                assert receipt.outcomes[id] == "deleted"
                del model.records[id]
            else:
                assert receipt.outcomes[id] == "restored"
                self._revised(tenant, was, receipt)
        self._wrote(tenant, receipt, undoable=False)

    @rule(seconds=st.sampled_from([0.5, 20, 40, 400]))
    def time_passes(self, seconds: float) -> None:
        self.clock.advance(seconds)

    @rule()
    def maintain(self) -> None:
        self.memory.maintain()
        for tenant, model in self.models.items():
            expired = [id for id, record in model.records.items() if not record.visible(self.clock())]
            for id in expired:
                del model.records[id]
            if expired:
                model.undoable = None
                self._snapshot(tenant)

    @rule()
    def reopen(self) -> None:
        if self.reopens:
            self.memory.close()
            self.memory = self.open_memory(self.name)

    # ---- invariants

    def _agree(self, actual: list[Record], expected: dict[str, ExpectedRecord], tenant: str) -> None:
        assert {
            record.id: (record.version, record.text, record.metadata, record.created_at, record.expires_at)
            for record in actual
        } == {
            record.id: (record.version, record.text, record.metadata, record.created_at, record.expires_at)
            for record in expected.values()
        }
        assert all(record.scope.tenant == tenant for record in actual)

    @invariant()
    def current_state_agrees(self) -> None:
        for tenant, model in self.models.items():
            now = self.clock()
            live = {id: record for id, record in model.records.items() if record.visible(now)}
            for user in USERS:
                view = self._view(tenant, user)
                expected = {id: record for id, record in live.items() if user in (None, record.user)}
                listed = view.list()
                self._agree(listed, expected, tenant)
                assert view.count() == len(expected)
                assert [record.at for record in listed] == sorted(record.at for record in listed)

    @invariant()
    def every_past_moment_agrees(self) -> None:
        for tenant, model in self.models.items():
            view = self._view(tenant)
            chosen = model.past if len(model.past) < 6 else [*model.past[:2], *model.past[-3:]]
            for time, _ in chosen:
                self._agree(view.list(known_at=time), model.at(time), tenant)

    @invariant()
    def versions_have_no_gap(self) -> None:
        for tenant, model in self.models.items():
            for id, last in model.last_version.items():
                versions = self._view(tenant).history(id)
                assert [version.version for version in versions] == list(range(1, last + 1))
                for earlier, later in pairwise(versions):
                    assert earlier.superseded_at is not None
                    assert earlier.recorded_at < earlier.superseded_at <= later.recorded_at

    @invariant()
    def search_finds_exactly_the_current_words(self) -> None:
        for tenant, model in self.models.items():
            now = self.clock()
            for word in WORDS:
                hits = self._view(tenant).search(word, mode="words", limit=100)
                # Neighbours of a hit may be found with it; what says the word must be, and nothing that is not current.
                matching = {hit.id for hit in hits if word in hit.text}
                live = {id: record for id, record in model.records.items() if record.visible(now)}
                assert matching == {id for id, record in live.items() if word in record.text}
                assert {hit.id for hit in hits} <= set(live)

    @invariant()
    def verify_is_clean(self) -> None:
        assert self.memory.verify().faults == ()


class MachineSuite(Suite):
    """The state machine, run on the backend under test."""

    machine_runs: int = 40
    machine_steps: int = 30

    @pytest.mark.requirement("integrity.versions", "version.undo", "time.valid-known")
    def test_anything_may_happen_in_any_order(self, open_memory: OpenMemory, clock: ManualClock) -> None:
        parts = {"open_memory": staticmethod(open_memory), "clock": clock, "reopens": self.reopens}
        machine: Callable[[], RuleBasedStateMachine] = type("Machine", (MemoryMachine,), parts)
        run_state_machine_as_test(
            machine,
            settings=settings(
                max_examples=self.machine_runs,
                stateful_step_count=self.machine_steps,
                deadline=None,
                derandomize=True,
                suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large],
            ),
        )
