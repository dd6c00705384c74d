"""Facts kept: statements join the facts they are about, and every fact they touch is worked out anew.

A fact record carries the statements it stands on, so nothing is ever subtracted: without one statement the same function
gives what would have been known without it. Facts about one subject and predicate of one person (whatever the room) form
a slot and are settled together.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from rememo.engine.engine import Engine
from rememo.engine.view import BOUND
from rememo.errors import AlreadyExists, Closed, NotFound, StorageError, VersionConflict
from rememo.learn.conflicts import POLICIES, Policy, ValidityPeriod, default_policy
from rememo.learn.fact_sentences import sentence
from rememo.learn.oppositions import SubjectPredicate, affected, causes, endings, owner_ends
from rememo.learn.relationships import CONNECTING, LearnedRelationship, is_relationship, relationship_writes
from rememo.learn.revisions import RevisionWrites, group_revisions
from rememo.learn.statements import LINK, MODEL, Key, Statement, folded
from rememo.learn.visibility import FactPart, is_within, split_into_facts
from rememo.model.data_schemas import matches_schema
from rememo.model.derived_ids import DerivedId
from rememo.model.derived_names import digest_name, fact_name, relationship_name
from rememo.model.filters import Condition, Filter
from rememo.model.receipt import Receipt
from rememo.model.record import Record
from rememo.model.scope import Scope
from rememo.store.drafts import Draft
from rememo.store.writes import Put, Remove, Write

POLICY_SPACE = "facts.policy"
"""Where a tenant's policies are kept; no view's own space has such a name."""
_MOST_STATEMENTS = 32
"""Of one fact; repetitions in the middle are let go first."""
_MOST_TRIES = 200
_CHUNK = 400
_MICROSECOND = timedelta(microseconds=1)
_AHEAD = frozenset({"plans", "appointment", "event"})
"""Predicates that hold before their time."""


@dataclass(frozen=True, slots=True)
class FactGroup:
    """What contradicts each other if it differs: one predicate of one subject, as one person told it."""

    home: Scope
    subject: str
    predicate: str

    @property
    def matter(self) -> SubjectPredicate:
        """The subject and the predicate."""
        return self.subject, self.predicate

    def of(self, matter: SubjectPredicate) -> "FactGroup":
        """Return the slot of another matter that the same person told."""
        return FactGroup(self.home, *matter)


def home(scope: Scope) -> Scope:
    """Return within what facts are compared: a person's rooms and agents together, each room without a person by itself."""
    return scope if scope.user is None else replace(scope, agent=None, room=None)


@dataclass(slots=True)
class FactChanges:
    """What is to become of the statements of one tenant."""

    tenant: str
    added: dict[FactGroup, list[Statement]] = field(default_factory=dict[FactGroup, list[Statement]])
    spelled: dict[tuple[FactGroup, Scope], str] = field(default_factory=dict[tuple[FactGroup, Scope], str])
    """Subjects as they were written, by the reach of who wrote them."""
    dropped: dict[str, Callable[[Statement], bool]] = field(default_factory=dict[str, Callable[[Statement], bool]])
    """Sources that are gone or changed, and which of their statements go with it."""
    slots: set[FactGroup] = field(default_factory=set[FactGroup])
    """To be worked out anew, whether or not anything is added."""
    reaches: dict[FactGroup, set[Scope]] = field(default_factory=dict[FactGroup, set[Scope]])
    """Where facts of a slot may change, of those that only bound writers have touched; the others are all worked out."""

    def add(self, subject: str, predicate: str, statement: Statement) -> FactGroup:
        """Add one statement."""
        slot = FactGroup(home(statement.scope), folded(subject), predicate)
        self.added.setdefault(slot, []).append(statement)
        self.spelled.setdefault((slot, statement.reach), subject)
        self.touch([slot], {statement.reach} if statement.bound else None)
        return slot

    def touch(self, slots: Iterable[FactGroup], reach: set[Scope] | None) -> None:
        """Have slots worked out anew: within some scopes, or everywhere."""
        for slot in slots:
            if reach is None:
                self.reaches.pop(slot, None)
            elif slot not in self.slots or slot in self.reaches:
                self.reaches[slot] = self.reaches.get(slot, set()) | reach
            self.slots.add(slot)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReconcileResult:
    """What settling did."""

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
    """Bring the facts of all touched slots to what their statements say, in one transaction.

    It then looks again: whoever commits last sees what others wrote meanwhile and settles that too, so that no two
    workers leave a contradiction behind them. Doing it again changes nothing.
    """
    receipts: list[Receipt] = []
    policies: dict[str, Policy] = {}
    occupied = _TakenIds(engine, changes)
    for _ in range(_MOST_TRIES):
        plan = _ReconcilePlan(engine, changes, policies, occupied)
        if not plan.writes:
            return ReconcileResult(places=plan.places, versions=plan.versions, receipts=tuple(receipts))
        try:
            receipts.append(engine.commit(Scope(tenant=changes.tenant), plan.writes, key))
        except AlreadyExists:
            occupied.look(plan.created)
            continue
        except (VersionConflict, NotFound):
            continue
        key = None
    raise VersionConflict(f"facts changed {_MOST_TRIES} times while they were being settled; try again later")


