"""Consistency repairs: duplicate records, references to missing records, relationships without facts or endpoints."""

from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rememo.engine.engine import Engine
from rememo.keep.batches import BatchChange, BatchWriter, PolicyProgress, iterate_pages, make_removal
from rememo.learn.relationships import LearnedRelationship, relationship_writes
from rememo.model.check import dump_json
from rememo.model.derived_ids import DerivedId
from rememo.model.filters import Filter
from rememo.model.record import Record
from rememo.model.retention import RetentionPolicy
from rememo.model.scope import Scope
from rememo.store.writes import Put

_PARTS = {"fact": ("subject", "predicate", "object"), "relationship": ("entity", "target", "type")}
KINDS_WITH_REFERENCES = ("chunk", "fact", "message", "summary")
"""The kinds whose references are looked at."""


# ---- copies


def remove_duplicates(engine: Engine, policy: RetentionPolicy, writer: BatchWriter, progress: PolicyProgress) -> None:
    """Remove records that say what another of the same scope says; the best stays, and whatever is pinned."""
    filter = Filter(scope=policy.scope, kinds=policy.kinds)
    twice = _repeated_hashes(
        _short_hash(_content_hash(record)) for page in iterate_pages(engine, filter) for record in page
    )
    if not len(twice):
        return
    best: dict[bytes, Record] = {}
    for page in iterate_pages(engine, filter):
        changes: list[BatchChange] = []
        for record in page:
            content = _content_hash(record)
            if not _contains(twice, _short_hash(content)):
                continue
            other = best.get(content)
            if other is None:
                best[content] = record
                continue
            worse, best[content] = (other, record) if _precedence(record) > _precedence(other) else (record, other)
            if not (worse.pinned and policy.keep_pinned):
                changes.append(make_removal(worse))
        writer.write(changes, progress)


def _content_hash(record: Record) -> bytes:
    """Return a hash that is equal for records with the same content in the same scope."""
    data: dict[str, Any] = record.data
    scope, parts = record.scope, list[Any]()
    names = _PARTS.get(record.kind, ())
    if names and all(isinstance(data.get(name), str) for name in names):
        parts = [" ".join(data[name].casefold().split()) for name in names] + [_iso(record.valid_from)]
    else:
        parts = [record.text, data, record.metadata, _iso(record.occurred_at)]
    text = dump_json([record.kind, scope.agent, scope.user, scope.room, *parts])
    return blake2b(text.encode(), digest_size=16).digest()


def _iso(value: Any) -> str | None:
    return None if value is None else value.isoformat()


def _precedence(record: Record) -> tuple[bool, float, float]:
    """Return what decides which of two copies stays; of equal ones the older."""
    confidence = record.data.get("confidence")
    return record.pinned, float(confidence) if isinstance(confidence, int | float) else 0.0, record.importance or 0.0


def _short_hash(content: bytes) -> int:
    return int.from_bytes(content[:8], "little", signed=True)


def _repeated_hashes(marks: Iterable[int]) -> NDArray[np.int64]:
    """Return the marks that stand more than once, sorted."""
    ordered = np.sort(np.array(array("q", marks), np.int64))
    return np.unique(ordered[1:][ordered[1:] == ordered[:-1]])


def _contains(marks: NDArray[np.int64], mark: int) -> bool:
    index = int(np.searchsorted(marks, mark))
    return index < len(marks) and int(marks[index]) == mark


# ---- references


def repair_references(engine: Engine, policy: RetentionPolicy, writer: BatchWriter, progress: PolicyProgress) -> None:
    """Repair references to records that are gone.

    A chunk without its document goes. A reply to a message that is gone stays and is a reply no more. Facts and summaries
    stay, and name no source of which not even a past version is left.
    """
    tenant = Scope(tenant=policy.scope.tenant)
    for page in iterate_pages(engine, Filter(scope=policy.scope, kinds=policy.kinds)):
        named = {id for record in page for id in _referenced_ids(record)}
        if not named:
            continue
        there = {
            record.id
            for record in engine.store.read(Filter(scope=tenant, ids=tuple(named), quarantined=None), engine.now())
        }
        absent = named - there
        if not absent:
            continue
        traces = _HistoryLookup(engine, tenant)
        changes = (_repair(engine, record, absent, traces) for record in page)
        writer.write([change for change in changes if change is not None], progress)


