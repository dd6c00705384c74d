"""Learning from messages and notes: what each one states now replaces what was learned from it before."""

import logging
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from rememo.engine.engine import Engine
from rememo.engine.learning import LEARNED_KINDS, may_learn_from
from rememo.engine.view import bound_to
from rememo.errors import Closed, StorageError
from rememo.extract import ExtractedFact, corrections, extract
from rememo.extract.predicates import RELATIONS
from rememo.learn.facts import FactChanges, facts_from, group_of, home, is_fact
from rememo.learn.reconcile import reconcile, reconcile_each
from rememo.learn.revise.find import RevisedStatement, revised_by
from rememo.learn.revisions import RevisionWrites, commit_revisions, decisions_of
from rememo.learn.statements import Key, Statement, reach_of
from rememo.learn.visibility import is_within
from rememo.model.check import MAX_LABEL
from rememo.model.fact import Source
from rememo.model.filters import Condition, Filter
from rememo.model.record import REVISION, Record
from rememo.model.revision import SURE, Revision, is_revision, rejections_of, revisions_of
from rememo.model.scope import Scope
from rememo.store.writes import Write
from rememo.text.fence import without_recalled

LEAST_TRUST = 0.3
"""What is trusted less is not learned from."""
_CHUNK = 500
LASTING_PREDICATES = frozenset({
    "name", "birthday", "birth_year", "born_in", "from", "grew_up_in", "nationality", "species", "breed", "event", "visited",
    *RELATIONS,
}) - frozenset({
    "wife", "husband", "spouse", "partner", "girlfriend", "boyfriend", "fiance", "boss", "roommate", "landlord",
})  # fmt: skip
"""What a change of something else never ends."""
_LOOK_BACK, _SAID_BEFORE = 8, 3
"""Messages looked at, and those of the speaker that a correction may refer to."""
_log = logging.getLogger("rememo.learn")


def learn(
    engine: Engine,
    tenant: str,
    ids: Iterable[str],
    reaches: Mapping[str, set[Scope]] | None = None,
    *,
    ended: Container[str] | None = None,
    anew: bool = False,
) -> dict[str, Exception]:
    """Learn from records as they are now, together; returns what went wrong, by record.

    A record that is gone takes what was learned from it along: any, or only those that `ended` holds. Doing it again
    changes nothing. `anew` takes back what was learned from records that did not change. `reaches` says of records that somebody changed who was bound to labels how far that may go; beyond,
    facts stay as they are.
    """
    wanted_ids = list(dict.fromkeys(ids))
    failed: dict[str, Exception] = {}
    changes = FactChanges(tenant)
    records = read_records(engine, tenant, wanted_ids)
    if ended is not None:
        quarantined = _quarantined(engine, tenant, [id for id in wanted_ids if id not in records and id not in ended])
        wanted_ids = [id for id in wanted_ids if id in records or id in ended or id in quarantined]
    # Nothing was learned yet from a first version, unless a job runs again, and then it learns the same.
    changed_ids = [id for id in wanted_ids if anew or id not in records or records[id].version > 1]
    learned = facts_from(engine, tenant, changed_ids)
    for id in wanted_ids:
        try:
            _gather(engine, changes, id, records.get(id), learned.get(id), reach=(reaches or {}).get(id))
        except (StorageError, Closed):
            raise
        except Exception as error:  # noqa: BLE001 - one odd message must not keep the others from being learned
            _log.exception("learning from %s failed", id)
            failed[id] = error
    try:
        reconcile(engine, changes)
        learned_ids = [id for id in wanted_ids if id not in failed]
        _revise(engine, tenant, learned_ids, records, changed_ids=changed_ids, reaches=reaches or {})
    except (StorageError, Closed):
        raise
    except Exception as error:  # noqa: BLE001 - find out whose it is, and keep the rest
        if len(wanted_ids) > 1:
            for id in wanted_ids:
                failed |= learn(engine, tenant, [id], reaches, ended=ended)
        elif (left := reconcile_each(engine, changes)) is not None:
            _log.warning("not all of what %s says could be learned: %s", wanted_ids[0], left, exc_info=error)
            failed[wanted_ids[0]] = left
    return failed


