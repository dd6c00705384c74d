"""Reconcile stored facts with the statements they stand on, in one transaction.

A fact record carries its statements, so nothing is ever subtracted: without one statement the same function gives what
would have been known without it. Each group of facts is reconciled as a whole.
"""

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

from rememo.engine.engine import Engine
from rememo.errors import AlreadyExists, Closed, NotFound, StorageError, VersionConflict
from rememo.learn.conflicts import Policy, ValidityPeriod
from rememo.learn.fact_fields import fact_fields
from rememo.learn.facts import FactChanges, FactGroup, group_of, is_fact, policy_of
from rememo.learn.oppositions import SubjectPredicate, affected, causes, endings, owner_ends
from rememo.learn.relationships import CONNECTING, LearnedRelationship, is_relationship, relationship_writes
from rememo.learn.revisions import RevisionWrites, group_revisions
from rememo.learn.statements import LINK, Key, Statement
from rememo.learn.visibility import FactPart, is_within, split_into_facts
from rememo.model.derived_ids import DerivedId
from rememo.model.derived_names import digest_name, fact_name, relationship_name
from rememo.model.fact import folded
from rememo.model.filters import Condition, Filter
from rememo.model.receipt import Receipt
from rememo.model.record import Record
from rememo.model.scope import Scope
from rememo.store.drafts import Draft
from rememo.store.writes import Put, Remove, Write

_MOST_TRIES = 200
_CHUNK = 400
_MICROSECOND = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReconcileResult:
    """The result of a reconciliation."""

    places: Mapping[tuple[FactGroup, Key], str]
    """The fact that each statement is in now."""
    versions: Mapping[str, int]
    """The version that each of these facts has."""
    receipts: tuple[Receipt, ...]

    def receipt(self, id: str) -> Receipt:
        """Return what happened to one fact."""
        for receipt in self.receipts:
            if id in receipt.ids:
                version, outcome = receipt.versions[id], receipt.outcomes[id]
                return replace(receipt, ids=(id,), versions={id: version}, outcomes={id: outcome})
        return Receipt(ids=(id,), versions={id: self.versions[id]}, outcomes={id: "unchanged"})


def reconcile(engine: Engine, changes: FactChanges, *, key: str | None = None) -> ReconcileResult:
    """Bring the facts of all touched groups in line with their statements, in one transaction.

    It then checks again: whoever commits last sees what others wrote meanwhile and reconciles that too, so that no two
    workers leave a conflict behind. Idempotent.
    """
    receipts: list[Receipt] = []
    policies: dict[str, Policy] = {}
    taken_ids = _TakenIds(engine, changes)
    for _ in range(_MOST_TRIES):
        plan = _ReconcilePlan(engine, changes, policies, taken_ids)
        if not plan.writes:
            return ReconcileResult(places=plan.places, versions=plan.versions, receipts=tuple(receipts))
        try:
            receipts.append(engine.commit(Scope(tenant=changes.tenant), plan.writes, key))
        except AlreadyExists:
            taken_ids.look(plan.created)
            continue
        except (VersionConflict, NotFound):
            continue
        key = None
    raise VersionConflict(f"facts changed {_MOST_TRIES} times while they were being reconciled; try again later")


def reconcile_each(engine: Engine, changes: FactChanges) -> Exception | None:
    """Reconcile each group by itself; returns an error that names the groups that failed.

    For changes that cannot be made together: one bad fact costs none of the others.
    """
    failed: dict[FactGroup, Exception] = {}
    for group in sorted(changes.groups, key=repr):
        added = {group: changes.added[group]} if group in changes.added else {}
        try:
            reconcile(engine, replace(changes, added=added, groups={group}))
        except (StorageError, Closed):
            raise
        except Exception as error:  # noqa: BLE001 - whatever is wrong with it, the others go on
            failed[group] = error
    if not failed:
        return None
    errors = "; ".join(f"{group.subject!r} {group.predicate}: {error}" for group, error in failed.items())
    return ExceptionGroup(
        f"{len(failed)} of {len(changes.groups)} groups of facts could not be kept: {errors}", [*failed.values()]
    )


