"""Import: read an export, check it as a whole, and store what is not there yet."""

import hashlib
import json
from base64 import b64decode
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

from rememo.engine.derived_id_migration import plan_renames
from rememo.engine.engine import Engine
from rememo.errors import AlreadyExists, InvalidInput, KeyMismatch, ModelChanged
from rememo.keep.export import FORMAT, FORMAT_VERSION, HEADER_LINE, IDS, Transferred, zero_counts
from rememo.keep.export_cipher import ExportCipher
from rememo.keep.export_entries import EntryCheck, EntryReader, ExportEntry, KeyValueEntry, SnapshotEntry
from rememo.keep.id_translation import IdTranslation
from rememo.model.audit import NewAuditEntry
from rememo.model.check import dump_json
from rememo.model.derived_ids import PLAIN_IDS
from rememo.model.job import Job
from rememo.model.record import Record
from rememo.model.scope import Scope
from rememo.recall.embed.protocol import RemoteEmbedder
from rememo.store.id_renaming import VersionIdentity
from rememo.store.versions import StoredVersion

_CHUNK = 500

T = TypeVar("T")


def read_versions(path: Path, engine: Engine, scope: Scope) -> Iterator[StoredVersion]:
    """Yield the versions in an export, checked; one that is damaged raises before the end is reached."""
    return (entry for entry in _read_entries(path, engine, scope) if isinstance(entry, StoredVersion))


def import_file(
    engine: Engine,
    scope: Scope,
    path: str | Path,
    check_entry: EntryCheck | None = None,
    progress: Callable[[int], None] | None = None,
) -> Transferred:
    """Import an export; what exists already is skipped, so repeating it is harmless.

    The whole file is read and checked first: a foreign or damaged one, one with an entry that cannot be, or one that
    contradicts a record here, changes nothing. `check_entry` refuses key-value entries that their readers could not use.
    `progress` is told how many entries are gone through; each is twice: when it is checked, and when it is stored.
    """
    source, passed = Path(path), 0
    for entries in chunks(_read_entries(source, engine, scope, check_entry)):
        if clashing := engine.store.clashes([entry for entry in entries if isinstance(entry, StoredVersion)]):
            raise AlreadyExists(
                f"conflict: {len(clashing)} records already exist with other content, the first is {clashing[0]!r};"
                " import into another tenant or file"
            )
        passed += len(entries)
        if progress is not None:
            progress(passed)
    counts = zero_counts()
    same_model = _same_model(source, engine)
    for entries in chunks(_read_entries(source, engine, scope, check_entry)):
        versions = [entry for entry in entries if isinstance(entry, StoredVersion)]
        note = None if engine.audit is None else engine.audit.note("import", scope)
        counts["versions"] += load_versions(engine, versions, note, same_model=same_model)
        if scope != Scope(tenant=scope.tenant):
            continue
        snapshots = {entry.name: entry.at for entry in entries if isinstance(entry, SnapshotEntry)}
        jobs = [entry for entry in entries if isinstance(entry, Job)]
        counts["snapshots"] += engine.store.load_snapshots(scope.tenant, snapshots) if snapshots else 0
        counts["jobs"] += engine.store.load_jobs(jobs) if jobs else 0
        for entry in entries:
            if isinstance(entry, KeyValueEntry):
                counts["keys"] += engine.kv.load(scope.tenant, entry.space, entry.entry)
        passed += len(entries)
        if progress is not None:
            progress(passed)
    if engine.audit is not None:
        engine.audit.record("import", scope, {"outcome": "complete", **counts})
    return Transferred(**counts)


def _read_entries(
    path: Path, engine: Engine, scope: Scope, check_entry: EntryCheck | None = None
) -> Iterator[ExportEntry]:
    """Yield every entry of a file, checked, with the ids that it has here."""
    translation = _find_translation(path, engine, scope)
    lines = _read_lines(path, engine)
    try:
        reader = EntryReader(engine, scope, next(lines), check_entry)
    except InvalidInput as error:
        raise InvalidInput(f"{path}, line 1, cannot be imported: {error}; nothing was changed") from None
    for number, line in enumerate(lines, 2):
        try:
            entry = reader.read(line if translation is None else translation.translate_line(line))
        except (InvalidInput, KeyError, TypeError, ValueError, AttributeError) as error:
            raise InvalidInput(f"{path}, line {number}, cannot be imported: {error}; nothing was changed") from None
        yield entry


def _find_translation(path: Path, engine: Engine, scope: Scope) -> IdTranslation | None:
    """Return what the ids of a file are called here; None where they are the same."""
    header = _read_header(path)
    if header.get("ids") != IDS:
        renames = plan_renames(engine, scope.tenant, _read_identities(path, engine, scope))
        return None if renames is None else IdTranslation(renames.rewrite)
    cipher, reencryption = _cipher_from_header(path, header, engine), engine.reencryption
    if reencryption is None:
        return None
    if cipher is None or header.get("id_key") is None:
        return IdTranslation.between(PLAIN_IDS, engine.ids.cipher(scope.tenant))
    text = cipher.decrypt(header["id_key"], HEADER_LINE)
    if text is None:
        raise InvalidInput(f"{path} is damaged: the key of its ids does not open; nothing was imported")
    key = b64decode(text)
    id_cipher = reencryption.cipher.adopt_id_key(scope.tenant, key)
    if reencryption.cipher.id_key(scope.tenant) == key:
        return None
    return IdTranslation.between(id_cipher, engine.ids.cipher(scope.tenant))