def _revise(
    engine: Engine,
    tenant: str,
    ids: Sequence[str],
    records: Mapping[str, Record],
    *,
    changed_ids: Sequence[str],
    reaches: Mapping[str, set[Scope]],
) -> None:
    """Note which earlier statements the records revise, end what was learned from these, and take back what was noted before.

    What somebody bound to labels changed makes and takes back nothing beyond them.
    """
    within = {id: _reach(records.get(id), reaches.get(id)) for id in {*ids, *changed_ids}}
    noted = {
        key
        for record in _revisions_of(engine, tenant, changed_ids)
        for key in (*record.data["revisions"], *rejections_of(record))
    }
    revised_by_id = {
        id: [
            revised
            for revised in revised_by(engine, record, _seen_by(record))
            if is_within(revised.record.scope, within[id])
        ]
        for id in ids
        # Where learning is switched off, only what was noted before follows its record's new words.
        if (record := records.get(id)) is not None
        and learnable(record)
        and (engine.settings.learn or made_by(id) in noted)
    }
    revised_by_id = _as_decided(engine, tenant, revised_by_id)
    _end_facts(engine, tenant, revised_by_id, records)

    def plan() -> list[Write]:
        revisions = RevisionWrites(tenant)
        for record in _revisions_of(engine, tenant, changed_ids):
            for id in changed_ids:
                if is_within(record.scope, within[id]):
                    revisions.clear(record, _outdated(record, id, records.get(id)))
        for id, statements in revised_by_id.items():
            for revised in statements:
                revision = Revision(
                    by=id,
                    # Who sees the earlier record need not see the later one, nor a word of it.
                    reason=revised.reason if revised.record.scope.contains(records[id].scope) else "",
                    confidence=revised.confidence,
                    at=records[id].at,
                    wording=revised.earlier.text,
                )
                revisions.set(revised.record.id, revised.record.scope, made_by(id), revision)
        return revisions.writes(engine)

    commit_revisions(engine, tenant, plan)


def _reach(record: Record | None, reach: set[Scope] | None) -> set[Scope] | None:
    """Return how far what follows from a change of a record may go: as far as told, else as far as its writer; None for all."""
    if reach is None and record is not None and (bound := bound_to(record)):
        return {reach_of(record.scope, bound)}
    return reach


def _outdated(revision: Record, id: str, record: Record | None) -> list[str]:
    """Return what of a revision record a change of a record takes back: what it made, and what was made of words it lost."""
    keys = [made_by(id)]
    if revision.data["record"] == id:
        for key, earlier in {**revisions_of(revision), **rejections_of(revision)}.items():
            if record is None or not learnable(record) or (earlier.wording or record.text).strip() not in record.text:
                keys.append(key)
    return keys


def _as_decided(
    engine: Engine, tenant: str, revised_by_id: Mapping[str, Sequence[RevisedStatement]]
) -> dict[str, list[RevisedStatement]]:
    """Return what records revise, as sure as somebody has decided; what was rejected ends nothing, and stays noted so."""
    ids = {revised.record.id for statements in revised_by_id.values() for revised in statements}
    if not ids:
        return {id: [] for id in revised_by_id}
    filter = Filter(
        scope=Scope(tenant=tenant), kinds=(REVISION,), ids=tuple(engine.ids.revision(tenant, id) for id in sorted(ids))
    )
    revisions = [record for record in engine.store.read(filter, engine.now()) if is_revision(record)]
    decided = {record.data["record"]: decisions_of(record) for record in revisions}
    certain = {"confirmed": 1.0, "rejected": 0.0}
    decided_on: dict[str, list[RevisedStatement]] = {}
    for id, statements in revised_by_id.items():
        decided_on[id] = []
        for revised in statements:
            decision = decided.get(revised.record.id, {}).get(made_by(id))
            decided_on[id].append(revised if decision is None else replace(revised, confidence=certain[decision]))
    return decided_on


