"""Removing for good: versions with their words and vectors, keys, jobs, and the bytes that deletion leaves behind.

Every connection deletes with `secure_delete`, so that what is removed is overwritten. Two things outlive that: terms in
segments of FTS5, which only marks deleted rows, and the log. `purge` merges the segments anew and empties the log.
"""

import contextlib
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from rememo.model.check import dump_json
from rememo.model.erasure import ErasureTarget
from rememo.model.record import Record
from rememo.model.times import from_micros, to_micros
from rememo.store.byte_patterns import BytePatterns
from rememo.store.cipher.payloads import decode_payload
from rememo.store.erasure import NOTE, add_up, tells_of
from rememo.store.sqlite.connection import Connection
from rememo.store.sqlite.filter_sql import RECORD_COLUMNS, Sql, within
from rememo.store.sqlite.part import SqlitePart
from rememo.store.sqlite.reading import to_record
from rememo.store.sqlite.scrubbing import read_bytes, scrub
from rememo.store.sqlite.words import narrowest, remove, tables
from rememo.store.sqlite.writing import next_time, tick, vector_place

_MERGE_PAGES = 64
_SCAN = 1 << 20


class SqliteErasure(SqlitePart):
    """The `Erasing` half of the store."""

    # ---- what is under way

    def begin_erasure(self, target: ErasureTarget, moment: datetime) -> int:
        """Note that an erasure has begun and return its number; the same one that was interrupted goes on."""
        tenant, text = target.scope.tenant, target.dumped()

        def begin(connection: Connection) -> int:
            known: int | None = connection.execute(
                "SELECT number FROM erasures WHERE tenant = ? AND target = ?", (tenant, text)
            ).get
            if known is not None:
                return known
            connection.execute(
                "INSERT INTO erasures (tenant, target, counts, begun_at) VALUES (?, ?, '{}', ?)",
                (tenant, text, to_micros(moment)),
            )
            return connection.last_insert_rowid()

        return self._database.write(begin)

    def erasures(self, tenant: str) -> list[tuple[int, ErasureTarget | None]]:
        """Return what is being erased, or was when somebody was interrupted; None where only bytes are left to clean."""
        rows = self._database.rows("SELECT number, target FROM erasures WHERE tenant = ? ORDER BY number", (tenant,))
        return [(number, None if target is None else ErasureTarget.loaded(target)) for number, target in rows]

    def erasure(self, number: int, tenant: str) -> tuple[datetime | None, dict[str, int]]:
        """Return when an erasure began, and what it has removed so far."""
        row = self._database.value(
            "SELECT begun_at, counts FROM erasures WHERE number = ? AND tenant = ?", (number, tenant)
        )
        # Gone when somebody else was at the same and has ended it.
        return (None, {}) if row is None else (from_micros(row[0]), json.loads(row[1]))

    def marks(self, number: int, tenant: str) -> dict[str, Any]:
        """Return the ids of records that an erasure has removed, with what was noted of them."""
        rows = self._database.rows("SELECT id, note FROM erased WHERE erasure = ?", (number,))
        codec = self._codecs.get(tenant)
        return {id: json.loads(codec.decode(note, NOTE, id, number)) for id, note in rows}

    def mark(self, number: int, tenant: str, marks: Mapping[str, Any]) -> None:
        """Note more of what an erasure must come back to."""
        self._database.write(lambda connection: self._mark(connection, number, tenant, marks))

    def _mark(self, connection: Connection, number: int, tenant: str, marks: Mapping[str, Any]) -> None:
        codec = self._codecs.get(tenant)
        connection.executemany(
            "INSERT OR REPLACE INTO erased (erasure, id, note) VALUES (?, ?, ?)",
            [(number, id, codec.encode(dump_json(note), NOTE, id, number)) for id, note in marks.items()],
        )

    def end_erasure(self, number: int, tenant: str, *, cleaned: bool) -> None:
        """Forget what was erased: first whom it was about, then, with the bytes `cleaned`, that there was anything."""

        def end(connection: Connection) -> None:
            connection.execute("DELETE FROM erased WHERE erasure = ?", (number,))
            if cleaned:
                connection.execute("DELETE FROM erasures WHERE number = ? AND tenant = ?", (number, tenant))
            else:
                connection.execute(
                    "UPDATE erasures SET target = NULL WHERE number = ? AND tenant = ?", (number, tenant)
                )

        self._database.write(end)

    # ---- records

    def weigh(self, target: ErasureTarget) -> dict[str, int]:
        """Count the records that have a version within a target, and all versions of these."""
        inside, values = _inside(target)
        row = self._database.value(
            "SELECT count(DISTINCT id), count(*) FROM records"
            f" WHERE tenant = ? AND id IN (SELECT id FROM records WHERE {inside})",
            [target.scope.tenant, *values],
        )
        return {"records": row[0], "versions": row[1]}

    def doomed(self, target: ErasureTarget, limit: int) -> list[Record]:
        """Return all versions of the first so many records that have one within a target."""
        inside, values = _inside(target)
        tenant = target.scope.tenant
        rows = self._database.rows(
            f"SELECT {RECORD_COLUMNS} FROM records WHERE tenant = ? AND id IN"
            f" (SELECT DISTINCT id FROM records WHERE {inside} LIMIT ?) ORDER BY id, version",
            [tenant, *values, limit],
        )
        codec = self._codecs.get(tenant)
        return [to_record(row, tenant, codec) for row in rows]

    def obliterate(self, number: int, tenant: str, marks: Mapping[str, Any], jobs: Sequence[str] = ()) -> None:
        """Remove every version of records for good with their jobs, and note them as removed by an erasure.

        A job that is just being done is left to `forget`, which waits for it.
        """

        def run(connection: Connection) -> None:
            rows: list[Any] = connection.execute(
                "SELECT number, recorded_at, ifnull(superseded_at, 0) FROM records"
                " WHERE tenant = ? AND id IN (SELECT value FROM json_each(?))",
                (tenant, dump_json(list(marks))),
            ).fetchall()
            counts = _remove_versions(connection, tenant, rows)
            connection.execute(
                "DELETE FROM jobs WHERE tenant = ? AND id IN (SELECT value FROM json_each(?)) AND state <> 'running'",
                (tenant, dump_json(list(jobs))),
            )
            counts["jobs"] = connection.changes()
            self._mark(connection, number, tenant, marks)
            _count(connection, number, {"records": len(marks), **counts})

        self._database.write(run)

    def drop_versions(self, number: int, tenant: str, id: str, below: int) -> None:
        """Remove the versions of a record before one, for good."""

        def run(connection: Connection) -> None:
            rows: list[Any] = connection.execute(
                "SELECT number, recorded_at, ifnull(superseded_at, 0) FROM records"
                " WHERE tenant = ? AND id = ? AND version < ? AND superseded_at IS NOT NULL",
                (tenant, id, below),
            ).fetchall()
            _count(connection, number, _remove_versions(connection, tenant, rows))

        self._database.write(run)

    def versions(self, tenant: str, kinds: Sequence[str]) -> Iterator[Record]:
        """Give every version of some kinds, past ones too, record by record."""
        id, version = "", 0
        sql = (
            f"SELECT {RECORD_COLUMNS} FROM records WHERE tenant = ? AND (id, version) > (?, ?)"
            " AND kind IN (SELECT value FROM json_each(?)) ORDER BY id, version LIMIT 500"
        )
        codec = self._codecs.get(tenant)
        while rows := self._database.rows(sql, (tenant, id, version, dump_json(list(kinds)))):
            for row in rows:
                yield to_record(row, tenant, codec)
            id, version = rows[-1][:2]

    # ---- what else tells of them

    def forget(self, number: int, target: ErasureTarget, moment: datetime) -> int:
        """Remove the idempotency keys, jobs and snapshots of what an erasure removed.

        Returns how many jobs are just being done on it; they are left, and removed when it is called again.
        """
        tenant = target.scope.tenant
        gone = self.marks(number, tenant)
        keys = [
            (scope, key)
            for scope, key, commit in self._pages("keys", 'scope, key, "commit"', "scope, key", tenant)
            if tells_of(target, gone, scope, commit)
        ]
        jobs: list[str] = []
        running, codec = 0, self._codecs.get(tenant)
        for id, payload, state, leased in self._pages("jobs", "id, payload, state, leased_until", "id", tenant):
            if target.whole or decode_payload(payload, id, codec).get("record") in gone:
                if state == "running" and (leased or 0) > to_micros(moment):
                    running += 1
                else:
                    jobs.append(id)
        self._each(number, "keys", "DELETE FROM keys WHERE tenant = ? AND scope = ? AND key = ?", tenant, keys)
        self._each(number, "jobs", "DELETE FROM jobs WHERE tenant = ? AND id = ?", tenant, [(id,) for id in jobs])
        if target.whole:
            self._database.write(lambda run: run.execute("DELETE FROM snapshots WHERE tenant = ?", (tenant,)))
        return running

    def clean_jobs(self, number: int, tenant: str, *, jobs: Sequence[str], errors: Sequence[str]) -> None:
        """Remove jobs, and take the errors of others out, by their ids; what was removed counts for an erasure."""
        sql = "UPDATE jobs SET error = NULL WHERE tenant = ? AND id = ?"
        self._each(number, "job_errors", sql, tenant, [(id,) for id in errors])
        self._each(number, "jobs", "DELETE FROM jobs WHERE tenant = ? AND id = ?", tenant, [(id,) for id in jobs])

    def _pages(self, table: str, columns: str, order: str, tenant: str) -> Iterator[Any]:
        key: tuple[Any, ...] = ("",) * len(order.split(", "))
        marks = ", ".join("?" * len(key))
        while rows := self._database.rows(
            f"SELECT {columns} FROM {table} WHERE tenant = ? AND ({order}) > ({marks}) ORDER BY {order} LIMIT 500",
            (tenant, *key),
        ):
            yield from rows
            key = rows[-1][: len(key)]

    def _each(self, number: int, what: str, sql: str, tenant: str, rows: Sequence[tuple[str, ...]]) -> None:
        for start in range(0, len(rows), 200):
            part = [(tenant, *row) for row in rows[start : start + 200]]

            def run(connection: Connection, part: list[tuple[str, ...]] = part) -> None:
                connection.executemany(sql, part)
                _count(connection, number, {what: len(part)})

            self._database.write(run)

    def add_counts(self, number: int, _tenant: str, /, counts: Mapping[str, int]) -> None:
        """Add to what an erasure has removed."""
        self._database.write(lambda connection: _count(connection, number, counts))

    # ---- bytes

    def purge(self, tenant: str, seconds: float) -> str | None:
        """Make the bytes of what was removed go: from segments of words, and from the log.

        Writers wait for a step of it at the most. Says so when others read the log all the time that was given.
        """
        for table in tables(tenant):
            pages = -_MERGE_PAGES  # below zero: begin with everything there is
            while self._merge(table, pages):
                pages = _MERGE_PAGES
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
        found = {"records": len(self.doomed(target, 10))}
        with self._database.snapshot() as connection:
            if target.ids is None:
                label = narrowest(scope)
                alone = [scope.agent, scope.user, scope.room].count(None) >= 2  # noqa: PLR2004 - all but one
                if alone:
                    found["words"] = sum(
                        connection.execute(f"SELECT count(*) FROM {table} WHERE {table} MATCH ?", (f'"{label}"',)).get
                        for table in tables(scope.tenant)
                    )
            blind_indexes = self._codecs.get(scope.tenant).blind_indexes
            forms = [form for term in terms for form in ((term,) if blind_indexes is None else blind_indexes(term))]
            for table in tables(scope.tenant):
                for term in forms:
                    quoted = '"' + term.replace('"', '""') + '"'
                    found["lost words"] = (
                        found.get("lost words", 0)
                        + connection.execute(
                            f"SELECT count(*) FROM {table} WHERE {table} MATCH ?"
                            " AND rowid NOT IN (SELECT number FROM records)",
                            (quoted,),
                        ).get
                    )
        return {name: count for name, count in found.items() if count}

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


def _inside(target: ErasureTarget) -> Sql:
    """Return the condition of versions within a target."""
    inside, values = within(target.scope)
    if target.ids is None:
        return inside, values
    return f"{inside} AND id IN (SELECT value FROM json_each(?))", [*values, dump_json(list(target.ids))]


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


def _count(connection: Connection, number: int, counts: Mapping[str, int]) -> None:
    held: str | None = connection.execute("SELECT counts FROM erasures WHERE number = ?", (number,)).get
    connection.execute("UPDATE erasures SET counts = ? WHERE number = ?", (add_up(held, counts), number))


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
