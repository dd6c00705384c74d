"""What does not fit together is found and mended: copies, references to what is gone, relationships without ends."""

from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rememo.engine.engine import Engine
from rememo.keep.batches import Change, Tally, Writer, removal, walk
from rememo.learn.relationships import LearnedRelationship, relationship_writes
from rememo.model.check import dump_json
from rememo.model.derived_ids import DerivedId
from rememo.model.filters import Filter
from rememo.model.record import Record
from rememo.model.retention import RetentionPolicy
from rememo.model.scope import Scope
from rememo.store.writes import Put

_PARTS = {"fact": ("subject", "predicate", "object"), "relationship": ("entity", "target", "type")}
REFERRING = ("chunk", "fact", "message", "summary")
"""The kinds whose references are looked at."""


# ---- copies


def duplicates(engine: Engine, policy: RetentionPolicy, writer: Writer, tally: Tally) -> None:
    """Remove records that say what another of the same scope says; the best stays, and whatever is pinned."""
    filter = Filter(scope=policy.scope, kinds=policy.kinds)
    twice = _twice(_mark(_content(one)) for page in walk(engine, filter) for one in page)
    if not len(twice):
        return
    best: dict[bytes, Record] = {}
    for page in walk(engine, filter):
        changes: list[Change] = []
        for record in page:
            content = _content(record)
            if not _among(twice, _mark(content)):
                continue
            other = best.get(content)
            if other is None:
                best[content] = record
                continue
            worse, best[content] = (other, record) if _worth(record) > _worth(other) else (record, other)
            if not (worse.pinned and policy.keep_pinned):
                changes.append(removal(worse))
        writer.write(changes, tally)


def _content(record: Record) -> bytes:
    """Return what is equal for records that say the same in the same scope."""
    data: dict[str, Any] = record.data
    scope, said = record.scope, list[Any]()
    names = _PARTS.get(record.kind, ())
    if names and all(isinstance(data.get(name), str) for name in names):
        said = [" ".join(data[name].casefold().split()) for name in names] + [_iso(record.valid_from)]
    else:
        said = [record.text, data, record.metadata, _iso(record.occurred_at)]
    told = dump_json([record.kind, scope.agent, scope.user, scope.room, *said])
    return blake2b(told.encode(), digest_size=16).digest()


def _iso(value: Any) -> str | None:
    return None if value is None else value.isoformat()


def _worth(record: Record) -> tuple[bool, float, float]:
    """Return what decides which of two copies stays; of equal ones the older."""
    confidence = record.data.get("confidence")
    return record.pinned, float(confidence) if isinstance(confidence, int | float) else 0.0, record.importance or 0.0


def _mark(content: bytes) -> int:
    return int.from_bytes(content[:8], "little", signed=True)


def _twice(marks: Iterable[int]) -> NDArray[np.int64]:
    """Return the marks that stand more than once, sorted."""
    found = np.sort(np.array(array("q", marks), np.int64))
    return np.unique(found[1:][found[1:] == found[:-1]])


def _among(marks: NDArray[np.int64], mark: int) -> bool:
    place = int(np.searchsorted(marks, mark))
    return place < len(marks) and int(marks[place]) == mark


# ---- references


def references(engine: Engine, policy: RetentionPolicy, writer: Writer, tally: Tally) -> None:
    """Mend references to what is gone.

    A chunk without its document goes. A reply to a message that is gone stays and is a reply no more. Facts and summaries
    stay, and name no source of which not even a past version is left.
    """
    tenant = Scope(tenant=policy.scope.tenant)
    for page in walk(engine, Filter(scope=policy.scope, kinds=policy.kinds)):
        named = {id for record in page for id in _named(record)}
        if not named:
            continue
        there = {
            one.id for one in engine.store.read(Filter(scope=tenant, ids=tuple(named), quarantined=None), engine.now())
        }
        absent = named - there
        if not absent:
            continue
        traces = _Traces(engine, tenant)
        changes = (_mended(engine, record, absent, traces) for record in page)
        writer.write([one for one in changes if one is not None], tally)


