"""Erasure: everything of somebody removed for good, what was made of it too, and a check that nothing is left.

It goes in short steps, so that nobody waits long for the store, and notes how far it is: whoever is interrupted goes on
by asking for the same again, or by `maintain()`.
"""

import json
import logging
import time
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Any, cast

from rememo.engine.audit import new_audit_entry
from rememo.engine.engine import Engine
from rememo.errors import ArchiveError, MissingExtra, StorageError
from rememo.keep.archive import archives_holding
from rememo.keep.batches import iterate_jobs
from rememo.keep.derived_erasure import PIECES, DerivedEraser, rebuild_note
from rememo.keep.erasure_search import CACHES, ErasureFindings, ErasureSearch, SessionCleaner, summarise_leftovers
from rememo.keep.erasure_targets import key_predicate
from rememo.learn.revise.sentence import forget_sentences
from rememo.model.erasure import ErasureReceipt, ErasureTarget
from rememo.model.record import Record
from rememo.model.scope import Scope
from rememo.store.audit_chain import AuditRow as Line
from rememo.store.audit_chain import Half, describe_malformed
from rememo.store.byte_patterns import BytePatterns
from rememo.store.kv.namespaces import parse_namespace
from rememo.store.kv.protocol import KeyValueErasure
from rememo.store.protocol.erasure import RecordErasure
from rememo.store.protocol.maintenance import BackupLog
from rememo.store.protocol.store import ErasingStore
from rememo.summary.stored import is_stored_summary

_log = logging.getLogger("rememo.keep")

_STEP_SECONDS = 0.02
_FIRST_STEP, _LARGEST_STEP = 10, 400
_MOST_TERMS = 100
_MOST_ROUNDS = 20
_LONGEST_WAIT = 15.0
_RECEIPT_KEPT = timedelta(days=1)
"""How long an erasure whose receipt was not returned waits for somebody to ask for it again."""
_AFTER_EVERY_LEASE = datetime.max.replace(tzinfo=UTC)
_NO_TASK = ""
"""The mark of an erasure that has named copies which are still there; no record has such an id."""


def need_erasing_store(engine: Engine) -> ErasingStore:
    """Return the store of an engine as one that can remove for good; one that cannot is an error."""
    if not isinstance(engine.store, RecordErasure) or not isinstance(engine.plain_kv, KeyValueErasure):
        raise StorageError("this store cannot erase for good")
    return cast("ErasingStore", engine.store)


def note_backup(engine: Engine, path: str) -> None:
    """Remember a copy that was made, so that an erasure can tell of it; a store that cannot be written to now keeps no note."""
    if isinstance(engine.store, BackupLog):
        try:
            engine.store.note_backup(path, engine.now())
        except StorageError as error:  # the copy is whole all the same, and must not be lost for its note
            _log.warning(
                "the backup %s is made, but no erasure will tell of it, since it could not be noted: %s", path, error
            )


def resume(engine: Engine, tenant: str, clean: SessionCleaner) -> int:
    """End the erasures of a tenant that were interrupted; returns how many there were.

    One that only waits for people, who must remove what it has named as left, is not done again by itself.
    """
    store = engine.store
    if not isinstance(store, RecordErasure):
        return 0
    pending = [erasure for erasure in store.erasures(tenant) if set(store.marks(erasure[0], tenant)) != {_NO_TASK}]
    for number, target in pending:
        if target is None:
            began, counts = store.erasure(number, tenant)
            kept = counts and began is not None and began > engine.now() - _RECEIPT_KEPT
            if store.purge(tenant, _LONGEST_WAIT) is None and not kept:
                store.end_erasure(number, tenant)
        else:
            _run(engine, target, clean).finish(returned=False)
    return len(pending)


def preview(engine: Engine, target: ErasureTarget, clean: SessionCleaner) -> ErasureReceipt:
    """Return what an erasure would remove: records, versions, keys, and saved sessions that would change.

    What was made of them is known only when they go.
    """
    now, tenant = engine.now(), target.scope.tenant
    counts = need_erasing_store(engine).weigh(target)
    if target.ids is None:
        goes = key_predicate(target)
        entries = [(space, entry.key) for space, entry in engine.plain_kv.dump(tenant, now)]
        counts["kv"] = sum(
            goes(space, key) for space, key in entries if parse_namespace(tenant, space)[1] not in CACHES
        )
    if not target.whole:
        search = ErasureSearch(engine, need_erasing_store(engine), target, BytePatterns(), target.ids or ())
        counts["sessions"] = search.count_affected_sessions(clean)
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


def erase(engine: Engine, target: ErasureTarget, clean: SessionCleaner) -> ErasureReceipt:
    """Remove a target for good and return the receipt; doing it again finds nothing more.

    Where one was interrupted at whatever moment, the receipt tells what that one has removed too.
    """
    return _run(engine, target, clean).finish()


def _run(engine: Engine, target: ErasureTarget, clean: SessionCleaner) -> "_Erasure":
    """Remove a target; what is left to do is to clean the bytes."""
    run = _Erasure(engine, target)
    # Until a round finds nothing that others wrote meanwhile.
    for _ in range(_MOST_ROUNDS):
        if not run.remove_records():
            break
    run.clean_copies(clean)
    run.redact()
    forget_sentences()
    return run


