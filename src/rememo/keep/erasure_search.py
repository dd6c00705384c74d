"""Search for copies of erased text: every record, key, job and snapshot of a tenant is opened and searched.

A search of bytes finds nothing in what is compressed or encrypted, and cannot tell whose words it found. Here contents are read
as they are. What somebody else says in a record of his own is his. A copy is no excuse for itself: a value, a summary, a
saved session, a key, the error of a job are cleaned, or named as left.
"""

import json
from collections.abc import Callable, Container, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TypeVar

from rememo.engine.engine import Engine
from rememo.keep.batches import iterate_jobs
from rememo.model.check import texts_in
from rememo.model.erasure import ErasureTarget
from rememo.model.record import KINDS, REVISION, STATE, Record
from rememo.model.scope import LABELS, Scope
from rememo.store.byte_patterns import BytePatterns
from rememo.store.kv.namespaces import parse_namespace
from rememo.store.kv.protocol import EMBED_CACHE, Entry, KeyValue
from rememo.store.kv.routed import separate_stores
from rememo.store.protocol.store import ErasingStore

CACHES = ("cached", EMBED_CACHE)
"""Namespaces that hold only copies of what is kept elsewhere: all of them may be removed at any time."""
_SESSIONS = "sessions"
_COPIES = {STATE: "the value", "summary": "the summary", REVISION: "the revision"}
"""Kinds of records that nobody said: what stands in them was copied or made from elsewhere."""
_EVERYTHING = datetime(1970, 1, 1, tzinfo=UTC)
"""A moment at which nothing that is stored had expired."""
_BATCH_BYTES = 1 << 18
_MOST_TRIES = 100
_MOST_NAMED = 20
_NAMES = {"": "the key", "flows": "the flow of", "profiles": "the profile of"}

T = TypeVar("T")

SessionCleaner = Callable[
    [Engine, Scope, str, Callable[[Scope, str], bool], Callable[[Iterable[str]], bool]], str | None
]
"""Takes the engine, the labels of a saved session, its JSON, what says whether a record of some labels and id is erased, and what says
whether texts hold erased words. Returns the JSON without them (the same where nothing is erased), or None where it cannot be
kept."""


@dataclass(slots=True)
class ErasureFindings:
    """Where a search found pieces of erased texts."""

    in_other_records: set[str] = field(default_factory=set[str])
    """Pieces of erased texts that others say in their own right."""
    in_copies: set[str] = field(default_factory=set[str])
    """Pieces that stand in copies which are still there."""
    leftovers: list[str] = field(default_factory=list[str])
    """The copies that are still there, for people."""


