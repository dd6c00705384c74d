"""Removing for good: versions with their words and vectors, keys, jobs, and the bytes that deletion leaves behind.

Every connection deletes with `secure_delete`, so that what is removed is overwritten. Two things outlive that: terms in
segments of FTS5, which only marks deleted rows, and the log. `purge` merges the segments anew and empties the log.
"""

import contextlib
import time
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from rememo.errors import Busy
from rememo.model.erasure import ErasureTarget
from rememo.model.record import Record
from rememo.model.times import from_micros, to_micros
from rememo.store.byte_patterns import BytePatterns
from rememo.store.cipher.codec import FieldCodec
from rememo.store.sql.erasure import SqlErasure
from rememo.store.sqlite.codecs import SqliteCodecs
from rememo.store.sqlite.connection import Connection
from rememo.store.sqlite.database import SqliteDatabase
from rememo.store.sqlite.filter_sql import RECORD_COLUMNS
from rememo.store.sqlite.part import SqlitePart
from rememo.store.sqlite.reading import to_record
from rememo.store.sqlite.scrubbing import read_bytes, scrub
from rememo.store.sqlite.words import narrowest, remove, tables
from rememo.store.sqlite.writing import next_time, tick, vector_place

_BEGIN = "INSERT INTO erasures (tenant, target, counts, begun_at) VALUES (?, ?, '{}', ?)"
_MARK = "INSERT OR REPLACE INTO erased (erasure, id, note) VALUES (?, ?, ?)"
_MERGE_PAGES = 64
_SCAN = 1 << 20


class SqliteErasure(SqlErasure[SqliteDatabase, SqliteCodecs], SqlitePart):
    """The `RecordErasure` and `BackupLog` protocols on the file."""

    @property
    def _record_columns(self) -> str:
        return RECORD_COLUMNS

    def _read_record(self, row: Any, tenant: str, codec: FieldCodec) -> Record:
        return to_record(row, tenant, codec)

    def _lock_for_erasure(self, session: Connection, tenant: str) -> None:
        """Nothing to do: the transaction holds the whole file."""

    def _insert_erasure(self, session: Connection, tenant: str, target: str, at: int) -> int:
        session.execute(_BEGIN, (tenant, target, at))
        return session.last_insert_rowid()

    def _put_mark(self, session: Connection, _tenant: str, number: int, id: str, note: Any, /) -> None:
        session.execute(_MARK, (number, id, note))

    def _remove_versions(
        self, session: Connection, tenant: str, condition: str, values: Sequence[Any]
    ) -> dict[str, int]:
        sql = f"SELECT number, recorded_at, coalesce(superseded_at, 0) FROM records WHERE tenant = ? AND {condition}"
        return _remove_versions(session, tenant, session.rows(sql, (tenant, *values)))

    def doomed(self, target: ErasureTarget, limit: int) -> list[Record]:
        """Return all versions of the first so many records that have one within a target."""
        inside, values = self.dialect.target_condition(target)
        tenant = target.scope.tenant
        rows = self._database.rows(
            f"SELECT {RECORD_COLUMNS} FROM records WHERE tenant = ? AND id IN"
            f" (SELECT DISTINCT id FROM records WHERE {inside} LIMIT ?) ORDER BY id, version",
            [tenant, *values, limit],
        )
        codec = self._codecs.get(tenant)
        return [to_record(row, tenant, codec) for row in rows]

    # ---- bytes

    def purge(self, tenant: str, seconds: float) -> str | None:
        """Make the bytes of what was removed go: from segments of words, and from the log.

        Writers wait for a step of it at the most. Says so when others read the log all the time that was given.
        """
        try:
            for table in tables(tenant):
                pages = -_MERGE_PAGES  # below zero: begin with everything there is
                while self._merge(table, pages):
                    pages = _MERGE_PAGES
            return self._clean_bytes(tenant, seconds)
        except Busy:
            return "words and the log, since others held the file for too long: erase again when they are done"

    def _clean_bytes(self, tenant: str, seconds: float) -> str | None:
        # What the cleaning finds must be in the file, not in the log.
        if self._database.empty_log(seconds) and scrub(self._database, tenant, seconds):
            return None
        return "the log, which others are reading: erase again when they are done"

    def _merge(self, table: str, pages: int) -> bool:
        def merge(connection: Connection) -> bool:
            before = connection.total_changes()
            connection.execute(f"INSERT INTO {table} ({table}, rank) VALUES ('merge', ?)", (pages,))
            return connection.total_changes() - before > 1

        return self._database.write(merge)

    def remains(self, target: ErasureTarget, terms: Sequence[str]) -> dict[str, int]:
        """Count what the store still has of a target: records, words, and rows of words that lead nowhere."""
        scope = target.scope
        counts = {"records": len(self.doomed(target, 10))}
        with self._database.snapshot() as connection:
            if target.ids is None:
                label = narrowest(scope)
                alone = [scope.agent, scope.user, scope.room].count(None) >= 2  # noqa: PLR2004 - all but one
                if alone:
                    counts["words"] = sum(
                        connection.execute(f"SELECT count(*) FROM {table} WHERE {table} MATCH ?", (f'"{label}"',)).get
                        for table in tables(scope.tenant)
                    )
            blind_indexes = self._codecs.get(scope.tenant).blind_indexes
            forms = [form for term in terms for form in ((term,) if blind_indexes is None else blind_indexes(term))]
            for table in tables(scope.tenant):
                for term in forms:
                    quoted = '"' + term.replace('"', '""') + '"'
                    counts["lost words"] = (
                        counts.get("lost words", 0)
                        + connection.execute(
                            f"SELECT count(*) FROM {table} WHERE {table} MATCH ?"
                            " AND rowid NOT IN (SELECT number FROM records)",
                            (quoted,),
                        ).get
                    )
        return {name: count for name, count in counts.items() if count}

    def search_bytes(self, tenant: str, patterns: BytePatterns) -> dict[str, int]:
        """Look for texts in the bytes of the file and its log, of all tenants; returns how many bytes were searched of each."""
        if self._database.in_memory:
            return {"file_bytes": 0, "log_bytes": 0}
        sizes = {
            "file_bytes": _look(read_bytes(self._database.path), patterns),
            "log_bytes": _look(_log(self._database.path + "-wal"), patterns),
        }
        if patterns.found:
            patterns.discount(patterns.found_also_in(self._contents_of_others(tenant)))
        return sizes

    @property
    def beyond(self) -> tuple[str, ...]:
        """Where copies may be that the store cannot reach: none but those that people made."""
        return ()

    def _contents_of_others(self, tenant: str) -> Iterator[str]:
        """Give everything that is said in this file by other tenants."""
        number = -1
        sql = "SELECT number, text, data, metadata FROM records WHERE tenant <> ? AND number > ? ORDER BY number LIMIT 500"
        while rows := self._database.rows(sql, (tenant, number)):
            # What is encrypted or compressed does not show what it says.
            yield "\n".join(part for row in rows for part in row[1:] if isinstance(part, str))
            number = rows[-1][0]
        values = self._database.rows("SELECT value FROM kv WHERE tenant <> ?", (tenant,))
        yield "\n".join(value for (value,) in values if isinstance(value, str))

    # ---- copies

    def note_backup(self, path: str, moment: datetime) -> None:
        """Remember that a copy was made."""
        self._database.write(
            lambda run: run.execute("INSERT INTO backups (path, at) VALUES (?, ?)", (path, to_micros(moment)))
        )

    def backups(self) -> list[str]:
        """Return the copies that were made and are still where they were."""
        rows = self._database.rows("SELECT DISTINCT path FROM backups ORDER BY at")
        return [path for (path,) in rows if Path(path).exists()]