class _Erasure:
    """One erasure under way."""

    def __init__(self, engine: Engine, target: ErasureTarget) -> None:
        self.engine = engine
        self._store = need_erasing_store(engine)
        self._target = target
        self._tenant = target.scope.tenant
        self._began = engine.now()
        self._number = self._store.begin_erasure(target, self._began)
        self._patterns = BytePatterns()
        self._terms: dict[str, None] = {}
        self._findings = ErasureFindings()
        self._jobs: dict[str, list[str]] = {}
        """The jobs that are about each record."""
        self._unreadable: dict[int, str] = {}
        """Lines of the audit trail that were altered, with what is wrong with them."""
        self._derived = DerivedEraser(
            engine, self._store, target, self._number, remove=self._remove_ids, look_for=self._patterns.add
        )
        # What an interrupted run has removed must be gone too.
        for note in self._store.marks(self._number, self._tenant).values():
            for pieces in note.get(PIECES, ()):
                self._patterns.add_pieces(pieces)

    # ---- the records themselves

    def remove_records(self) -> bool:
        """Remove what the target means and what was made of it; says whether there was anything."""
        self._find_jobs()
        self._derived.rewrite_summaries()
        removed, documents = self._remove(self._target)
        if documents and self._target.ids is not None:
            # What belongs to a document cannot be without it.
            chunks = {
                version.id
                for version in self._store.versions(self._tenant, ["chunk"])
                if version.data.get("document") in documents
            }
            self._remove_ids(chunks)
        self._wait_for_workers()
        for _ in range(_MOST_ROUNDS):
            if not self._derived.remove_derived():
                break
        return self._remove_keys() or removed

    def _remove(self, target: ErasureTarget) -> tuple[bool, set[str]]:
        """Remove the records that a target means; says whether there were any, and which of them were documents."""
        documents: set[str] = set()
        size, removed = _FIRST_STEP, False
        while versions := self._store.doomed(target, size):
            marks: dict[str, dict[str, Any]] = {}
            for record in versions:
                mark = marks.setdefault(record.id, {})
                if pieces := self._look_for(record):
                    mark.setdefault(PIECES, []).append(pieces)
                mark |= rebuild_note(self.engine, record, self._target)
                if record.kind == "document":
                    documents.add(record.id)
            began, removed = time.monotonic(), True
            # In the same transaction: whenever this is interrupted, no job is left for a record that is gone.
            jobs = [job for id in marks for job in self._jobs.pop(id, ())]
            self._store.obliterate(self._number, self._tenant, marks, jobs)
            seconds = time.monotonic() - began
            size = max(1, min(_LARGEST_STEP, int(size * min(2.0, _STEP_SECONDS / max(seconds, 0.001)))))
        return removed, documents

    def _find_jobs(self) -> None:
        """Find the jobs that are about each record: once, since no index leads from one to the other."""
        self._jobs = {}
        for job in iterate_jobs(self._store, self._tenant):
            if isinstance(record := job.payload.get("record"), str):
                self._jobs.setdefault(record, []).append(job.id)

    def _remove_ids(self, ids: Iterable[str]) -> None:
        ids_in_order = sorted(ids)
        for start in range(0, len(ids_in_order), _LARGEST_STEP):
            some = tuple(ids_in_order[start : start + _LARGEST_STEP])
            self._remove(ErasureTarget(scope=Scope(tenant=self._tenant), ids=some))

    def _look_for(self, record: Record) -> list[str]:
        """Look for the text of a record at the end, and return by which pieces."""
        if len(self._terms) < _MOST_TERMS:
            # The longest word of a text tells it best from others.
            terms = sorted(self.engine.analyzer.terms(record.text), key=len)
            self._terms.update(dict.fromkeys(terms[-1:]))
        # How a summary begins tells nothing of anybody, and the rest of it stands in its sources.
        return [] if is_stored_summary(record) else self._patterns.add(record.text)

    def _wait_for_workers(self) -> None:
        """Remove the jobs of what went; whoever is just learning from it may still write, so let him end first."""
        ends = time.monotonic() + _LONGEST_WAIT
        while self._store.forget(self._number, self._target, self.engine.now()):
            if time.monotonic() >= ends:
                # Whoever is still at it loses the lease, and stops: no job may name what is gone.
                self._store.forget(self._number, self._target, _AFTER_EVERY_LEASE)
                return
            time.sleep(_STEP_SECONDS)

    def _remove_keys(self) -> bool:
        """Remove key-value state: of the scope, and what other scopes keep under the user's name; says whether there was any."""
        keys = self.engine.plain_kv
        if not isinstance(keys, KeyValueErasure):
            return False
        # Vectors that were paid for, and what was loaded from elsewhere, are copies, whosever they are.
        keys.erase(self._tenant, lambda space, _: parse_namespace(self._tenant, space)[1] in CACHES)
        if self._target.ids is not None:
            return False
        erased_keys = keys.erase(self._tenant, key_predicate(self._target))
        self._store.add_counts(self._number, self._tenant, {"kv": erased_keys})
        return erased_keys > 0

    # ---- what else there is

    def clean_copies(self, clean: SessionCleaner) -> None:
        """Look for what was erased in everything that is left, and take it out of saved sessions and jobs."""
        if self._target.whole:
            return
        marks = self._store.marks(self._number, self._tenant)
        search = ErasureSearch(self.engine, self._store, self._target, self._patterns, marks)
        search.search_records()
        self._store.add_counts(self._number, self._tenant, search.clean_keys(clean))
        search.clean_jobs(self._number)
        search.search_snapshots()
        self._findings = search.findings

    def redact(self) -> None:
        """Take what tells of it out of the audit trail; that it happened stays."""
        if not self._store.audit_head(self._tenant)[0].count:
            return
        marks, user = self._store.marks(self._number, self._tenant), self._target.scope.user

        def choose(line: Line) -> Sequence[Half]:
            if line.operation == "redact":
                return ()
            if (fault := describe_malformed(line)) is not None:
                self._unreadable[line.number] = fault
                return ()
            halves: list[Half] = []
            redacted = json.loads(line.gone or "{}")
            where = Scope(tenant=self._tenant, agent=line.agent, user=line.user, room=line.room)
            concerned = self._target.whole or (user is not None and line.actor == user)
            if concerned and (line.actor or line.session or line.address) and "who" not in redacted:
                halves.append("who")
            # A flow keeps a user's state under the user's name.
            names = self._store.decode_audit_ids(self._tenant, json.loads(line.ids))
            named = self._target.covers(where) or any(id in marks or id == user for id in names)
            has_labels = line.agent or line.user or line.room or line.ids != "[]" or line.flags != "[]"
            if named and has_labels and "what" not in redacted:
                halves.append("what")
            return halves

        note = new_audit_entry("redact", Scope(tenant=self._tenant), self.engine.now())
        self._store.add_counts(self._number, self._tenant, {"audit_lines": self._store.redact(note, choose)})

    # ---- proof

    def finish(self, *, returned: bool = True) -> ErasureReceipt:
        """Clean the bytes, look for what was removed, and return the receipt; unless that is `returned`, it can be asked for."""
        store, target = self._store, self._target
        began, counts = store.erasure(self._number, self._tenant)
        archives, unasked = self._find_archives()
        # From here on nothing tells of the person any more, not even what is under way: but whoever asks for the same
        # again, because this is interrupted, gets the counts.
        store.forget_target(self._number, target)
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
        searched = store.search_bytes(self._tenant, self._patterns)
        leftovers += summarise_leftovers(self._findings.leftovers)
        # What stands in the copies is named already, and what others say is theirs.
        self._patterns.found -= self._findings.in_other_records | self._findings.in_copies
        if self._patterns.found:
            leftovers.append(f"{len(self._patterns.found)} pieces of texts elsewhere in the store")
        removed = "records" in counts
        receipt = ErasureReceipt(
            target=target.named,
            counts=counts,
            checked={
                "texts": self._patterns.texts,
                "terms": len(self._terms),
                **searched,
                "pieces_others_have": len(self._findings.in_other_records) + self._patterns.elsewhere,
            },
            leftovers=tuple(leftovers),
            backups=tuple(store.backups()) if removed and isinstance(store, BackupLog) else (),
            archives=archives,
            beyond=store.beyond if removed else (),
            begun_at=began or self._began,
            ended_at=self.engine.now(),
        )
        if self._findings.leftovers:
            # Whoever asks again must not be told that all is gone. The copies say these words anyway; nothing else is kept.
            store.begin_erasure(target, self._began)
            store.mark(self._number, self._tenant, {_NO_TASK: {PIECES: [sorted(self._findings.in_copies)]}})
        if self.engine.audit is not None or store.audit_head(self._tenant)[0].count:
            whom = sha256(json.dumps(target.named, sort_keys=True).encode()).hexdigest()
            detail = {"target": sorted(target.named), "target_sha256": whom, **counts, "receipt": receipt.digest}
            store.note(new_audit_entry("erase", Scope(tenant=self._tenant), receipt.ended_at, detail))
        asked_again = bool(self._findings.leftovers) or not returned
        if unclean is None:
            self._end(number for number in pending if number != self._number or not asked_again)
        return receipt

    def _end(self, numbers: Iterable[int]) -> None:
        """Forget erasures that are over; one that is not forgotten now is by the next that asks, and costs no receipt."""
        try:
            for number in numbers:
                self._store.end_erasure(number, self._tenant)
        except StorageError as error:
            _log.warning("an erasure is done, but could not be noted as done: %s", error)

    def _find_archives(self) -> tuple[tuple[str, ...], list[str]]:
        """Return the archives that hold what was erased, or why they could not be asked: what is gone is gone."""
        try:
            return tuple(archives_holding(self.engine, self._target.scope, self._target.ids)), []
        except (ArchiveError, MissingExtra) as error:
            return (), [f"the archives, which could not be asked: {error}"]