class ErasureSearch:
    """Looks for erased words in everything that a tenant has, and removes copies of them where that can be done."""

    def __init__(
        self,
        engine: Engine,
        store: ErasingStore,
        target: ErasureTarget,
        patterns: BytePatterns,
        erased_ids: Container[str],
    ) -> None:
        """Search for the pieces of texts in `patterns`, and for the records whose ids are in `gone`."""
        self.engine = engine
        self._store = store
        self._target = target
        self._tenant = target.scope.tenant
        self._patterns = patterns
        self._erased_ids = erased_ids
        self.findings = ErasureFindings()

    # ---- records

    def search_records(self) -> None:
        """Find who else says what was erased, and which values and summaries hold a copy of it."""
        copies: dict[tuple[str, str], tuple[Scope, set[str]]] = {}
        versions = self._store.versions(self._tenant, sorted(KINDS)) if self._patterns else ()
        for record, pieces in self._find_matches((version, _record_texts(version)) for version in versions):
            if record.kind in _COPIES:
                copies.setdefault((record.kind, record.id), (record.scope, set()))[1].update(pieces)
            else:
                self.findings.in_other_records |= pieces
        for (kind, id), (scope, pieces) in sorted(copies.items(), key=lambda copy: copy[0]):
            self._report_leftover(
                f"{_COPIES[kind]} {id!r}{_describe_scope(scope)}", pieces, f"erase(ids=[{id!r}]) removes it"
            )

    # ---- keys

    def clean_keys(self, clean: SessionCleaner) -> dict[str, int]:
        """Take what was erased out of saved sessions, and name the other keys that hold it; returns what was changed.

        It comes after `search_records`, which tells what is no copy.
        """
        counts = {"sessions": 0, "sessions_removed": 0, "kv": 0}
        for kv in separate_stores(self.engine.plain_kv):
            now, remaining = self.engine.now(), list[tuple[str, Entry]]()
            for space, entry in kv.dump(self._tenant, _EVERYTHING):
                if parse_namespace(self._tenant, space)[1] == _SESSIONS:
                    done = self._clean_session(kv, space, entry, clean)
                    counts["sessions"] += done == "changed"
                    counts["sessions_removed"] += done == "removed"
                elif self._patterns:
                    remaining.append((space, entry))
            for (space, entry), pieces in self._find_matches(
                (entry, [entry[1].key, *_json_texts(entry[1].value)]) for entry in remaining
            ):
                if not pieces - self.findings.in_other_records:
                    continue
                if entry.expires_at is not None and entry.expires_at <= now:
                    kv.delete(self._tenant, space, entry.key, now)
                    counts["kv"] += 1
                    continue
                scope, name = parse_namespace(self._tenant, space)
                what = _NAMES.get(name, f"the entry in {name!r}")
                self._report_leftover(f"{what} {entry.key!r}{_describe_scope(scope)}", pieces, "change or delete it")
        return counts

    def count_affected_sessions(self, clean: SessionCleaner) -> int:
        """Return how many saved sessions would be changed or removed, beside those that go as a whole."""
        count = 0
        for kv in separate_stores(self.engine.plain_kv):
            for space, entry in kv.dump(self._tenant, self.engine.now()):
                scope, name = parse_namespace(self._tenant, space)
                if name == _SESSIONS and not self._target.covers(scope):
                    count += self._clean_value(space, entry, clean) != entry.value
        return count

    def _clean_session(self, kv: KeyValue, space: str, saved: Entry, clean: SessionCleaner) -> str:
        entry: Entry | None = saved
        for _ in range(_MOST_TRIES):
            if entry is None:
                return "gone"
            now = self.engine.now()
            value = self._clean_value(space, entry, clean)
            if value == entry.value:
                return "kept"
            ttl = None if entry.expires_at is None else (entry.expires_at - now).total_seconds()
            if value is None or (ttl is not None and ttl <= 0):
                break
            kv_key = (self._tenant, space, entry.key)
            if kv.set(*kv_key, value, now, ttl=ttl, sliding=entry.sliding is not None, expected=entry.version):
                return "changed"
            entry = kv.get(*kv_key, now)  # somebody saved it meanwhile
        # What cannot be cleaned does not stay.
        kv.delete(self._tenant, space, saved.key, self.engine.now())
        return "removed"

    def _clean_value(self, space: str, entry: Entry, clean: SessionCleaner) -> str | None:
        return clean(
            self.engine, parse_namespace(self._tenant, space)[0], entry.value, self._is_erased, self._has_erased_text
        )

    def _is_erased(self, scope: Scope, id: str) -> bool:
        return self._target.covers(scope) or id in self._erased_ids

    def _has_erased_text(self, texts: Iterable[str]) -> bool:
        return bool(self._patterns.matches(_join_texts(texts)) - self.findings.in_other_records)

    # ---- the rest

    def clean_jobs(self, number: int) -> None:
        """Take erased words out of the errors of jobs, and remove jobs that are told of them."""
        if not self._patterns:
            return
        naming: list[str] = []
        errors: list[str] = []
        for job in iterate_jobs(self._store, self._tenant):
            if self._has_erased_text(texts_in(job.payload)):
                naming.append(job.id)
            elif job.error is not None and self._has_erased_text([job.error]):
                errors.append(job.id)
        self._store.clean_jobs(number, self._tenant, jobs=naming, errors=errors)

    def search_snapshots(self) -> None:
        """Name the snapshots whose names hold erased words."""
        for name in self._store.snapshots(self._tenant):
            self._report_leftover(f"the name of the snapshot {name!r}", self._patterns.matches(name.encode()))

    # ---- inside

    def _report_leftover(self, what: str, pieces: set[str], remedy: str | None = None) -> None:
        if copied := pieces - self.findings.in_other_records:
            self.findings.in_copies |= copied
            leftover = f"{what}, which holds words that were erased"
            self.findings.leftovers.append(leftover if remedy is None else f"{leftover}: {remedy}")

    def _find_matches(self, items: Iterable[tuple[T, Iterable[str]]]) -> Iterator[tuple[T, set[str]]]:
        """Give what holds pieces, with them; looking at many at once costs little more than at one."""
        batch: list[tuple[T, bytes]] = []
        size = 0
        for item, texts in items:
            data = _join_texts(texts)
            batch.append((item, data))
            size += len(data)
            if size >= _BATCH_BYTES:
                yield from self._match_batch(batch)
                batch, size = [], 0
        yield from self._match_batch(batch)

    def _match_batch(self, batch: list[tuple[T, bytes]]) -> Iterator[tuple[T, set[str]]]:
        if self._patterns.matches(_SEPARATOR.join(data for _, data in batch)):
            for item, data in batch:
                if pieces := self._patterns.matches(data):
                    yield item, pieces


def summarise_leftovers(leftovers: list[str]) -> list[str]:
    """Return what is left as a receipt names it: the first of them, and how many more there are."""
    more = len(leftovers) - _MOST_NAMED
    return leftovers if more <= 0 else [*leftovers[:_MOST_NAMED], f"{more:,} more that hold words that were erased"]


_SEPARATOR = b"\n\0\n"


def _join_texts(texts: Iterable[str]) -> bytes:
    return _SEPARATOR.join(text.encode() for text in texts)


def _record_texts(record: Record) -> Iterator[str]:
    yield record.text
    if record.source is not None:
        yield record.source
    yield from texts_in(record.data)
    yield from texts_in(record.metadata)


def _json_texts(value: str) -> Iterator[str]:
    try:
        yield from texts_in(json.loads(value))
    except ValueError:  # nobody can read it as what it should be; it may hold anything
        yield value


def _describe_scope(scope: Scope) -> str:
    labels = {name: getattr(scope, name) for name in LABELS}
    names = ", ".join(f"{name} {label!r}" for name, label in labels.items() if label is not None)
    return f" of {names}" if names else ""
