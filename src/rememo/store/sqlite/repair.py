"""Repair: what can still be read of a damaged file, in a new one.

Rows are read from the pages themselves. Those that the trees of the file still lead to come first; pages that no tree
leads to any more, because one above them is damaged, are searched for rows that fit a table. A version is kept only if
its content is what was written. Words are made anew; the source is never written to.
"""

import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from rememo.errors import AlreadyExists, Corrupt, IncompatibleStore, StorageError
from rememo.files import PRIVATE_MODE
from rememo.store.cipher.codec import ENCRYPTED
from rememo.store.cipher.protocol import MasterKeys, open_cipher
from rememo.store.drafts import Analysis
from rememo.store.sqlite.codecs import SqliteCodecs
from rememo.store.sqlite.connection import Connection
from rememo.store.sqlite.consistency_repair import ConsistencyRepair
from rememo.store.sqlite.database import SqliteDatabase
from rememo.store.sqlite.key_store import SqliteKeyStore
from rememo.store.sqlite.migrate import APPLICATION_ID
from rememo.store.sqlite.pages import Pages
from rememo.store.sqlite.row_recovery import RowRecovery

_ANY_ENCRYPTED = "SELECT 1 FROM records WHERE typeof(text) = 'blob' AND substr(text, 1, 1) = ? LIMIT 1"


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
                rows = database.write(lambda connection: _recover_rows(pages, connection))
                readable = cache(_open_codecs(database, encryption).readable)

                def make_whole(connection: Connection) -> ConsistencyRepair:
                    consistency = ConsistencyRepair(pages, connection, analysis, readable)
                    consistency.run(rows.version_pages)
                    return consistency

                consistency = database.write(make_whole)
                recovered = {name: database.value(f'SELECT count(*) FROM "{name}"') for name in rows.tables}
            finally:
                database.close()
        if not recovered["records"] and not rows.schema_readable:
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
        recovered=recovered,
        damaged_pages=rows.damaged_pages,
        damaged_rows=rows.damaged_rows + consistency.damaged_rows,
        lost=tuple(consistency.lost),
        lost_versions=consistency.lost_versions,
    )


def _recover_rows(pages: Pages, connection: Connection) -> RowRecovery:
    recovery = RowRecovery(pages, connection)
    recovery.run()
    return recovery


def _open_codecs(database: SqliteDatabase, encryption: MasterKeys | None) -> SqliteCodecs:
    """Return the codecs of what was recovered: the keys are among it."""
    key_store = SqliteKeyStore(database)
    if not key_store.encrypted and database.value(_ANY_ENCRYPTED, (bytes([ENCRYPTED]),)):
        raise Corrupt("the keys of its tenants are lost with the damaged pages; restore the file from a backup")
    cipher = open_cipher(key_store, encryption if key_store.encrypted else None)
    return SqliteCodecs(database, cipher=cipher, compress_above=0)


def _remove(part: Path) -> None:
    for name in (part.name, part.name + "-wal", part.name + "-shm"):
        part.with_name(name).unlink(missing_ok=True)


def _sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    with suppress(OSError):
        os.fsync(descriptor)
    os.close(descriptor)
