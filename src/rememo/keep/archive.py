"""Archive: records are exported before a retention policy removes them, and can be restored.

An archive is two objects: `NAME.jsonl.zst`, an export of the records with all their versions and vectors, compressed, and
`NAME.json`, its manifest with counts, checksum and digests of the labels it holds. The manifest is written last: an
archive without one does not count. Of an encrypted memory the lines are encrypted, as in every export.
"""

import hashlib
import heapq
import io
import json
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from rememo.engine.engine import Engine
from rememo.engine.view import View, ViewHolder
from rememo.errors import ArchiveError, InvalidInput
from rememo.keep.export import write_versions
from rememo.keep.import_file import import_file, read_versions
from rememo.keep.versions import read_states
from rememo.model.archive import ArchiveEntry, ArchiveHit, Restored
from rememo.model.check import check_label, check_limit, check_text, dump_json
from rememo.model.ids import new_id
from rememo.model.record import Record
from rememo.model.retention import RetentionPolicy
from rememo.model.scope import LABELS, Scope
from rememo.model.times import to_utc
from rememo.store.archive import ArchiveStore
from rememo.store.writes import Revise

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

FORMAT = "rememo-archive"
FORMAT_VERSION = 1
IMPORTANT = 0.7
"""From this importance on a record counts as marked important; a pinned one always does."""
_DATA, _MANIFEST = ".jsonl.zst", ".json"
_CHUNK = 200


def label_digest(tenant: str, name: str, label: str) -> str:
    """Return the hash of a label for a manifest: whoever knows the label can look it up, nobody can read it there."""
    return hashlib.sha256(dump_json([tenant, name, label]).encode()).hexdigest()[:32]


class Archive(ViewHolder):
    """The archives of a view's tenant, at the address of the setting `archive`."""

    def __init__(self, view: View) -> None:
        super().__init__(view)
        self._tenant = view.scope.tenant

    def list(
        self, *, user: str | None = None, agent: str | None = None, room: str | None = None
    ) -> "list[ArchiveEntry]":
        """Return the archives, oldest first: all, or those that hold something of a user, agent and room."""
        labels = {
            name: label for name, label in (("user", user), ("agent", agent), ("room", room)) if label is not None
        }
        bound = {name: getattr(self._view.scope, name) for name in LABELS}
        filter_labels = {**{name: label for name, label in bound.items() if label is not None}, **labels}
        marks = {label_digest(self._tenant, name, check_label(label, name)) for name, label in filter_labels.items()}
        return [entry for entry in self._read_entries() if marks <= set(entry.holds)]

    def restore(self, name: str) -> Restored:
        """Restore everything in an archive; records that exist stay as they are, so repeating it is harmless.

        The archive is read and checked as a whole first: one that is damaged restores nothing.
        """
        self._view.need_present()
        self._view.need_no_batch("archive.restore()")
        if self._view.scope != Scope(tenant=self._tenant):
            raise InvalidInput("an archive is restored as a whole: call restore() on the tenant's own view")
        entry = self._read_entry(name)
        with self._open_lines(entry) as file:
            path = Path(file.name)
            newest = {
                version.record.id: version.record
                for version in read_versions(path, self._view.engine, self._view.scope)
            }
            before = self._existing_ids(newest.values())
            loaded = import_file(self._view.engine, self._view.scope, path).versions
        missing = [record for id, record in newest.items() if id not in before]
        there = self._existing_ids(missing)
        ended = [record for record in missing if record.id not in there]
        for start in range(0, len(ended), _CHUNK):
            self._reopen(ended[start : start + _CHUNK])
        if self._view.engine.audit is not None:
            self._view.engine.audit.record("restore", self._view.scope, {"records": len(missing), "versions": loaded})
        return Restored(records=len(missing), versions=loaded, present=len(before))

    def search(self, query: str, *, limit: int = 10) -> "list[ArchiveHit]":
        """Return archived records of this scope that have the words of a question, the most of them first.

        Archives are read one after the other; there is no index of them.
        """
        check_limit(limit)
        check_text(query, "query", max_bytes=self._view.engine.settings.max_text_bytes)
        words = set(self._view.engine.analyzer.terms(query))
        if not words:
            return []
        best: dict[str, tuple[float, ArchiveHit]] = {}
        for entry in self.list():
            with self._open_lines(entry) as file:
                for stored in read_versions(Path(file.name), self._view.engine, Scope(tenant=self._tenant)):
                    record = stored.record
                    if record.superseded_at is not None or not self._view.scope.contains(record.scope):
                        continue
                    score = len(words & set(self._view.engine.analyzer.terms(record.text))) / len(words)
                    if score:
                        best[record.id] = score, ArchiveHit(archive=entry.name, record=record, score=score)
            leading = heapq.nlargest(limit, best.items(), key=lambda scored: (scored[1][0], scored[1][1].record.at))
            best = dict(leading)
        return [hit for _, hit in best.values()]

    # ---- inside

    @property
    def _store(self) -> ArchiveStore:
        return open_archive(self._view.engine)

    def _read_entries(self) -> Iterator[ArchiveEntry]:
        store = self._store
        folder = _tenant_folder(self._tenant)
        for name in store.names(folder):
            if name.endswith(_MANIFEST):
                yield _parse_manifest(store.get(name), name)

    def _read_entry(self, name: str) -> ArchiveEntry:
        object_name = f"{_tenant_folder(self._tenant)}/{quote(check_label(name, 'name'), safe='')}{_MANIFEST}"
        return _parse_manifest(self._store.get(object_name), object_name)

    def _open_lines(self, entry: ArchiveEntry) -> Any:
        """Return a file of the lines of an archive, checked against its manifest."""
        packed = self._store.get(f"{_tenant_folder(self._tenant)}/{entry.name}{_DATA}")
        if hashlib.sha256(packed).hexdigest() != entry.sha256 or len(packed) != entry.bytes:
            raise ArchiveError(
                f"the archive {entry.name} is damaged: its checksum is not the one in its manifest; nothing was restored"
            )
        file = tempfile.NamedTemporaryFile(prefix="rememo-", suffix=".jsonl")  # noqa: SIM115 - the caller closes it
        file.write(zstd.decompress(packed))
        file.flush()
        return file

    def _contains_any(self, entry: ArchiveEntry, ids: Iterable[str]) -> bool:
        """Whether an archive holds one of these records; reads the archive."""
        requested_ids = set(ids)
        with self._open_lines(entry) as file:
            versions = read_versions(Path(file.name), self._view.engine, Scope(tenant=self._tenant))
            return any(version.record.id in requested_ids for version in versions)

    def _existing_ids(self, records: Iterable[Record]) -> set[str]:
        return set(read_states(self._view.engine, Scope(tenant=self._tenant), [record.id for record in records], None))

    def _reopen(self, records: Sequence[Record]) -> None:
        """Revive records whose versions are still stored but ended."""
        writes: list[Revise] = []
        for record in records:
            draft = self._view.engine.drafts.redraft(record, {"expires_at": None})
            draft.created_at = record.created_at
            writes.append(Revise(draft=draft, expected=0, outcome="restored"))
        self._view.engine.commit(Scope(tenant=self._tenant), writes, operation="restore")