def _read_identities(path: Path, engine: Engine, scope: Scope) -> Iterator[VersionIdentity]:
    """Yield what shows whether the id of each version in a file was derived; what cannot be a version is skipped."""
    for line in islice(_read_lines(path, engine), 1, None):  # without the header
        try:
            record = Record.from_dict(line["record"])
            home = replace(record.scope, tenant=scope.tenant)
            texts = dump_json(record.data), dump_json(record.metadata)
        except (InvalidInput, KeyError, TypeError, ValueError, AttributeError):
            continue
        yield VersionIdentity(record.id, record.version, record.kind, home, record.source, *texts)


def _read_header(path: Path) -> dict[str, Any]:
    try:
        with path.open("rb") as file:
            header = _parse_line(path, HEADER_LINE, file.readline())
    except OSError as error:
        raise InvalidInput(f"{path} cannot be read: {error.strerror}") from error
    _check_header(path, header)
    return header


def _read_lines(path: Path, engine: Engine) -> Iterator[dict[str, Any]]:
    """Yield the header and every line before the footer; anything out of order raises before the end is reached."""
    digest, seen, ended = hashlib.sha256(), 0, False
    cipher: ExportCipher | None = None
    try:
        with path.open("rb") as file:
            for number, raw in enumerate(file, 1):
                line = _parse_line(path, number, raw)
                if ended:
                    raise InvalidInput(f"{path} goes on after its end, at line {number}; it was damaged")
                if number == 1:
                    _check_header(path, line)
                    cipher = _cipher_from_header(path, line, engine)
                    yield line
                elif "end" in line:
                    proved = cipher is None or cipher.decrypt(line.get("proof"), 0) == digest.hexdigest()
                    if line.get("sha256") != digest.hexdigest() or not proved:
                        raise InvalidInput(f"{path} is damaged: its checksum does not fit; nothing was imported")
                    ended = True
                    continue
                else:
                    seen += 1
                    yield (
                        line if cipher is None else _parse_line(path, number, _decrypt_line(path, number, line, cipher))
                    )
                digest.update(raw)
    except OSError as error:
        raise InvalidInput(f"{path} cannot be read: {error.strerror}") from error
    if not ended:
        raise InvalidInput(f"{path} ends too early after {seen} entries: it was cut off; nothing was imported")


def _parse_line(path: Path, number: int, raw: bytes) -> dict[str, Any]:
    try:
        line = json.loads(raw)
    except (ValueError, RecursionError):
        line = None
    if not isinstance(line, dict):
        raise InvalidInput(f"{path} is not a Rememo export: line {number} is not a JSON object; nothing was imported")
    return line  # pyright: ignore[reportUnknownVariableType] - JSON


def _cipher_from_header(path: Path, header: dict[str, Any], engine: Engine) -> ExportCipher | None:
    """Return what opens the lines of an encrypted export."""
    sealed = header.get("sealed")
    if sealed is None:
        return None
    if engine.encryption is None:
        raise KeyMismatch(
            f"{path} is an encrypted export; open the memory with the keyring it was made with, or export it with plain=True"
        )
    return ExportCipher.read(sealed, engine.encryption, str(path))


def _decrypt_line(path: Path, number: int, line: dict[str, Any], cipher: ExportCipher) -> bytes:
    text = cipher.decrypt(line.get("sealed"), number)
    if text is None:
        raise InvalidInput(f"{path}, line {number}, does not open: it was changed or moved; nothing was imported")
    return text.encode()


def _check_header(path: Path, line: dict[str, Any]) -> None:
    if line.get("format") != FORMAT:
        raise InvalidInput(f"{path} is not a Rememo export: its first line names no format; nothing was imported")
    version = line.get("version")
    if version != FORMAT_VERSION:
        raise InvalidInput(
            f"{path} has export format {version!r}, this Rememo reads {FORMAT_VERSION}; upgrade rememo, nothing was imported"
        )


def chunks(entries: Iterator[T]) -> Iterator[list[T]]:
    """Yield entries in lists that are stored at once."""
    chunk: list[T] = []
    for entry in entries:
        chunk.append(entry)
        if len(chunk) == _CHUNK:
            yield chunk
            chunk = []
    if chunk:
        yield chunk


def _same_model(path: Path, engine: Engine) -> bool:
    with path.open("rb") as file:
        model = json.loads(file.readline()).get("model")
    embedder = engine.embedder
    return embedder is not None and model == {"name": embedder.name, "dimension": embedder.dimension}


def load_versions(
    engine: Engine, versions: Sequence[StoredVersion], note: NewAuditEntry | None, *, same_model: bool
) -> int:
    """Load versions with vectors of this engine's model, since those of another mean nothing here; returns how many were new.

    A model that is asked over a network, or that this process has not got, is asked later, by jobs.
    """
    active = engine.model.active
    embedder = active.embedder
    try:
        if embedder is not None and same_model:
            return engine.store.load(versions, note, model=active.number)
        if embedder is not None and not isinstance(embedder, RemoteEmbedder):
            vectors = embedder.embed([version.record.text for version in versions])
            encrypted = [replace(version, vector=vector) for version, vector in zip(versions, vectors, strict=True)]
            return engine.store.load(encrypted, note, model=active.number)
    except ModelChanged:
        engine.model.notice()
    new = engine.store.load([replace(version, vector=None) for version in versions], note)
    if new:
        engine.tell_workers()
    return new