class _TakenIds:
    """Ids that are taken by other records, as far as a write has met them."""

    def __init__(self, engine: Engine, changes: FactChanges) -> None:
        self.engine = engine
        self._changes = changes
        self._by_others: set[str] = set()
        self.held_back: dict[str, int] = {}
        """What is in quarantine, and its versions: it is there, and stays as it is until somebody decides."""

    def look(self, drafts: Mapping[str, Draft]) -> None:
        """Look up the records under the ids that could not be created."""
        filter = Filter(scope=Scope(tenant=self._changes.tenant), ids=tuple(drafts), quarantined=None)
        for record in self.engine.store.read(filter, self.engine.now()):
            draft = drafts[record.id]
            if (
                record.scope != draft.scope
                or record.kind != draft.kind
                or not (is_fact(record) or is_relationship(record))
            ):
                self._by_others.add(record.id)
            elif record.quarantine is not None:
                self.held_back[record.id] = record.version

    def free_id(self, tenant: str, name: str) -> DerivedId:
        """Return the id derived from a name: the next one where another caller's record has it."""
        id, place = self.engine.ids.derive(tenant, name), 0
        while id in self._by_others:
            place += 1
            id = self.engine.ids.derive(tenant, digest_name([name, place]))
        return id


class _ReconcilePlan:
    """The writes that bring groups in line with their statements."""

    def __init__(self, engine: Engine, changes: FactChanges, policies: dict[str, Policy], taken_ids: _TakenIds) -> None:
        self.engine = engine
        self._taken_ids = taken_ids
        self._changes = changes
        self._policies = policies
        self._new: dict[Scope, list[dict[str, Any]]] = {}
        self._links: dict[DerivedId, LearnedRelationship | None] = {}
        self._revisions = RevisionWrites(changes.tenant)
        self.writes: list[Write] = []
        self.places: dict[tuple[FactGroup, Key], str] = {}
        self.versions: dict[str, int] = {}
        records, touched = self._neighbours()
        statements: dict[Scope, dict[SubjectPredicate, list[Statement]]] = {}
        for group in records.keys() | changes.groups:
            statements.setdefault(group.home, {})[group.pair] = self._statements(group, records.get(group, []))
        for group in sorted(touched & (records.keys() | changes.groups), key=repr):
            self._settle(group, records.get(group, []), statements[group.home])
        for scope, items in self._new.items():
            self.writes += engine.drafts.puts(scope, items)
        links = {id: link for id, link in self._links.items() if id not in taken_ids.held_back}
        self.writes += relationship_writes(engine, changes.tenant, links)
        self.writes += self._revisions.writes(engine)

    @property
    def created(self) -> dict[str, Draft]:
        """What is created, by id."""
        return {write.draft.id: write.draft for write in self.writes if isinstance(write, Put)}

    def _neighbours(self) -> tuple[dict[FactGroup, list[Record]], set[FactGroup]]:
        """Return the facts that decide, and the groups to recompute: those that changed and those they may end."""
        touched = {group.of(pair) for group in self._changes.groups for pair in affected(group.pair)}
        records = self._read(_with_causes(touched))
        owners = self._owners(records)
        if owners - touched:
            touched |= owners
            records |= self._read(_with_causes(owners) - records.keys())
        named = {
            group.of(pair)
            for group in touched
            if owner_ends(group.predicate)[0]
            for pair in causes(
                group.pair, [statement.about for statement in self._statements(group, records.get(group, []))]
            )
        }
        records |= self._read(named - records.keys())
        return records, touched

    def _owners(self, records_by_group: Mapping[FactGroup, Sequence[Record]]) -> set[FactGroup]:
        """Return the groups of the owners of changed subjects: whose pet it was that died."""
        owners: set[FactGroup] = set()
        for group in self._changes.groups:
            values, ended = owner_ends(group.predicate, causing=True)
            objects = {record.data["match"]["object"] for record in records_by_group.get(group, ())}
            objects |= {statement.about for statement in self._changes.added.get(group, ())}
            if values.isdisjoint(objects):
                continue
            conditions = (
                Condition("data", ("match", "object"), "$eq", group.subject),
                Condition("data", ("predicate",), "$in", sorted(ended)),
            )
            filter = Filter(scope=group.home, kinds=("fact",), conditions=conditions)
            records = self.engine.store.read(filter, self.engine.now())
            owners |= {group_of(record) for record in records if is_fact(record)}
        return owners

    def _read(self, groups_to_read: AbstractSet[FactGroup]) -> dict[FactGroup, list[Record]]:
        records: dict[FactGroup, list[Record]] = {}
        by_home: dict[Scope, list[FactGroup]] = {}
        for group in groups_to_read:
            by_home.setdefault(group.home, []).append(group)
        for scope, groups in by_home.items():
            subjects = sorted({group.subject for group in groups})
            for start in range(0, len(subjects), _CHUNK):
                part = subjects[start : start + _CHUNK]
                conditions = (
                    Condition("data", ("match", "subject"), "$in", list(part)),
                    Condition("data", ("predicate",), "$in", sorted({group.predicate for group in groups})),
                )
                filter = Filter(scope=scope, kinds=("fact",), conditions=conditions)
                for record in self.engine.store.read(filter, self.engine.now()):
                    if is_fact(record) and group_of(record) in groups_to_read:
                        records.setdefault(group_of(record), []).append(record)
        return records

    def _within(self, group: FactGroup) -> set[Scope] | None:
        """Return the scopes in which a group may be changed; None for all. What is ended elsewhere goes as far as its cause."""
        reaches = self._changes.reaches
        if group in self._changes.groups:
            return reaches.get(group)
        caused = [reaches.get(other) for other in self._changes.groups if other.home == group.home]
        return None if None in caused else {scope for scopes in caused for scope in scopes or ()}

    def _settle(
        self, group: FactGroup, records: Sequence[Record], statements: Mapping[SubjectPredicate, Sequence[Statement]]
    ) -> None:
        within = self._within(group)
        existing = {record.id: record for record in records if is_within(record.scope, within)}
        self.versions |= {record.id: record.version for record in existing.values()}
        spellings: dict[Scope, tuple[str, bool]] = {}
        against = endings(group.pair, statements)
        parts: list[FactPart] = []
        for part in split_into_facts(
            statements[group.pair], group.predicate, self._policy(group.predicate), within, against
        ):
            if part.reach not in spellings:
                # Neither how others spell it nor what they tell as relationships shows to those who do not see them.
                seen = [record for record in records if part.reach.contains(record.scope)]
                subject = self._changes.spelled.get((group, part.reach), group.subject)
                spellings[part.reach] = seen[0].data["subject"] if seen else subject, self._linking(group, seen)
            spelled, linking = spellings[part.reach]
            parts.append(part)
            id = self._fact_id(group, part.period, part.scope, part.bound)
            self._write(id, part.scope, fact_fields(spelled, group, part), existing.pop(id, None))
            for statement in part.statements:
                self.places[group, statement.key] = str(id)
            if linking:
                self._link(spelled, group, part)
        linking = bool(existing) and self._linking(group, records)
        for record in existing.values():
            self.writes.append(Remove(id=record.id, scope=record.scope, expected=record.version))
            if linking:
                link = self._link_id(record.scope, record.data["subject"], record.data["object"], group)
                self._links.setdefault(link, None)
        self._revise(group, [record for record in records if is_within(record.scope, within)], parts)

    def _fact_id(self, group: FactGroup, period: ValidityPeriod, scope: Scope, bound: tuple[str, ...]) -> DerivedId:
        name = fact_name(scope, group.subject, group.predicate, period.object, period.number, bound)
        return self._taken_ids.free_id(scope.tenant, name)

    def _revise(self, group: FactGroup, records: Sequence[Record], parts: Sequence[FactPart]) -> None:
        """Record which sources of these facts no longer hold."""

        def fact_of(period: ValidityPeriod, statement: Statement) -> str:
            return str(self._fact_id(group, period, statement.scope, statement.kept_by))

        revisions = group_revisions(parts, group.predicate, fact_of)
        ended = [record for record in records if record.data["status"] != "current" or record.valid_to is not None]
        if not ended and not any(revision for _, revision in revisions.values()):
            return  # nothing has ended, now or before: there is nothing to look for
        for record in ended:
            for id in record.data["sources"]:
                revisions.setdefault(id, (record.scope, None))
        key = f"{group.predicate} {group.subject}"
        for id, (scope, revision) in revisions.items():
            self._revisions.set(id, scope, key, revision)

    def _statements(self, group: FactGroup, records: Iterable[Record]) -> list[Statement]:
        by_key: dict[tuple[Scope, Key], Statement] = {}
        for record in records:
            for values in record.data["statements"]:
                statement = Statement.from_dict(values, record.scope)
                drop = None if statement.source is None else self._changes.dropped.get(statement.source.id)
                if drop is None or not drop(statement):
                    by_key[record.scope, statement.key] = statement
        for statement in self._changes.added.get(group, ()):
            before = by_key.get((statement.scope, statement.key))
            if before is not None:
                if not statement.by_hand:
                    by_key[statement.scope, statement.key] = replace(statement, known=before.known)
                else:
                    surer = max(statement.confidence, before.confidence)
                    by_key[statement.scope, statement.key] = replace(before, confidence=surer)
                continue
            latest = max(
                (other.known for other in by_key.values() if statement.reach.contains(other.scope)), default=None
            )
            # What is added by hand at one moment keeps its order; a message has the time it was stored at.
            late = statement.by_hand and latest is not None and statement.known <= latest
            by_key[statement.scope, statement.key] = (
                replace(statement, known=latest + _MICROSECOND) if late and latest else statement
            )
        return list(by_key.values())

    def _linking(self, group: FactGroup, records: Iterable[Record]) -> bool:
        """Whether these facts are relationships too: by their predicate, or since somebody told them so."""
        if group.predicate in CONNECTING:
            return True
        before = (statement.get("name") for record in records for statement in record.data["statements"])
        return LINK in before or any(statement.name == LINK for statement in self._changes.added.get(group, ()))

    def _policy(self, predicate: str) -> Policy:
        if predicate not in self._policies:
            self._policies[predicate] = policy_of(self.engine, self._changes.tenant, predicate)
        return self._policies[predicate]

    def _link_id(self, scope: Scope, subject: str, object: str, group: FactGroup) -> DerivedId:
        name = relationship_name(scope, folded(subject), folded(object), group.predicate)
        return self._taken_ids.free_id(scope.tenant, name)

    def _write(self, id: DerivedId, scope: Scope, fields: dict[str, Any], record: Record | None) -> None:
        if id in self._taken_ids.held_back:
            self.versions[id] = self._taken_ids.held_back[id]
        elif record is None:
            self._new.setdefault(scope, []).append({**fields, "id": id, "kind": "fact", "source": "learn"})
        elif changed := {name: value for name, value in fields.items() if getattr(record, name) != value}:
            self.writes.append(self.engine.drafts.revise(record, changed))

    def _link(self, subject: str, group: FactGroup, part: FactPart) -> None:
        asserted = [statement for statement in part.statements if statement.asserts]
        spelled = part.statements[-1].object
        id = self._link_id(part.scope, subject, spelled, group)
        if part.period.status in ("current", "disputed") and asserted:
            times = [statement.said for statement in asserted]
            link = LearnedRelationship(
                id=id, scope=part.scope, entity=subject, target=spelled, type=group.predicate, count=len(asserted),
                first=min(times), last=max(times),
            )  # fmt: skip
            other = self._links.get(id)
            self._links[id] = link if other is None else link.joined(other)
        else:
            self._links.setdefault(id, None)


def _with_causes(groups: Iterable[FactGroup]) -> set[FactGroup]:
    return {group.of(pair) for group in groups for pair in (group.pair, *causes(group.pair))}
