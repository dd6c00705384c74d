"""Erasure: everything of somebody removed for good, what was made of it too, and a check that nothing is left.

It goes in short steps, so that nobody waits long for the store, and notes how far it is: whoever is interrupted goes on
by asking for the same again, or by `maintain()`.
"""

import json
import logging
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import sha256
from typing import Any, cast

from rememo.engine.audit import noting
from rememo.engine.engine import Engine
from rememo.errors import ArchiveError, MissingExtra, StorageError
from rememo.keep.archive import holding
from rememo.keep.targets import doomed_keys
from rememo.learn.facts import Changes, Slot, home, is_fact, settle, slot_of
from rememo.learn.relationships import CONNECTING, Link, link_writes
from rememo.learn.statements import Statement
from rememo.model.erasure import ErasureReceipt, Target
from rememo.model.filters import Condition, Filter
from rememo.model.record import Record
from rememo.model.scope import Scope
from rememo.store.chain import Half, malformed
from rememo.store.chain import Link as Line
from rememo.store.kv.protocol import EMBED_CACHE, KeyErasing
from rememo.store.needles import Needles
from rememo.store.protocol import Copying, Erasing, ErasingStore

_log = logging.getLogger("rememo.keep")

Rewrite = Callable[[Record, Sequence[Record]], Mapping[str, Any] | None]
"""Returns a summary's content made of the sources that are left, or None when it cannot be made again."""

_STEP_SECONDS = 0.02
_FIRST_STEP, _LARGEST_STEP = 10, 400
_SLOTS = 10
_MOST_TERMS = 100
_MOST_ROUNDS = 20
_LONGEST_WAIT = 15.0


def erasing(engine: Engine) -> ErasingStore:
    """Return the store of an engine as one that can remove for good; one that cannot is an error."""
    if not isinstance(engine.store, Erasing) or not isinstance(engine.plain_kv, KeyErasing):
        raise StorageError("this store cannot erase for good")
    return cast("ErasingStore", engine.store)


def note_backup(engine: Engine, path: str) -> None:
    """Remember a copy that was made, so that an erasure can tell of it; a store that cannot be written to now keeps no note."""
    if isinstance(engine.store, Copying):
        try:
            engine.store.note_backup(path, engine.now())
        except StorageError as error:  # the copy is whole all the same, and must not be lost for its note
            _log.warning(
                "the backup %s is made, but no erasure will tell of it, since it could not be noted: %s", path, error
            )


def resume(engine: Engine, tenant: str, rewrite: Rewrite) -> int:
    """End the erasures of a tenant that were interrupted; returns how many there were."""
    store = engine.store
    if not isinstance(store, Erasing):
        return 0
    pending = store.erasures(tenant)
    for number, target in pending:
        if target is None:
            store.purge(tenant, _LONGEST_WAIT)
            store.end_erasure(number, tenant, cleaned=True)
        else:
            erase(engine, target, rewrite)
    return len(pending)


def preview(engine: Engine, target: Target) -> ErasureReceipt:
    """Return what an erasure would remove: records, versions and keys. What was made of them is known only when they go."""
    now, tenant = engine.now(), target.scope.tenant
    counts = erasing(engine).weigh(target)
    if target.ids is None:
        goes = doomed_keys(target)
        held = [(space, entry.key) for space, entry in engine.plain_kv.dump(tenant, now) if space != EMBED_CACHE]
        counts["kv"] = sum(goes(space, key) for space, key in held)
    return ErasureReceipt(
        target=target.named,
        counts={name: count for name, count in counts.items() if count},
        checked={},
        leftovers=(),
        backups=(),
        archives=(),
        beyond=(),
        begun_at=now,
        ended_at=now,
        dry_run=True,
    )


def erase(engine: Engine, target: Target, rewrite: Rewrite) -> ErasureReceipt:
    """Remove a target for good and return the receipt; doing it again finds nothing more."""
    run = _Erasure(engine, target, rewrite)
    run.remove_records()
    run.wait_for_workers()
    for _ in range(_MOST_ROUNDS):
        if not run.remove_made_of_it():
            break
    run.remove_state()
    # What others wrote of it meanwhile.
    run.remove_records()
    run.redact()
    return run.prove()