class _Traces:
    """Whether anything of a record is left, asked once for each."""

    def __init__(self, engine: Engine, tenant: Scope) -> None:
        self._engine = engine
        self._tenant = tenant
        self._known: dict[str, bool] = {}

    def __call__(self, id: str) -> bool:
        if id not in self._known:
            self._known[id] = bool(self._engine.store.history(self._tenant, id))
        return self._known[id]


def _named(record: Record) -> list[str]:
    """Return the ids that a record refers to."""
    data = record.data
    if record.kind in ("fact", "summary"):
        sources = data.get("sources")
        return [one for one in sources if isinstance(one, str)] if isinstance(sources, list) else []  # pyright: ignore[reportUnknownVariableType] - JSON
    one = data.get("document" if record.kind == "chunk" else "reply_to")
    return [one] if isinstance(one, str) else []


def _mended(engine: Engine, record: Record, absent: set[str], trace: Callable[[str], bool]) -> Change | None:
    named = _named(record)
    gone = [id for id in named if id in absent]
    if not gone:
        return None
    if record.kind == "chunk":
        return removal(record)
    data = dict(record.data)
    if record.kind == "message":
        del data["reply_to"]
        return engine.revise(record, {"data": data})
    lost = {id for id in gone if not trace(id)}
    if not lost:
        return None
    data["sources"] = [id for id in named if id not in lost]
    if record.kind == "fact" and "statements" in data:
        data["statements"] = [_unsourced(one) if one.get("source") in lost else one for one in data["statements"]]
    return engine.revise(record, {"data": data})


def _unsourced(statement: Mapping[str, Any]) -> dict[str, Any]:
    """Return a statement that stands by itself, as one made by hand does: nobody can take it back by its source."""
    rest = {name: value for name, value in statement.items() if name not in ("source", "version")}
    return {**rest, "name": f"gone:{statement['source']}"}


# ---- relationships


def orphans(engine: Engine, policy: RetentionPolicy, writer: Writer, tally: Tally) -> None:
    """Take back relationships that were learned from facts that are gone, and those of which an end was a record that is gone."""
    tenant = policy.scope.tenant
    facts = Filter(scope=policy.scope, kinds=("fact",))
    held = np.sort(np.array(array("q", _links(engine, facts)), np.int64))
    for page in walk(engine, Filter(scope=policy.scope, kinds=("relationship",))):
        alone = [DerivedId(one.id) for one in page if one.data.get("learned") and not _among(held, _mark_of(one.id))]
        changes = [one for one in relationship_writes(engine, tenant, dict.fromkeys(alone)) if not isinstance(one, Put)]
        ended = _ended(engine, tenant, [one for one in page if one.id not in set(alone)])
        writer.write([*changes, *(removal(one) for one in ended)], tally)  # pyright: ignore[reportArgumentType] - never a RemoveAll


def _links(engine: Engine, facts: Filter) -> Iterator[int]:
    for page in walk(engine, facts):
        for record in page:
            subject, predicate, object = (record.data.get(name) for name in _PARTS["fact"])
            if isinstance(subject, str) and isinstance(predicate, str) and isinstance(object, str):
                yield _mark_of(LearnedRelationship.make_id(engine, record.scope, subject, object, predicate))


def _mark_of(id: str) -> int:
    return _mark(blake2b(id.encode(), digest_size=8).digest())


def _ended(engine: Engine, tenant: str, relationships: Sequence[Record]) -> list[Record]:
    """Return those of which an end is the id of a record that was there once and is gone."""
    scope = Scope(tenant=tenant)
    ends = {end for one in relationships for end in _ends(one)}
    if not ends:
        return []
    there = {one.id for one in engine.store.read(Filter(scope=scope, ids=tuple(ends), quarantined=None), engine.now())}
    gone = {end for end in ends - there if engine.store.history(scope, end)}
    return [one for one in relationships if not gone.isdisjoint(_ends(one))]


def _ends(record: Record) -> list[str]:
    return [end for end in (record.data.get("entity"), record.data.get("target")) if isinstance(end, str)]