def reconcile_each(engine: Engine, changes: FactChanges) -> Exception | None:
    """Bring the facts of each slot by itself to what its statements say; returns what went wrong, with its slots named.

    For changes that cannot be made together: one bad fact costs none of the others.
    """
    failed: dict[FactGroup, Exception] = {}
    for slot in sorted(changes.slots, key=repr):
        added = {slot: changes.added[slot]} if slot in changes.added else {}
        try:
            reconcile(engine, replace(changes, added=added, slots={slot}))
        except (StorageError, Closed):
            raise
        except Exception as error:  # noqa: BLE001 - whatever is wrong with it, the others go on
            failed[slot] = error
    if not failed:
        return None
    errors = "; ".join(f"{slot.subject!r} {slot.predicate}: {error}" for slot, error in failed.items())
    return ExceptionGroup(
        f"{len(failed)} of {len(changes.slots)} groups of facts could not be kept: {errors}", [*failed.values()]
    )


def policy_of(engine: Engine, tenant: str, predicate: str) -> Policy:
    """Return how contradictions of a predicate are treated in a tenant."""
    entry = engine.kv.get(tenant, POLICY_SPACE, predicate, engine.now())
    kept = None if entry is None else json.loads(entry.value)
    return kept if kept in POLICIES else default_policy(predicate)


def group_of(record: Record) -> FactGroup:
    """Return the slot of a stored fact."""
    return FactGroup(home(record.scope), record.data["match"]["subject"], record.data["predicate"])


def facts_from(
    engine: Engine, tenant: str, sources: Sequence[str], *, known_at: datetime | None = None
) -> dict[str, list[Record]]:
    """Return the facts that stand on each of some records, wherever in the tenant they are; or did at a moment."""
    filter = Filter(scope=Scope(tenant=tenant), kinds=("fact",), known_at=known_at)
    if len(sources) == 1:
        filter = filter.narrowed(conditions=(Condition("data", ("sources",), "$contains", sources[0]),))
    facts: dict[str, list[Record]] = {id: [] for id in sources}
    if sources:
        for record in engine.store.read(filter, engine.now()):
            if is_fact(record):
                for id in record.data["sources"]:
                    if id in facts:
                        facts[id].append(record)
    return facts


def is_fact(record: Record) -> bool:
    """Whether a record was made here, and not by a caller who used the kind for something of his own."""
    return record.kind == "fact" and matches_schema("fact", record.data)


def holds(record: Record, moment: datetime) -> bool:
    """Whether a fact holds at a moment: a home only once one lives there, a plan as soon as it is made."""
    data = record.data
    if data["status"] == "superseded" and (record.valid_to is None or record.valid_to <= moment):
        return False
    begun = record.valid_from is None or record.valid_from <= moment
    return data["status"] != "retracted" and (begun or data["predicate"] in _AHEAD)


class _TakenIds:
    """Ids that are not free for what is to be written under them, as far as a write has met them."""

    def __init__(self, engine: Engine, changes: FactChanges) -> None:
        self._engine = engine
        self._changes = changes
        self._by_others: set[str] = set()
        self.held_back: dict[str, int] = {}
        """What is in quarantine, and its versions: it is there, and stays as it is until somebody decides."""

    def look(self, drafts: Mapping[str, Draft]) -> None:
        """Find out what lives under the ids that could not be created."""
        filter = Filter(scope=Scope(tenant=self._changes.tenant), ids=tuple(drafts), quarantined=None)
        for record in self._engine.store.read(filter, self._engine.now()):
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
        """Return the id of what has a name: the next one where a stranger's record lives under it."""
        id, place = self._engine.ids.derive(tenant, name), 0
        while id in self._by_others:
            place += 1
            id = self._engine.ids.derive(tenant, digest_name([name, place]))
        return id


