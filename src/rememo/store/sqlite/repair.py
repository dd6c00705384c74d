"""Repair: what can still be read of a damaged file, in a new one.

Rows are read from the pages themselves. Those that the trees of the file still lead to come first; pages that no tree
leads to any more, because one above them is damaged, are searched for rows that fit a table. A version is kept only if
its content is what was written. Words are made anew; the source is never written to.
"""

import json
import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from rememo.errors import AlreadyExists, Corrupt, IncompatibleStore, StorageError
from rememo.files import PRIVATE_MODE
from rememo.model.check import dump_json
from rememo.model.ids import new_id
from rememo.model.scope import Scope
from rememo.model.times import to_micros
from rememo.store.cipher.codec import ENCRYPTED, FieldCodec
from rememo.store.cipher.protocol import CIPHER_OVERHEAD, MasterKeys, open_cipher
from rememo.store.commits import content_hash
from rememo.store.drafts import Analysis
from rememo.store.sql.key_value import to_entry
from rememo.store.sql.verify import Readable
from rememo.store.sqlite.codecs import SqliteCodecs
from rememo.store.sqlite.connection import Connection
from rememo.store.sqlite.database import SqliteDatabase
from rememo.store.sqlite.key_store import SqliteKeyStore
from rememo.store.sqlite.migrate import APPLICATION_ID
from rememo.store.sqlite.pages import INDEX_INNER, INDEX_LEAF, TABLE_INNER, TABLE_LEAF, Pages, Unreadable
from rememo.store.sqlite.row_shapes import Shape, read_shapes
from rememo.store.sqlite.words import index_line, tables
from rememo.store.sqlite.writing import vector_place

_MOST_NAMED = 1_000
_JSON = {
    "records": ("data", "metadata"),
    "kv": ("value",),
    "jobs": ("payload",),
    "keys": ("commit",),
    "audit": ("detail", "ids", "flags"),
}
_SCHEMA_COLUMNS = 5
_NUMBER_BITS = 40
_ANY_ENCRYPTED = "SELECT 1 FROM records WHERE typeof(text) = 'blob' AND substr(text, 1, 1) = ? LIMIT 1"
_TIMES = ("at", "created_at", "recorded_at", "superseded_at", "occurred_at", "valid_from", "valid_to", "expires_at")
_EARLIEST, _LATEST = to_micros(datetime.min.replace(tzinfo=UTC)), to_micros(datetime.max.replace(tzinfo=UTC))


@dataclass(frozen=True, slots=True, kw_only=True)
class RepairReport:
    """What a repair brought over, and what it knows to be lost."""

    source: str
    target: str
    recovered: Mapping[str, int]
    """Rows by table; `records` counts versions."""
    damaged_pages: int
    """Pages that should be part of a tree and are not."""
    damaged_rows: int
    """Rows that were found but are not what was written."""
    lost: tuple[str, ...]
    """Versions that the file once had and that could not be recovered, the first thousand named."""
    lost_versions: int
    """How many those are, as far as it can be known."""


def repair(
    source: str,
    target: str,
    *,
    analysis: Analysis,
    encryption: MasterKeys | None = None,
    file_mode: int = PRIVATE_MODE,
) -> RepairReport:
    """Write what can be read of a damaged file to a new one.

    No other process may write to the source meanwhile. A file of which nothing can be read raises `Corrupt`, and one of
    another program `IncompatibleStore`; neither leaves a target behind. Encrypted contents are carried over as they are; the
    keys are needed to index their words anew, and an encrypted file without them raises `KeyMismatch`.
    """
    place = Path(target).absolute()
    if place.exists():
        raise AlreadyExists(f"{place} is there already; choose another file for what can be saved")
    part = place.with_name(place.name + ".part")
    _remove(part)
    try:
        with Pages(str(Path(source).absolute())) as pages:
            if pages.header_readable and pages.application() not in (APPLICATION_ID, 0):
                raise IncompatibleStore(f"{source} is a database of another program; there is nothing to repair")
            database = SqliteDatabase(str(part), durability="full", busy_timeout=5, file_mode=file_mode)
            try:
                rescue = _Rescue(pages, database, analysis, encryption)
                database.write(rescue.take)
                codecs = rescue.unlock()
                database.write(lambda connection: rescue.make_whole(connection, codecs))
            finally:
                database.close()
        if not rescue.recovered["records"] and not rescue.schema_readable:
            raise Corrupt(f"nothing of {source} can be read: no page of it holds a record; restore it from a backup")
        part.rename(place)
        _sync(place.parent)
    except OSError as error:
        raise StorageError(f"{place} could not be written: {error.strerror}") from error
    finally:
        _remove(part)
    return RepairReport(
        source=str(source),
        target=str(target),
        recovered=dict(rescue.recovered),
        damaged_pages=rescue.damaged_pages,
        damaged_rows=rescue.damaged_rows,
        lost=tuple(rescue.lost),
        lost_versions=rescue.lost_versions,
    )