class _Erasure:
    """One erasure under way."""

    def __init__(self, engine: Engine, target: Target, rewrite: Rewrite) -> None:
        self._engine = engine
        self._store = erasing(engine)
        self._target = target
        self._tenant = target.scope.tenant
        self._rewrite = rewrite
        self._began = engine.now()
        self._number = self._store.begin_erasure(target, self._began)
        self._needles = Needles()
        self._terms: dict[str, None] = {}
        self._unreadable: dict[int, str] = {}
        """Lines of the audit trail that were altered, with what is wrong with them."""

    # ---- the records themselves

    def remove_records(self) -> None:
        """Remove every version of the records, with words and vectors."""
        documents = self._remove(self._target)
        if documents and self._target.ids is not None:
            # What belongs to a document cannot be without it.
            chunks = {
                one.id for one in self._store.versions(self._tenant, ["chunk"]) if one.data.get("document") in documents
            }
            self._remove_ids(chunks)

    def _remove(self, target: Target) -> set[str]:
        """Remove what a target means; returns which of it were documents."""
        documents: set[str] = set()
        size = _FIRST_STEP
        while versions := self._store.doomed(target, size):
            marks: dict[str, Any] = {}
            for record in versions:
                self._look_for(record)
                marks.setdefault(record.id, {})
                if is_fact(record) and not self._target.covers(home(record.scope)):
                    marks[record.id] = _noted(record)
                if record.kind == "document":
                    documents.add(record.id)
            began = time.monotonic()
            self._store.obliterate(self._number, self._tenant, marks)
            taken = time.monotonic() - began
            size = max(1, min(_LARGEST_STEP, int(size * min(2.0, _STEP_SECONDS / max(taken, 0.001)))))
        return documents

    def _remove_ids(self, ids: Iterable[str]) -> None:
        wanted = sorted(ids)
        for start in range(0, len(wanted), _LARGEST_STEP):
            some = tuple(wanted[start : start + _LARGEST_STEP])
            self._remove(Target(scope=Scope(tenant=self._tenant), ids=some))

    def _look_for(self, record: Record) -> None:
        self._needles.add(record.text)
        if len(self._terms) < _MOST_TERMS:
            # The longest word of a text tells it best from others.
            terms = sorted(self._engine.analyzer.terms(record.text), key=len)
            self._terms.update(dict.fromkeys(terms[-1:]))

    def wait_for_workers(self) -> None:
        """Remove the jobs of what went; whoever is just learning from it may still write, so let him end first."""
        ends = time.monotonic() + _LONGEST_WAIT
        while self._store.forget(self._number, self._target, self._engine.now()) and time.monotonic() < ends:
            time.sleep(_STEP_SECONDS)

    # ---- what was made of them

    def remove_made_of_it(self) -> bool:
        """Work out anew, or remove, what stands on records that are gone; says whether there was anything."""
        marks = self._store.marks(self._number, self._tenant)
        naming: dict[str, Record] = {}
        for record in self._store.versions(self._tenant, ["fact", "summary"]):
            if any(id in marks for id in _sources(record)):
                naming[record.id] = record
        facts = [one for one in naming.values() if is_fact(one)]
        links = {id: {"link": True} for one in facts if (id := _link(one)) is not None and id not in marks}
        self._store.mark(self._number, self._tenant, links)
        self._settle(marks, facts)
        for record in naming.values():
            if is_fact(record):
                self._keep_or_remove(record.id, marks)
            else:
                self._summary_without(record, marks)
        gone = [
            id
            for id, note in self._store.marks(self._number, self._tenant).items()
            if note.get("link") and self._ended(id)
        ]
        self._remove_ids(gone)
        # What was noted is done with: the next round looks at what this one removed.
        self._store.mark(self._number, self._tenant, {id: {} for id, note in marks.items() if note})
        return bool(naming)

    def _settle(self, marks: Mapping[str, Any], facts: Sequence[Record]) -> None:
        slots = {slot_of(one) for one in facts}
        links: dict[str, tuple[Slot, str]] = {}
        for note in marks.values():
            if "slot" in note:
                labels, subject, predicate = note["slot"]
                slot = Slot(Scope(tenant=self._tenant, **labels), subject, predicate)
                slots.add(slot)
                if note["link"] is not None:
                    links[note["link"]] = slot, note["object"]
        dropped = dict.fromkeys(marks, _always)
        ordered = sorted(slots, key=repr)
        for start in range(0, len(ordered), _SLOTS):
            some = set(ordered[start : start + _SLOTS])
            settle(self._engine, Changes(self._tenant, dropped=dropped, slots=some))
        for id, (slot, about) in links.items():
            if not self._held(slot, about):
                writes = link_writes(self._engine, self._tenant, {id: None})
                if writes:
                    self._engine.commit(Scope(tenant=self._tenant), writes)
                    self._store.mark(self._number, self._tenant, {id: {"link": True}})

    def _held(self, slot: Slot, about: str) -> bool:
        """Whether a fact that is left says the same."""
        conditions = (
            Condition("data", ("match", "subject"), "$eq", slot.subject),
            Condition("data", ("match", "object"), "$eq", about),
            Condition("data", ("predicate",), "$eq", slot.predicate),
        )
        filter = Filter(scope=slot.home, kinds=("fact",), conditions=conditions)
        return self._store.count(filter, self._engine.now()) > 0

    def _keep_or_remove(self, id: str, marks: Mapping[str, Any]) -> None:
        """Keep a fact from the version on that names none of what is gone; without one, it goes too."""
        versions = self._store.history(Scope(tenant=self._tenant), id)
        naming = [one for one in versions if any(source in marks for source in _sources(one))]
        if not naming:
            return
        last = naming[-1].version
        if versions[-1].version > last and versions[-1].superseded_at is None:
            for one in naming:
                self._look_for(one)
            self._store.drop_versions(self._number, self._tenant, id, last + 1)
            self._store.add_counts(self._number, self._tenant, {"facts_kept": 1})
        else:
            self._remove_ids([id])

    def _summary_without(self, record: Record, marks: Mapping[str, Any]) -> None:
        """Write a summary anew from the sources that are left, or remove it."""
        scope = Scope(tenant=self._tenant)
        held = self._store.get(Filter(scope=scope, ids=(record.id,), quarantined=None), self._engine.now())
        left: list[Record] = []
        if held is not None:
            for id in _sources(held):
                versions = [] if id in marks else self._store.history(scope, id)
                left += versions[-1:]
        fields = self._rewrite(held, left) if held is not None and left else None
        if held is None or fields is None:
            self._remove_ids([record.id])
            return
        self._look_for(held)
        receipt = self._engine.commit(scope, [self._engine.revise(held, fields)])
        self._store.drop_versions(self._number, self._tenant, held.id, receipt.version)
        self._store.add_counts(self._number, self._tenant, {"summaries_rewritten": 1})

    def _ended(self, id: str) -> bool:
        versions = self._store.history(Scope(tenant=self._tenant), id)
        return bool(versions) and versions[-1].superseded_at is not None

    # ---- what else there is

    def remove_state(self) -> None:
        """Remove key-value state: of the scope, and what other scopes keep under the user's name."""
        keys = self._engine.plain_kv
        if isinstance(keys, KeyErasing):
            # Vectors that were paid for stand under hashes of texts, whosever they are: all of them are copies.
            keys.erase(self._tenant, lambda space, _: space == EMBED_CACHE)
        if self._target.ids is None and isinstance(keys, KeyErasing):
            gone = keys.erase(self._tenant, doomed_keys(self._target))
            self._store.add_counts(self._number, self._tenant, {"kv": gone})

    def redact(self) -> None:
        """Take what tells of it out of the audit trail; that it happened stays."""
        if not self._store.audit_head(self._tenant)[0].count:
            return
        marks, user = self._store.marks(self._number, self._tenant), self._target.scope.user

        def choose(line: Line) -> Sequence[Half]:
            if line.operation == "redact":
                return ()
            if (fault := malformed(line)) is not None:
                self._unreadable[line.number] = fault
                return ()
            halves: list[Half] = []
            gone = json.loads(line.gone or "{}")
            where = Scope(tenant=self._tenant, agent=line.agent, user=line.user, room=line.room)
            own = self._target.whole or (user is not None and line.actor == user)
            if own and (line.actor or line.session or line.address) and "who" not in gone:
                halves.append("who")
            # A flow keeps a user's state under the user's name.
            names = self._store.audit_names(self._tenant, json.loads(line.ids))
            named = self._target.covers(where) or any(id in marks or id == user for id in names)
            told = line.agent or line.user or line.room or line.ids != "[]" or line.flags != "[]"
            if named and told and "what" not in gone:
                halves.append("what")
            return halves

        note = noting("redact", Scope(tenant=self._tenant), self._engine.now())
        self._store.add_counts(self._number, self._tenant, {"audit_lines": self._store.redact(note, choose)})

    # ---- proof

    def prove(self) -> ErasureReceipt:
        """Clean the bytes, look for what was removed, and return the receipt."""
        store, target = self._store, self._target
        ids = list(store.marks(self._number, self._tenant))
        began, counts = store.erasure(self._number, self._tenant)
        archives, unasked = self._archives()
        # From here on nothing tells of the person any more, not even what is under way.
        store.end_erasure(self._number, self._tenant, cleaned=False)
        # Others that were interrupted here are cleaned with it.
        pending = [number for number, other in store.erasures(self._tenant) if other is None]
        unclean = store.purge(self._tenant, _LONGEST_WAIT)
        leftovers = [f"{count} {name}" for name, count in store.remains(target, list(self._terms)).items()] + unasked
        leftovers += [
            f"line {number} of the audit trail, which was altered and cannot be redacted: {fault}"
            for number, fault in sorted(self._unreadable.items())
        ]
        if unclean is not None:
            leftovers.append(unclean)
        searched = store.search_bytes(self._tenant, self._needles)
        if self._needles.found:
            leftovers.append(f"{len(self._needles.found)} pieces of texts elsewhere in the store")
        receipt = ErasureReceipt(
            target=target.named,
            counts=counts,
            checked={
                "texts": self._needles.texts,
                "terms": len(self._terms),
                **searched,
                "pieces_others_have": self._needles.elsewhere,
            },
            leftovers=tuple(leftovers),
            backups=tuple(store.backups()) if ids and isinstance(store, Copying) else (),
            archives=archives,
            beyond=store.beyond if ids else (),
            begun_at=began or self._began,
            ended_at=self._engine.now(),
        )
        if self._engine.audit is not None or store.audit_head(self._tenant)[0].count:
            whom = sha256(json.dumps(target.named, sort_keys=True).encode()).hexdigest()
            detail = {"target": sorted(target.named), "target_sha256": whom, **counts, "receipt": receipt.digest}
            store.note(noting("erase", Scope(tenant=self._tenant), receipt.ended_at, detail))
        for number in pending if unclean is None else ():
            store.end_erasure(number, self._tenant, cleaned=True)
        return receipt

    def _archives(self) -> tuple[tuple[str, ...], list[str]]:
        """Return the archives that hold what was erased, or why they could not be asked: what is gone is gone."""
        try:
            return tuple(holding(self._engine, self._target.scope, self._target.ids)), []
        except (ArchiveError, MissingExtra) as error:
            return (), [f"the archives, which could not be asked: {error}"]


def _always(_: Statement) -> bool:
    return True


def _sources(record: Record) -> list[str]:
    sources = record.data.get("sources")
    return [one for one in sources if isinstance(one, str)] if isinstance(sources, list) else []  # pyright: ignore[reportUnknownVariableType] - JSON


def _noted(fact: Record) -> dict[str, Any]:
    """Return what must be worked out anew without a fact."""
    slot = slot_of(fact)
    labels = {"agent": slot.home.agent, "user": slot.home.user, "room": slot.home.room}
    return {
        "slot": [labels, slot.subject, slot.predicate],
        "link": _link(fact),
        "object": fact.data["match"]["object"],
    }


def _link(fact: Record) -> str | None:
    """Return the id of the relationship that a fact stands for."""
    data = fact.data
    if data["predicate"] not in CONNECTING:
        return None
    return Link.make_id(fact.scope, data["subject"], data["object"], data["predicate"])