class _ReconcilePlan:
    """The writes that bring some slots to what their statements say."""

    def __init__(self, engine: Engine, changes: FactChanges, policies: dict[str, Policy], occupied: _TakenIds) -> None:
        self._engine = engine
        self._occupied = occupied
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
        for slot in records.keys() | changes.slots:
            statements.setdefault(slot.home, {})[slot.matter] = self._statements(slot, records.get(slot, []))
        for slot in sorted(touched & (records.keys() | changes.slots), key=repr):
            self._settle(slot, records.get(slot, []), statements[slot.home])
        for scope, items in self._new.items():
            self.writes += engine.puts(scope, items)
        links = {id: link for id, link in self._links.items() if id not in occupied.held_back}
        self.writes += relationship_writes(engine, changes.tenant, links)
        self.writes += self._revisions.writes(engine)

    @property
    def created(self) -> dict[str, Draft]:
        """What is created, by id."""
        return {write.draft.id: write.draft for write in self.writes if isinstance(write, Put)}

    def _neighbours(self) -> tuple[dict[FactGroup, list[Record]], set[FactGroup]]:
        """Return the facts that decide, and the slots to work out: those that changed and those that what changed may end."""
        touched = {slot.of(matter) for slot in self._changes.slots for matter in affected(slot.matter)}
        records = self._read(_with_causes(touched))
        owners = self._owners(records)
        if owners - touched:
            touched |= owners
            records |= self._read(_with_causes(owners) - records.keys())
        named = {
            slot.of(matter)
            for slot in touched
            if owner_ends(slot.predicate)[0]
            for matter in causes(
                slot.matter, [statement.about for statement in self._statements(slot, records.get(slot, []))]
            )
        }
        records |= self._read(named - records.keys())
        return records, touched

    def _owners(self, known: Mapping[FactGroup, Sequence[Record]]) -> set[FactGroup]:
        """Return the slots of those who have the subjects of what changed: whose pet it was that died."""
        owners: set[FactGroup] = set()
        for slot in self._changes.slots:
            values, ended = owner_ends(slot.predicate, causing=True)
            objects = {record.data["match"]["object"] for record in known.get(slot, ())}
            objects |= {statement.about for statement in self._changes.added.get(slot, ())}
            if values.isdisjoint(objects):
                continue
            conditions = (
                Condition("data", ("match", "object"), "$eq", slot.subject),
                Condition("data", ("predicate",), "$in", sorted(ended)),
            )
            filter = Filter(scope=slot.home, kinds=("fact",), conditions=conditions)
            records = self._engine.store.read(filter, self._engine.now())
            owners |= {group_of(record) for record in records if is_fact(record)}
        return owners

    def _read(self, wanted: AbstractSet[FactGroup]) -> dict[FactGroup, list[Record]]:
        records: dict[FactGroup, list[Record]] = {}
        by_home: dict[Scope, list[FactGroup]] = {}
        for slot in wanted:
            by_home.setdefault(slot.home, []).append(slot)
        for scope, slots in by_home.items():
            subjects = sorted({slot.subject for slot in slots})
            for start in range(0, len(subjects), _CHUNK):
                some = subjects[start : start + _CHUNK]
                conditions = (
                    Condition("data", ("match", "subject"), "$in", list(some)),
                    Condition("data", ("predicate",), "$in", sorted({slot.predicate for slot in slots})),
                )
                filter = Filter(scope=scope, kinds=("fact",), conditions=conditions)
                for record in self._engine.store.read(filter, self._engine.now()):
                    if is_fact(record) and group_of(record) in wanted:
                        records.setdefault(group_of(record), []).append(record)
        return records

    def _within(self, slot: FactGroup) -> set[Scope] | None:
        """Return the scopes in which a slot may be changed; None for all. What is ended elsewhere goes as far as its cause."""
        reaches = self._changes.reaches
        if slot in self._changes.slots:
            return reaches.get(slot)
        caused = [reaches.get(group) for group in self._changes.slots if group.home == slot.home]
        return None if None in caused else {scope for some in caused for scope in some or ()}

    def _settle(
        self, slot: FactGroup, records: Sequence[Record], statements: Mapping[SubjectPredicate, Sequence[Statement]]
    ) -> None:
        within = self._within(slot)
        existing = {record.id: record for record in records if is_within(record.scope, within)}
        self.versions |= {record.id: record.version for record in existing.values()}
        spellings: dict[Scope, tuple[str, bool]] = {}
        against = endings(slot.matter, statements)
        shares: list[FactPart] = []
        for share in split_into_facts(
            statements[slot.matter], slot.predicate, self._policy(slot.predicate), within, against
        ):
            if share.reach not in spellings:
                # Neither how others spell it nor what they tell as relationships shows to those who do not see them.
                seen = [record for record in records if share.reach.contains(record.scope)]
                subject = self._changes.spelled.get((slot, share.reach), slot.subject)
                spellings[share.reach] = seen[0].data["subject"] if seen else subject, self._linking(slot, seen)
            spelled, linking = spellings[share.reach]
            shares.append(share)
            id = self._fact_id(slot, share.run, share.scope, share.bound)
            self._write(id, share.scope, _fields(spelled, slot, share), existing.pop(id, None))
            for statement in share.statements:
                self.places[slot, statement.key] = str(id)
            if linking:
                self._link(spelled, slot, share)
        linking = bool(existing) and self._linking(slot, records)
        for record in existing.values():
            self.writes.append(Remove(id=record.id, scope=record.scope, expected=record.version))
            if linking:
                link = self._link_id(record.scope, record.data["subject"], record.data["object"], slot)
                self._links.setdefault(link, None)
        self._revise(slot, [record for record in records if is_within(record.scope, within)], shares)

    def _fact_id(self, slot: FactGroup, run: ValidityPeriod, scope: Scope, bound: tuple[str, ...]) -> DerivedId:
        name = fact_name(scope, slot.subject, slot.predicate, run.object, run.number, bound)
        return self._occupied.free_id(scope.tenant, name)

    def _revise(self, slot: FactGroup, records: Sequence[Record], shares: Sequence[FactPart]) -> None:
        """Note which of the records that these facts stand on hold no more."""

        def fact_of(run: ValidityPeriod, statement: Statement) -> str:
            return str(self._fact_id(slot, run, statement.scope, statement.kept_by))

        revisions = group_revisions(shares, slot.predicate, fact_of)
        ended = [record for record in records if record.data["status"] != "current" or record.valid_to is not None]
        if not ended and not any(revision for _, revision in revisions.values()):
            return  # nothing has ended, now or before: there is nothing to look for
        for record in ended:
            for id in record.data["sources"]:
                revisions.setdefault(id, (record.scope, None))
        key = f"{slot.predicate} {slot.subject}"
        for id, (scope, revision) in revisions.items():
            self._revisions.set(id, scope, key, revision)

    def _statements(self, slot: FactGroup, records: Iterable[Record]) -> list[Statement]:
        kept: dict[tuple[Scope, Key], Statement] = {}
        for record in records:
            for values in record.data["statements"]:
                statement = Statement.from_dict(values, record.scope)
                drop = None if statement.source is None else self._changes.dropped.get(statement.source.id)
                if drop is None or not drop(statement):
                    kept[record.scope, statement.key] = statement
        for statement in self._changes.added.get(slot, ()):
            before = kept.get((statement.scope, statement.key))
            if before is not None:
                if not statement.by_hand:
                    kept[statement.scope, statement.key] = replace(statement, known=before.known)
                else:
                    surer = max(statement.confidence, before.confidence)
                    kept[statement.scope, statement.key] = replace(before, confidence=surer)
                continue
            latest = max(
                (other.known for other in kept.values() if statement.reach.contains(other.scope)), default=None
            )
            # What is added by hand at one moment keeps its order; a message has the time it was stored at.
            late = statement.by_hand and latest is not None and statement.known <= latest
            kept[statement.scope, statement.key] = (
                replace(statement, known=latest + _MICROSECOND) if late and latest else statement
            )
        return list(kept.values())

    def _linking(self, slot: FactGroup, records: Iterable[Record]) -> bool:
        """Whether these facts are relationships too: by their predicate, or since somebody told them so."""
        if slot.predicate in CONNECTING:
            return True
        before = (statement.get("name") for record in records for statement in record.data["statements"])
        return LINK in before or any(statement.name == LINK for statement in self._changes.added.get(slot, ()))

    def _policy(self, predicate: str) -> Policy:
        if predicate not in self._policies:
            self._policies[predicate] = policy_of(self._engine, self._changes.tenant, predicate)
        return self._policies[predicate]

    def _link_id(self, scope: Scope, subject: str, object: str, slot: FactGroup) -> DerivedId:
        name = relationship_name(scope, folded(subject), folded(object), slot.predicate)
        return self._occupied.free_id(scope.tenant, name)

    def _write(self, id: DerivedId, scope: Scope, fields: dict[str, Any], record: Record | None) -> None:
        if id in self._occupied.held_back:
            self.versions[id] = self._occupied.held_back[id]
        elif record is None:
            self._new.setdefault(scope, []).append({**fields, "id": id, "kind": "fact", "source": "learn"})
        elif changed := {name: value for name, value in fields.items() if getattr(record, name) != value}:
            self.writes.append(self._engine.revise(record, changed))

    def _link(self, subject: str, slot: FactGroup, share: FactPart) -> None:
        asserted = [statement for statement in share.statements if statement.asserts]
        spelled = share.statements[-1].object
        id = self._link_id(share.scope, subject, spelled, slot)
        if share.run.status in ("current", "disputed") and asserted:
            times = [statement.said for statement in asserted]
            link = LearnedRelationship(
                id=id, scope=share.scope, entity=subject, target=spelled, type=slot.predicate, count=len(asserted),
                first=min(times), last=max(times),
            )  # fmt: skip
            other = self._links.get(id)
            self._links[id] = link if other is None else link.joined(other)
        else:
            self._links.setdefault(id, None)