@dataclass(slots=True)
class _Rescue:
    """One repair under way, in two transactions of the new file: the keys are among what is recovered."""

    pages: Pages
    database: SqliteDatabase
    analysis: Analysis
    encryption: MasterKeys | None
    connection: Connection = field(init=False)
    known: list[int] = field(default_factory=list[int])
    """Pages that tell which versions there once were."""
    tables: list[str] = field(default_factory=list[str])
    recovered: Counter[str] = field(default_factory=Counter[str])
    damaged_pages: int = 0
    damaged_rows: int = 0
    lost: list[str] = field(default_factory=list[str])
    lost_versions: int = 0
    schema_readable: bool = False
    models: dict[int, int] = field(default_factory=dict[int, int])

    def take(self, connection: Connection) -> None:
        """Take over every row that can be read."""
        self.connection = connection
        expected, indexes = read_shapes(connection)
        seen: set[int] = set()
        roots = self._roots(seen)
        self.schema_readable = "records" in roots
        leaves = {name: list(self._walk(root, seen)) for name, root in roots.items()}
        # Vectors are told from other rows by their model.
        order = sorted(expected, key=lambda name: (name != "models", name))
        strayed = self._left_behind(seen)
        for name in order:
            strayed += [page for page in leaves.get(name, ()) if not self._take(expected[name], page)]
        for name in leaves.keys() - expected.keys():
            strayed += [page for page in leaves[name] if not self._holds(indexes.get(name), page)]
        for page in strayed:
            self._take_strays([expected[name] for name in order], list(indexes.values()), page)
        self.known = leaves.get("records_by_id", [])
        self.tables = order

    def unlock(self) -> SqliteCodecs:
        """Find out how the contents are kept."""
        key_store = SqliteKeyStore(self.database)
        if not key_store.encrypted and self.database.value(_ANY_ENCRYPTED, (bytes([ENCRYPTED]),)):
            raise Corrupt("the keys of its tenants are lost with the damaged pages; restore the file from a backup")
        cipher = open_cipher(key_store, self.encryption if key_store.encrypted else None)
        return SqliteCodecs(self.database, cipher=cipher, compress_above=0)

    def make_whole(self, connection: Connection, codecs: SqliteCodecs) -> None:
        """Drop what does not belong together, and index what is left."""
        self.connection = connection
        readable = cache(codecs.readable)
        self._drop_unopened(readable)
        self._settle()
        for page in self.known:
            self._miss(page)
        self._index_words(readable)
        for name in self.tables:
            self.recovered[name] = connection.execute(f'SELECT count(*) FROM "{name}"').get

    # ---- finding pages

    def _roots(self, seen: set[int]) -> dict[str, int]:
        """Return where the tree of each table and index begins, as far as the schema can be read."""
        roots: dict[str, int] = {}
        for page in self._walk(1, seen):
            for row in self.pages.rows(page):
                if row is None or len(row.values) != _SCHEMA_COLUMNS:
                    continue
                _, name, _, root, _ = row.values
                if isinstance(name, str) and isinstance(root, int) and root > 1:
                    roots[name] = root
        return roots

    def _walk(self, root: int, seen: set[int]) -> Iterator[int]:
        """Give the pages of a tree that hold rows; a page that belongs to another tree already is damage."""
        waiting = [root]
        while waiting:
            number = waiting.pop()
            try:
                kind = self.pages.kind(number)
            except Unreadable:
                kind = 0
            if not kind or number in seen:
                self.damaged_pages += 1
                continue
            seen.add(number)
            if kind != TABLE_INNER:
                yield number
            if kind in (TABLE_INNER, INDEX_INNER):
                waiting += reversed(self.pages.children(number))

    def _left_behind(self, seen: set[int]) -> list[int]:
        """Return the pages that no tree leads to any more."""
        free = self.pages.free()
        return [
            number
            for number in range(1, self.pages.count + 1)
            if number not in seen
            and number not in free
            and self.pages.kind(number) in (TABLE_LEAF, INDEX_LEAF, INDEX_INNER)
        ]

    # ---- taking rows

    def _take(self, shape: Shape, page: int) -> bool:
        """Take the rows of a page of a table's tree; False when it is none, for a damaged tree may lead anywhere."""
        rows = list(self.pages.rows(page))
        fitting = [row for row in rows if row is not None and shape.fits(row)]
        for row in fitting:
            self._put(shape, shape.read(row))
        self.damaged_rows += len(rows) - len(fitting)
        return bool(fitting)

    def _holds(self, index: Shape | None, page: int) -> bool:
        return index is not None and any(row is not None and index.fits(row) for row in self.pages.rows(page))

    def _take_strays(self, read_shapes: Sequence[Shape], indexes: Sequence[Shape], page: int) -> None:
        for row in self.pages.rows(page):
            if row is None:
                continue
            fitting = [shape for shape in read_shapes if shape.fits(row)]
            # An entry of an index that looks like a row of a table tells nothing.
            if len(fitting) == 1 and not any(index.fits(row) for index in indexes):
                self._put(fitting[0], fitting[0].read(row))

    def _put(self, shape: Shape, values: dict[str, Any]) -> None:
        if shape.name == "vectors":
            if not self._is_vector(values):
                return
        elif not _is_sound(shape.name, values):
            self.damaged_rows += 1
            return
        if shape.name == "models":
            self.models[values["model"]] = values["dimension"]
        names = ", ".join(f'"{name}"' for name in values)
        marks = ", ".join("?" * len(values))
        # The first that is found of a row stays: pages that a tree leads to come before those that were left behind.
        self.connection.execute(
            f'INSERT OR IGNORE INTO "{shape.name}" ({names}) VALUES ({marks})', list(values.values())
        )

    def _is_vector(self, values: Mapping[str, Any]) -> bool:
        """Whether it is one of a version that was recovered; tables of words have rows that look alike."""
        model, number = values["place"] >> _NUMBER_BITS, values["place"] & (1 << _NUMBER_BITS) - 1
        blob: bytes = values["vector"]
        dimension = self.models.get(model)
        if dimension is None or vector_place(model, number) != values["place"]:
            return False
        if len(blob) == dimension * 4 + CIPHER_OVERHEAD and blob[0] == ENCRYPTED:
            return True  # whether it opens is seen later
        if len(blob) != dimension * 4:
            return False
        length = float(np.linalg.norm(np.frombuffer(blob, np.float32).astype(np.float64)))
        return abs(length - 1) < 1e-3  # noqa: PLR2004 - rounding; noise is far from it

    # ---- making it whole

    def _drop_unopened(self, readable: Readable) -> None:
        """Drop what does not open where it stands: it was damaged, or another row's."""
        run = self.connection.execute
        for place, vector, tenant in run(
            f"SELECT place, vector, tenant FROM vectors JOIN records ON number = place & {(1 << _NUMBER_BITS) - 1}"
        ):
            if not _opens(readable(tenant), lambda kept, place=place, vector=vector: kept.decode_vector(place, vector)):
                run("DELETE FROM vectors WHERE place = ?", (place,))
        for tenant, space, *row in run("SELECT tenant, space, key, value, version, expires_at, sliding FROM kv"):
            if not _opens(readable(tenant), lambda kept, row=row, space=space: to_entry(row, space, kept)):
                self.damaged_rows += 1
                run("DELETE FROM kv WHERE tenant = ? AND space = ? AND key = ?", (tenant, space, row[0]))
        for tenant, scope, key in run("SELECT tenant, scope, key FROM keys"):
            if not _opens(readable(tenant), lambda kept, key=key: kept.decode_name(key)):
                run("DELETE FROM keys WHERE tenant = ? AND scope = ? AND key = ?", (tenant, scope, key))
        for tenant, id, error in run("SELECT tenant, id, error FROM jobs WHERE error IS NOT NULL"):
            if not _opens(readable(tenant), lambda kept, id=id, error=error: kept.decode(error, "error", id, 0)):
                run("UPDATE jobs SET error = NULL WHERE tenant = ? AND id = ?", (tenant, id))
        columns = "number, tenant, id, version, speaker, text, data, metadata, source, quarantine"
        for number, tenant, id, version, speaker, *row in run(f"SELECT {columns} FROM records"):
            names = ("text", "data", "metadata", "source", "quarantine")
            fields = [field for field in zip(names, row, strict=True) if field[1] is not None]
            if not _opens(
                readable(tenant),
                lambda kept, fields=fields, id=id, version=version, speaker=speaker: [
                    kept.decode_name(speaker),
                    *(kept.decode(value, name, id, version) for name, value in fields),
                ],
            ):
                self.damaged_rows += 1
                run("DELETE FROM records WHERE number = ?", (number,))

    def _settle(self) -> None:
        """Drop what contradicts what is there: remains of older states, and what belonged to lost versions."""
        run = self.connection.execute
        run("DELETE FROM records WHERE superseded_at < recorded_at")
        run(
            "DELETE FROM records WHERE superseded_at IS NULL AND EXISTS (SELECT 1 FROM records AS newer"
            " WHERE newer.tenant = records.tenant AND newer.id = records.id AND newer.version > records.version)"
        )
        # A history with a hole in it is no history: what lies before the hole goes too, and is named as lost.
        for tenant, id in run(
            "SELECT tenant, id FROM records GROUP BY tenant, id HAVING max(version) - min(version) + 1 != count(*)"
        ).fetchall():
            versions = [
                row[0]
                for row in run(
                    "SELECT version FROM records WHERE tenant = ? AND id = ? ORDER BY version DESC", (tenant, id)
                )
            ]
            first = next(version for version in versions if version - 1 not in versions)
            run("DELETE FROM records WHERE tenant = ? AND id = ? AND version < ?", (tenant, id, first))
        run(f"DELETE FROM vectors WHERE place & {(1 << _NUMBER_BITS) - 1} NOT IN (SELECT number FROM records)")
        run(
            "DELETE FROM jobs WHERE json_extract(payload, '$.record') IS NOT NULL AND NOT EXISTS (SELECT 1 FROM records"
            " WHERE records.tenant = jobs.tenant AND records.id = json_extract(payload, '$.record'))"
        )
        self._owe_vectors()
        # Everything counts as loaded: the numbers of what is left need not follow its times.
        run(
            # Whether ids are those of an earlier release is not known any more: looking costs little where they are not.
            "INSERT INTO tenants (tenant, clock, epoch, loaded, older_ids)"
            " SELECT tenant, max(at), 1, (SELECT ifnull(max(number), 0) FROM records), 1 FROM"
            " (SELECT tenant, max(recorded_at, ifnull(superseded_at, 0)) AS at FROM records"
            "  UNION ALL SELECT tenant, at FROM snapshots UNION ALL SELECT tenant, at FROM audit) GROUP BY tenant"
        )
        # What is left of an audit trail ends with its last line; a line that is lost shows when it is verified.
        run(
            "UPDATE tenants SET (audited, audit_hash) = (last.number, last.hash) FROM"
            " (SELECT tenant, max(number) AS number, hash FROM audit GROUP BY tenant) AS last"
            " WHERE last.tenant = tenants.tenant"
        )

    def _owe_vectors(self) -> None:
        """Let jobs make the vectors that were lost."""
        run = self.connection.execute
        lost = run(
            "SELECT tenant, id, version, recorded_at FROM records, models WHERE current AND length > 0"
            f" AND NOT EXISTS (SELECT 1 FROM vectors WHERE place = model << {_NUMBER_BITS} | number)"
            " AND tenant NOT IN (SELECT tenant FROM vault WHERE wrapped = x'') AND NOT EXISTS (SELECT 1 FROM jobs"
            "  WHERE jobs.tenant = records.tenant AND task = 'embed' AND state IN ('waiting', 'running')"
            "  AND payload ->> '$.record' = records.id AND payload ->> '$.version' = records.version)"
        ).fetchall()
        for tenant, id, version, at in lost:
            run(
                "INSERT INTO jobs (tenant, id, task, payload, state, due_at, created_at)"
                " VALUES (?, ?, 'embed', ?, 'waiting', ?, ?)",
                (tenant, new_id(), dump_json({"record": id, "version": version}), at, at),
            )

    def _miss(self, page: int) -> None:
        """Name the versions that an index knows and that are not there."""
        for row in self.pages.rows(page):
            if row is None or [type(value) for value in row.values] != [str, str, int, int]:
                continue
            tenant, id, version, _ = row.values
            there = "SELECT 1 FROM records WHERE tenant = ? AND id = ? AND version = ?"
            if not self.connection.execute(there, (tenant, id, version)).get:
                self.lost_versions += 1
                if len(self.lost) < _MOST_NAMED:
                    self.lost.append(f"{tenant}/{id} version {version}")

    def _index_words(self, readable: Readable) -> None:
        columns = "number, tenant, id, version, agent, user, room, superseded_at IS NULL, text"
        last, run = -1, self.connection.execute
        while rows := run(
            f"SELECT {columns} FROM records WHERE number > ? ORDER BY number LIMIT 500", (last,)
        ).fetchall():
            for number, tenant, id, version, agent, user, room, current, text in rows:
                table, codec = tables(tenant)[0 if current else 1], readable(tenant)
                scope = Scope(tenant=tenant, agent=agent, user=user, room=room)
                words = index_line(scope, [])  # all there is of what nobody can read any more
                if codec is not None:
                    terms = self.analysis.terms(codec.decode(text, "text", id, version))
                    words, mark = (
                        index_line(scope, terms, codec.blind_index),
                        codec.blind_fingerprint(self.analysis.fingerprint(terms)),
                    )
                    run("UPDATE records SET length = ?, fingerprint = ? WHERE number = ?", (len(terms), mark, number))
                run(f"INSERT INTO {table} (rowid, terms) VALUES (?, ?)", (number, words))
            last = rows[-1][0]


def _opens(codec: FieldCodec | None, run: Callable[[FieldCodec], object]) -> bool:
    """Say whether something can be opened; what nobody can open any more is left as it is."""
    try:
        if codec is not None:
            run(codec)
    except Corrupt:
        return False
    return True


def _is_sound(table: str, values: Mapping[str, Any]) -> bool:
    """Whether a row is what was written, as far as it tells by itself."""
    if table == "records" and not (
        content_hash(values["kind"], values["text"], values["data"]) == values["hash"]
        and all(values[name] is None or _EARLIEST <= values[name] <= _LATEST for name in _TIMES)
        and values["at"] == (values["created_at"] if values["occurred_at"] is None else values["occurred_at"])
        and values["created_at"] <= values["recorded_at"]
        and values["version"] > 0
    ):
        return False
    try:
        for column in _JSON.get(table, ()):
            if isinstance(values[column], str):
                json.loads(values[column])
    except ValueError:
        return False
    return True


def _remove(part: Path) -> None:
    for name in (part.name, part.name + "-wal", part.name + "-shm"):
        part.with_name(name).unlink(missing_ok=True)


def _sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    with suppress(OSError):
        os.fsync(descriptor)
    os.close(descriptor)