def _remove_versions(connection: Connection, tenant: str, rows: Sequence[Any]) -> dict[str, int]:
    """Remove versions by number with their words and vectors, so that every process sees it."""
    if not rows:
        return {}
    words, past = tables(tenant)
    models: list[int] = [row[0] for row in connection.execute("SELECT model FROM models")]
    # No system time is ever given again, though the rows that tell it go.
    tick(connection, tenant, max(next_time(connection, tenant, from_micros(0)), *(max(row[1:]) for row in rows)))
    vectors = 0
    for number, _, ended in rows:
        remove(connection, past if ended else words, number)
        for model in models:
            connection.execute("DELETE FROM vectors WHERE place = ?", (vector_place(model, number),))
            vectors += connection.changes()
        connection.execute("DELETE FROM records WHERE number = ?", (number,))
    connection.execute("UPDATE tenants SET epoch = epoch + 1 WHERE tenant = ?", (tenant,))
    # The next versions may get these numbers, and a model under construction must not pass them over.
    connection.execute("UPDATE models SET done = min(done, (SELECT ifnull(max(number), 0) FROM records))")
    return {"versions": len(rows), "words": len(rows), "vectors": vectors}


def _look(parts: Iterator[bytes], patterns: BytePatterns) -> int:
    size = 0
    before = b""
    for part in parts:
        size += len(part)
        patterns.search(before + part)
        before = part[-patterns.longest :]
        time.sleep(0)  # others wait for the processor
    return size


def _log(path: str) -> Iterator[bytes]:
    with contextlib.suppress(FileNotFoundError), Path(path).open("rb") as file:
        while part := file.read(_SCAN):
            yield part