def open_archive(engine: Engine) -> ArchiveStore:
    """Return the archive of the settings; none raises `InvalidInput`."""
    if not engine.settings.archive:
        raise InvalidInput(
            'no archive is set: give Settings(archive="/folder") or "s3://bucket/prefix", or set REMEMO_ARCHIVE'
        )
    settings = engine.settings
    return ArchiveStore(settings.archive, timeout=settings.archive_timeout, file_mode=settings.file_permissions)


def archives_holding(engine: Engine, scope: Scope, ids: Iterable[str] | None) -> list[str]:
    """Return the names of the archives that hold something of a scope, or one of some records within it."""
    if not engine.settings.archive:
        return []
    archive = Archive(View(engine=engine, scope=scope))
    return [entry.name for entry in archive.list() if ids is None or archive._contains_any(entry, ids)]  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] - its own module


def is_important(record: Record) -> bool:
    """Whether a record is marked important."""
    return record.pinned or (record.importance is not None and record.importance >= IMPORTANT)


def write_archive(
    engine: Engine, store: ArchiveStore, policy: RetentionPolicy, records: Sequence[Record], ids: Iterable[str]
) -> str:
    """Write an archive of records and of what belongs to them; returns its name once it is confirmed."""
    tenant = policy.scope.tenant
    text = io.StringIO()
    versions = write_versions(engine, Scope(tenant=tenant), text, list(ids))
    packed = zstd.compress(text.getvalue().encode())
    created = engine.now()
    name = f"{created:%Y%m%dT%H%M%SZ}-{new_id()}"
    labels = {(label, getattr(record.scope, label)) for record in records for label in LABELS}
    holds = sorted(label_digest(tenant, label, value) for label, value in labels if value is not None)
    manifest: dict[str, Any] = {
        "format": FORMAT, "version": FORMAT_VERSION, "name": name, "created_at": created.isoformat(),
        "policy": policy.name, "records": len(set(ids)), "versions": versions, "bytes": len(packed),
        "sha256": hashlib.sha256(packed).hexdigest(), "sealed": engine.encryption is not None, "holds": holds,
    }  # fmt: skip
    object_name = f"{_tenant_folder(tenant)}/{name}"
    store.put(object_name + _DATA, packed)
    store.put(object_name + _MANIFEST, dump_json(manifest).encode())
    return name


def _tenant_folder(tenant: str) -> str:
    return "tenant-" + quote(tenant, safe="")


def _parse_manifest(content: bytes, name: str) -> ArchiveEntry:
    try:
        manifest = json.loads(content)
        if manifest.pop("format") != FORMAT or manifest.pop("version") != FORMAT_VERSION:
            raise ArchiveError(f"the archive's manifest {name} has another format version; upgrade rememo")
        manifest |= {"created_at": to_utc(manifest["created_at"], "created_at"), "holds": tuple(manifest["holds"])}
        entry = ArchiveEntry(**manifest)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise ArchiveError(f"the archive's manifest {name} is damaged ({error}); restore it from a copy") from None
    return entry
