"""Erase derived records: rebuild or remove the facts, relationships and summaries made from erased records."""

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from rememo.engine.engine import Engine
from rememo.engine.job_payloads import ABSTRACT, WRITE_AGAIN
from rememo.errors import NotFound, VersionConflict
from rememo.learn.facts import FactChanges, FactGroup, group_of, home, is_fact
from rememo.learn.reconcile import reconcile
from rememo.learn.relationships import CONNECTING, LearnedRelationship, relationship_writes
from rememo.learn.revisions import RevisionWrites
from rememo.learn.statements import Statement
from rememo.model.derived_ids import DerivedId
from rememo.model.erasure import ErasureTarget
from rememo.model.filters import Condition, Filter
from rememo.model.ids import new_id
from rememo.model.job import NewJob
from rememo.model.record import REVISION, Record
from rememo.model.revision import is_revision, rejections_of, revisions_of
from rememo.model.scope import Scope
from rememo.store.protocol.store import ErasingStore
from rememo.summary.room_summaries import RoomSummaries
from rememo.summary.stored import has_writer, is_stored_summary, rewrite_without

PIECES = "pieces"
"""Where a note keeps pieces of the texts of a record, a list for each version, for the search at the end."""

_SLOTS = 10
_CHUNK = 500
_MOST_TRIES = 50


class DerivedEraser:
    """The facts, relationships and summaries of a tenant, brought in line with one erasure."""

    def __init__(
        self,
        engine: Engine,
        store: ErasingStore,
        target: ErasureTarget,
        number: int,
        *,
        remove: Callable[[Iterable[str]], None],
        look_for: Callable[[str], object],
    ) -> None:
        """Work for an erasure: `remove` removes records for good, `look_for` notes a text that must be gone at the end."""
        self.engine = engine
        self._store = store
        self._target = target
        self._tenant = target.scope.tenant
        self._number = number
        self._remove = remove
        self._look_for = look_for

    # ---- before the records go

    def rewrite_summaries(self) -> None:
        """Write the summaries that stand on what is to be erased anew without it, or remove them.

        It comes first: whenever this is interrupted, no summary says any more what its sources no longer say.
        """
        if self._target.whole:
            return
        sources: dict[str, set[str]] = {}
        for record in self._store.versions(self._tenant, ["summary"]):
            if not self._target.covers(record.scope):
                sources.setdefault(record.id, set()).update(_source_ids(record))
        for id, ids in sources.items():
            if erased := self._erased_among(ids):
                self._rewrite_summary(id, erased)

    def _erased_among(self, ids: set[str]) -> set[str]:
        """Return which records are to be erased, of some."""
        candidates = sorted(ids if self._target.ids is None else ids.intersection(self._target.ids))
        erased: set[str] = set()
        for start in range(0, len(candidates), _CHUNK):
            some = tuple(candidates[start : start + _CHUNK])
            versions = self._store.doomed(ErasureTarget(scope=self._target.scope, ids=some), len(some))
            erased.update(version.id for version in versions)
        return erased

    def _rewrite_summary(self, id: str, erased: Container[str]) -> None:
        """Write one summary anew from the sources that are left, or remove it."""
        scope = Scope(tenant=self._tenant)
        for _ in range(_MOST_TRIES):
            record = self._store.get(Filter(scope=scope, ids=(id,), quarantined=None), self.engine.now())
            if record is not None and not any(source in erased for source in _source_ids(record)):
                # An erasure that was interrupted here has written it already.
                self._store.drop_versions(self._number, self._tenant, id, record.version)
                return
            write = (
                None
                if record is None or not is_stored_summary(record)
                else rewrite_without(self.engine, record, erased)
            )
            if record is None or write is None:
                self._remove([id])
                return
            if has_writer(self.engine, record.data["made_by"]):
                payload = {"room": record.scope.room, WRITE_AGAIN: True}
                write.draft.jobs = (*write.draft.jobs, NewJob(id=new_id(), task=ABSTRACT, payload=payload))
            try:
                receipt = self.engine.commit(scope, [write])
            except (NotFound, VersionConflict):
                continue  # somebody was faster: look again
            self._store.drop_versions(self._number, self._tenant, id, receipt.version)
            self._store.add_counts(self._number, self._tenant, {"summaries_rewritten": 1})
            if record.scope.room is not None:
                RoomSummaries(self.engine, self._tenant, record.scope.room).recount()
            return
        # It changed all the time: what cannot be written anew does not stay either.
        self._remove([id])

    # ---- when the records are gone

    def remove_derived(self) -> bool:
        """Work out anew, or remove, what stands on records that are gone; says whether there was anything."""
        marks = self._store.marks(self._number, self._tenant)
        naming: dict[str, Record] = {}
        for record in self._store.versions(self._tenant, ["fact", "summary", REVISION]):
            if any(id in marks for id in _source_ids(record)):
                naming[record.id] = record
        facts = [record for record in naming.values() if is_fact(record)]
        links = {
            id: {"link": True}
            for fact in facts
            if (id := _relationship_id(self.engine, fact)) is not None and id not in marks
        }
        self._store.mark(self._number, self._tenant, links)
        self._reconcile(marks, facts)
        for record in naming.values():
            if is_revision(record):
                self._retract_revisions(record.id, marks)
                self._keep_or_remove(record.id, marks)
            elif record.kind == REVISION:
                self._remove([record.id])
            elif is_fact(record):
                self._keep_or_remove(record.id, marks)
            else:
                self._rewrite_summary(record.id, marks)
        removed = [
            id
            for id, note in self._store.marks(self._number, self._tenant).items()
            if note.get("link") and self._has_ended(id)
        ]
        self._remove(removed)
        # What was noted is done with: the next round looks at what this one removed.
        done = {id: _keep_pieces(note) for id, note in marks.items() if note != _keep_pieces(note)}
        self._store.mark(self._number, self._tenant, done)
        return bool(naming)

    def _reconcile(self, marks: Mapping[str, Any], facts: Sequence[Record]) -> None:
        groups = {group_of(fact) for fact in facts}
        links: dict[str, tuple[FactGroup, str]] = {}
        for note in marks.values():
            if "slot" in note:
                labels, subject, predicate = note["slot"]
                group = FactGroup(Scope(tenant=self._tenant, **labels), subject, predicate)
                groups.add(group)
                if note["link"] is not None:
                    links[note["link"]] = group, note["object"]
        dropped = dict.fromkeys(marks, _always)
        ordered = sorted(groups, key=repr)
        for start in range(0, len(ordered), _SLOTS):
            some = set(ordered[start : start + _SLOTS])
            reconcile(self.engine, FactChanges(self._tenant, dropped=dropped, groups=some))
        for id, (group, about) in links.items():
            if not self._has_other_source(group, about):
                writes = relationship_writes(self.engine, self._tenant, {DerivedId(id): None})
                if writes:
                    self.engine.commit(Scope(tenant=self._tenant), writes)
                    self._store.mark(self._number, self._tenant, {id: {"link": True}})

    def _has_other_source(self, group: FactGroup, about: str) -> bool:
        """Whether a fact that is left says the same."""
        conditions = (
            Condition("data", ("match", "subject"), "$eq", group.subject),
            Condition("data", ("match", "object"), "$eq", about),
            Condition("data", ("predicate",), "$eq", group.predicate),
        )
        filter = Filter(scope=group.home, kinds=("fact",), conditions=conditions)
        return self._store.count(filter, self.engine.now()) > 0

    def _retract_revisions(self, id: str, marks: Mapping[str, Any]) -> None:
        """Take what erased records made of another one out of its revision record; what the others made of it stays."""
        scope = Scope(tenant=self._tenant)
        for _ in range(_MOST_TRIES):
            record = self._store.get(Filter(scope=scope, kinds=(REVISION,), ids=(id,)), self.engine.now())
            if record is None or not is_revision(record) or record.data["record"] in marks:
                return
            changes = RevisionWrites(self._tenant)
            noted = {**revisions_of(record), **rejections_of(record)}
            changes.clear(record, [key for key, revision in noted.items() if revision.by in marks])
            writes = changes.writes(self.engine)
            if not writes:
                return
            with suppress(NotFound, VersionConflict):  # somebody was faster: look again
                self.engine.commit(scope, writes)
                return

    def _keep_or_remove(self, id: str, marks: Mapping[str, Any]) -> None:
        """Keep a fact or a revision from the version on that names none of what is gone; without one, it goes too."""
        versions = self._store.history(Scope(tenant=self._tenant), id)
        naming = [version for version in versions if any(source in marks for source in _source_ids(version))]
        if not naming:
            return
        last = naming[-1].version
        if versions[-1].version > last and versions[-1].superseded_at is None:
            for version in naming:
                self._look_for(version.text)
            self._store.drop_versions(self._number, self._tenant, id, last + 1)
            if is_fact(versions[-1]):
                self._store.add_counts(self._number, self._tenant, {"facts_kept": 1})
        else:
            self._remove([id])

    def _has_ended(self, id: str) -> bool:
        versions = self._store.history(Scope(tenant=self._tenant), id)
        return bool(versions) and versions[-1].superseded_at is not None