def relearn(engine: Engine, tenant: str, record_id: str) -> None:
    """Learn from a record as if for the first time, after somebody decided on what it revises."""
    failed = learn(engine, tenant, [record_id], anew=True)
    if failed:
        raise failed[record_id]


def _end_facts(
    engine: Engine, tenant: str, revised_by_id: Mapping[str, Sequence[RevisedStatement]], records: Mapping[str, Record]
) -> None:
    """End the facts that were learned from revised statements: what the statement says no longer holds, nor do they."""
    sure = [
        (id, revised)
        for id, statements in revised_by_id.items()
        for revised in statements
        if revised.confidence >= SURE
    ]
    if not sure:
        return
    learned = facts_from(engine, tenant, list(dict.fromkeys(revised.record.id for _, revised in sure)))
    changes = FactChanges(tenant)
    for id, revised in sure:
        later = records[id]
        for fact in learned[revised.record.id]:
            if _ends_fact(engine, fact, revised):
                ending = Statement(
                    object=fact.data["object"],
                    said=later.at,
                    known=later.recorded_at if bound_to(later) else later.created_at,
                    bound=bound_to(later),
                    scope=later.scope,
                    confidence=revised.confidence,
                    source=Source(later.id, later.version),
                    ends=True,
                    wording=revised.reason,
                    trust=later.trust,
                )
                changes.add(fact.data["subject"], fact.data["predicate"], ending)
    reconcile(engine, changes)


def _seen_by(record: Record) -> Scope:
    """Return where a record's statements may revise others: where its person is, as far as its writer sees."""
    return replace(home(record.scope), **{name: getattr(record.scope, name) for name in bound_to(record)})


def _ends_fact(engine: Engine, fact: Record, revised: RevisedStatement) -> bool:
    """Whether a fact stands on the very words that were revised, and on nothing said later."""
    statements = [
        statement
        for statement in fact.data["statements"]
        if statement.get("source") == revised.record.id and statement.get("wording")
    ]
    if not any(statement["wording"].strip() in revised.earlier.text for statement in statements):
        return False
    if fact.data["predicate"] in LASTING_PREDICATES or fact.data["status"] != "current":
        return False
    named = revised.later.ended & revised.earlier.terms
    return not named or not named.isdisjoint(engine.analyzer.terms(fact.data["object"]))


def made_by(record_id: str) -> str:
    """Return the key under which a record's revisions of others are kept."""
    return f"record {record_id}"


def _revisions_of(engine: Engine, tenant: str, ids: Sequence[str]) -> list[Record]:
    """Return the revision records that some records have or made."""
    if not ids:
        return []
    scope = Scope(tenant=tenant)
    own = Filter(scope=scope, kinds=(REVISION,), ids=tuple(engine.ids.revision(tenant, id) for id in ids))
    filters = [Filter(scope=scope, kinds=(REVISION,))]
    if len(ids) == 1:
        named = (Condition("data", (name, made_by(ids[0])), "$exists", True) for name in ("revisions", "rejected"))
        filters = [filters[0].narrowed(conditions=(condition,)) for condition in named]
    revisions = {record.id: record for record in engine.store.read(own, engine.now()) if is_revision(record)}
    keys = set(map(made_by, ids))
    for filter in filters:
        for record in engine.store.read(filter, engine.now()):
            if is_revision(record) and not keys.isdisjoint((*record.data["revisions"], *rejections_of(record))):
                revisions[record.id] = record
    return list(revisions.values())


def learnable(record: Record) -> bool:
    """Whether facts may be learned from a record: what a person said or an agent noted, not recalled and not distrusted."""
    return (
        record.kind in LEARNED_KINDS
        and may_learn_from(record.data)
        and record.data.get("role", "user") == "user"
        and record.trust >= LEAST_TRUST
        and not (record.source or "").startswith("recall")
    )


def speaker_of(record: Record) -> str:
    """Return who says "I" in a record."""
    name = record.data.get("name")
    return name.strip() if isinstance(name, str) and name.strip() else record.scope.user or "user"