class _HistoryLookup:
    """Whether any version of a record is left, looked up once for each."""

    def __init__(self, engine: Engine, tenant: Scope) -> None:
        self.engine = engine
        self._tenant = tenant
        self._existing: dict[str, bool] = {}

    def __call__(self, id: str) -> bool:
        if id not in self._existing:
            self._existing[id] = bool(self.engine.store.history(self._tenant, id))
        return self._existing[id]


def _referenced_ids(record: Record) -> list[str]:
    """Return the ids that a record refers to."""
    data = record.data
    if record.kind in ("fact", "summary"):
        sources = data.get("sources")
        return [source for source in sources if isinstance(source, str)] if isinstance(sources, list) else []  # pyright: ignore[reportUnknownVariableType] - JSON
    reference = data.get("document" if record.kind == "chunk" else "reply_to")
    return [reference] if isinstance(reference, str) else []


def _repair(engine: Engine, record: Record, absent: set[str], trace: Callable[[str], bool]) -> BatchChange | None:
    named = _referenced_ids(record)
    missing = [id for id in named if id in absent]
    if not missing:
        return None
    if record.kind == "chunk":
        return make_removal(record)
    data = dict(record.data)
    if record.kind == "message":
        del data["reply_to"]
        return engine.drafts.revise(record, {"data": data})
    lost = {id for id in missing if not trace(id)}
    if not lost:
        return None
    data["sources"] = [id for id in named if id not in lost]
    if record.kind == "fact" and "statements" in data:
        data["statements"] = [
            _without_source(statement) if statement.get("source") in lost else statement
            for statement in data["statements"]
        ]
    return engine.drafts.revise(record, {"data": data})


def _without_source(statement: Mapping[str, Any]) -> dict[str, Any]:
    """Return a statement that stands by itself, as one made by hand does: nobody can take it back by its source."""
    rest = {name: value for name, value in statement.items() if name not in ("source", "version")}
    return {**rest, "name": f"gone:{statement['source']}"}


# ---- relationships


def remove_orphans(engine: Engine, policy: RetentionPolicy, writer: BatchWriter, progress: PolicyProgress) -> None:
    """Remove relationships that were learned from facts that are gone, and those with an end that was a record and is gone."""
    tenant = policy.scope.tenant
    facts = Filter(scope=policy.scope, kinds=("fact",))
    fact_hashes = np.sort(np.array(array("q", _relationship_hashes(engine, facts)), np.int64))
    for page in iterate_pages(engine, Filter(scope=policy.scope, kinds=("relationship",))):
        alone = [
            DerivedId(relationship.id)
            for relationship in page
            if relationship.data.get("learned") and not _contains(fact_hashes, _id_hash(relationship.id))
        ]
        changes = [
            write for write in relationship_writes(engine, tenant, dict.fromkeys(alone)) if not isinstance(write, Put)
        ]
        ended = _dangling(engine, tenant, [relationship for relationship in page if relationship.id not in set(alone)])
        writer.write([*changes, *(make_removal(relationship) for relationship in ended)], progress)  # pyright: ignore[reportArgumentType] - never a RemoveAll


def _relationship_hashes(engine: Engine, facts: Filter) -> Iterator[int]:
    for page in iterate_pages(engine, facts):
        for record in page:
            subject, predicate, object = (record.data.get(name) for name in _PARTS["fact"])
            if isinstance(subject, str) and isinstance(predicate, str) and isinstance(object, str):
                yield _id_hash(LearnedRelationship.make_id(engine, record.scope, subject, object, predicate))


def _id_hash(id: str) -> int:
    return _short_hash(blake2b(id.encode(), digest_size=8).digest())


def _dangling(engine: Engine, tenant: str, relationships: Sequence[Record]) -> list[Record]:
    """Return those of which an end is the id of a record that was there once and is gone."""
    scope = Scope(tenant=tenant)
    ends = {end for relationship in relationships for end in _endpoints(relationship)}
    if not ends:
        return []
    there = {
        record.id for record in engine.store.read(Filter(scope=scope, ids=tuple(ends), quarantined=None), engine.now())
    }
    deleted = {end for end in ends - there if engine.store.history(scope, end)}
    return [relationship for relationship in relationships if not deleted.isdisjoint(_endpoints(relationship))]


def _endpoints(record: Record) -> list[str]:
    return [end for end in (record.data.get("entity"), record.data.get("target")) if isinstance(end, str)]