def rebuild_note(engine: Engine, fact: Record, target: ErasureTarget) -> dict[str, Any]:
    """Return what must be worked out anew without a record; nothing where it is no fact, or all around it goes too."""
    if not is_fact(fact) or target.covers(home(fact.scope)):
        return {}
    group = group_of(fact)
    labels = {"agent": group.home.agent, "user": group.home.user, "room": group.home.room}
    return {
        "slot": [labels, group.subject, group.predicate],
        "link": _relationship_id(engine, fact),
        "object": fact.data["match"]["object"],
    }


def _keep_pieces(note: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in note.items() if name == PIECES}


def _always(_: Statement) -> bool:
    return True


def _source_ids(record: Record) -> list[str]:
    """Return the ids of what a record was made of; a summary also names those that it left out."""
    sources: list[str] = []
    for name in ("sources", "left_out", "kept"):
        ids = record.data.get(name)
        sources += [id for id in ids if isinstance(id, str)] if isinstance(ids, list) else []  # pyright: ignore[reportUnknownVariableType] - JSON
    return sources


def _relationship_id(engine: Engine, fact: Record) -> str | None:
    """Return the id of the relationship that a fact stands for."""
    data = fact.data
    if data["predicate"] not in CONNECTING:
        return None
    return LearnedRelationship.make_id(engine, fact.scope, data["subject"], data["object"], data["predicate"])