def _with_causes(slots: Iterable[FactGroup]) -> set[FactGroup]:
    return {slot.of(matter) for slot in slots for matter in (slot.matter, *causes(slot.matter))}


def _fields(subject: str, slot: FactGroup, share: FactPart) -> dict[str, Any]:
    """Return the content of a fact's record."""
    run, kept = share.run, _within_bounds(share.statements)
    asserted = [statement for statement in kept if statement.asserts] or kept
    last = asserted[-1]
    sources = dict.fromkeys(statement.source.id for statement in kept if statement.source is not None)
    weights = [statement.importance for statement in kept if statement.importance is not None]
    return {
        **({"importance": max(weights)} if weights else {}),
        "text": sentence(subject, slot.predicate, last.object, denied=run.denied),
        "data": {
            "subject": subject,
            "predicate": slot.predicate,
            "object": last.object,
            "confidence": gathered(asserted),
            "sources": list(sources),
            "wording": last.wording,
            "status": run.status,
            "match": {"subject": slot.subject, "object": run.object},
            "statements": [statement.to_dict() for statement in kept],
            **({BOUND: list(share.bound)} if share.bound else {}),
        },
        "occurred_at": min(statement.said for statement in kept),
        "valid_from": run.valid_from,
        "valid_to": run.valid_to,
        "trust": 0.0
        if run.status == "retracted" and not run.denied
        else max(statement.trust for statement in asserted),
    }