def read_records(engine: Engine, tenant: str, ids: Sequence[str]) -> dict[str, Record]:
    """Return those of some records that are there, by id."""
    records: dict[str, Record] = {}
    for start in range(0, len(ids), _CHUNK):
        filter = Filter(scope=Scope(tenant=tenant), ids=tuple(ids[start : start + _CHUNK]))
        records.update((record.id, record) for record in engine.store.read(filter, engine.now()))
    return records


def _quarantined(engine: Engine, tenant: str, ids: Sequence[str]) -> frozenset[str]:
    """Return which of some records are held back: nothing is learned from them, and nothing that was stays."""
    if not ids:
        return frozenset()
    filter = Filter(scope=Scope(tenant=tenant), ids=tuple(ids), quarantined=True)
    return frozenset(record.id for record in engine.store.read(filter, engine.now()))


def _gather(
    engine: Engine,
    changes: FactChanges,
    id: str,
    record: Record | None,
    learned: Sequence[Record] | None,
    *,
    reach: set[Scope] | None,
) -> None:
    """Add what a record states now, and what is to go of what it stated before."""
    reach = _reach(record, reach)
    keys: set[Key] = set()
    # Where learning is switched off, only what was learned before follows its record's new words.
    if record is not None and learnable(record) and (learned != [] or engine.settings.learn):
        for fact in rule_facts(engine, record):
            if max(len(fact.subject), len(fact.object)) * 4 > MAX_LABEL:
                continue
            statement = statement_of(fact, record)
            keys.add(statement.key)
            changes.add(fact.subject, fact.predicate, statement)
    if learned is None:
        return
    if learned:
        changes.dropped[id] = _outdated_statements(engine, record, id, changes.tenant, keys)
        changes.touch((group_of(fact) for fact in learned), reach)
    if record is None or record.kind == "fact":
        versions = engine.store.history(Scope(tenant=changes.tenant), id)
        changes.touch((group_of(version) for version in versions if is_fact(version)), reach)


def _outdated_statements(
    engine: Engine, record: Record | None, id: str, tenant: str, keys: set[Key]
) -> Callable[[Statement], bool]:
    """Return what tells whether a statement went with the record's old words."""
    if record is None:
        return lambda _: True
    texts: Mapping[int, str] = {
        version.version: version.text for version in engine.store.history(Scope(tenant=tenant), id)
    }

    def gone(statement: Statement) -> bool:
        if statement.name is None:
            return statement.key not in keys
        return statement.source is not None and texts.get(statement.source.version) != record.text

    return gone


def rule_facts(engine: Engine, record: Record) -> list[ExtractedFact]:
    """Return what rules find in a message or note."""
    text = without_recalled(record.text)  # what was recalled was learned when it was first said
    previous = _previous(engine, record) if corrections(text) else None
    noted = record.kind == "note"
    return extract(text, speaker=speaker_of(record), at=record.at, previous=previous, noted=noted)


def _previous(engine: Engine, record: Record) -> str | None:
    """Return what the same speaker said, or what was noted of them, just before in the same conversation."""
    filter = Filter(scope=record.scope, kinds=(record.kind,), before=record.at)
    speaker = speaker_of(record)
    before = engine.store.read(filter, engine.now(), limit=_LOOK_BACK)
    texts = [without_recalled(record.text) for record in before if learnable(record) and speaker_of(record) == speaker]
    return "\n".join(texts[-_SAID_BEFORE:]) if texts else None


def statement_of(fact: ExtractedFact, record: Record) -> Statement:
    """Return a fact that was found in a message as one statement of it."""
    values: dict[str, Any] = {
        name: getattr(fact, name) for name in ("object", "confidence", "ends", "corrects", "wording", "kind")
    }
    bound = bound_to(record)
    return Statement(
        said=record.at,
        # By a bound writer from when these words are there: an old message with new words is no older than they are.
        known=record.recorded_at if bound else record.created_at,
        bound=bound,
        scope=record.scope,
        source=Source(record.id, record.version),
        begin=fact.valid_from,
        end=fact.valid_to,
        trust=record.trust,
        **values,
    )