def gathered(statements: Iterable[Statement]) -> float:
    """Return 1 - (1-a)(1-b)… over the sources, each with the surest of its statements; one set by hand stands."""
    surest: dict[object, float] = {}
    fixed: Statement | None = None
    for statement in statements:
        if "confidence" in statement.fixed:
            fixed = statement if fixed is None or statement.known > fixed.known else fixed
        elif not statement.fixed:
            # What rules and a model both find in one text is surer than what one of them does.
            name = (
                statement.name if statement.source is None else (statement.source.id, statement.name in (MODEL, LINK))
            )
            surest[name] = max(surest.get(name, 0.0), statement.confidence)
    if fixed is not None:
        return fixed.confidence
    doubt = 1.0
    for confidence in sorted(surest.values()):
        doubt *= 1 - confidence
    return round(1 - doubt, 6)


def _within_bounds(share: list[Statement]) -> list[Statement]:
    """Let go of mere repetitions in the middle when there are very many statements."""
    over = len(share) - _MOST_STATEMENTS
    if over <= 0:
        return share
    plain = [
        statement
        for statement in share
        if statement.asserts
        and not statement.by_hand
        and statement.begin is statement.end is statement.corrects is None
    ]
    middle = max(1, (len(plain) - over) // 2)
    gone = {id(statement) for statement in plain[middle : middle + over]}
    return [statement for statement in share if id(statement) not in gone]
