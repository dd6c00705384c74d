"""Erasure in an SQL store: what is under way, and what it removes row by row."""

import json
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from rememo.model.check import dump_json
from rememo.model.erasure import ErasureTarget
from rememo.model.record import Record
from rememo.model.times import from_micros, to_micros
from rememo.store.cipher.payloads import decode_payload
from rememo.store.erasure import NOTE, add_up, tells_of
from rememo.store.sql.dialect import in_steps
from rememo.store.sql.part import C, D, SqlPart
from rememo.store.sql.session import SqlSession

_PAGE = 500
_STEP = 200
_KNOWN = "SELECT number FROM erasures WHERE tenant = ? AND target IN (?, ?) ORDER BY number LIMIT 1"
_SET_TARGET = "UPDATE erasures SET target = ? WHERE tenant = ? AND number = ?"
_UNDER_WAY = "SELECT number, target FROM erasures WHERE tenant = ? ORDER BY number"
_ERASURE = "SELECT begun_at, counts FROM erasures WHERE tenant = ? AND number = ?"
_COUNTS = "SELECT counts FROM erasures WHERE tenant = ? AND number = ?"
_SET_COUNTS = "UPDATE erasures SET counts = ? WHERE tenant = ? AND number = ?"
_END = "DELETE FROM erasures WHERE tenant = ? AND number = ?"
_DROP_KEY = "DELETE FROM keys WHERE tenant = ? AND scope = ? AND key = ?"
_DROP_JOB = "DELETE FROM jobs WHERE tenant = ? AND id = ?"
_DROP_ERROR = "UPDATE jobs SET error = NULL WHERE tenant = ? AND id = ?"
_DROP_SNAPSHOTS = "DELETE FROM snapshots WHERE tenant = ?"


class SqlErasure(SqlPart[D, C]):
    """The part of the `RecordErasure` protocol that knows no bytes."""

    @abstractmethod
    def _lock_for_erasure(self, session: Any, tenant: str) -> None:
        """Keep others from writing for a tenant until the transaction ends, as every write does first."""

    @abstractmethod
    def _insert_erasure(self, session: Any, tenant: str, target: str, at: int) -> int:
        """Store a new erasure and return its number."""

    @abstractmethod
    def _put_mark(self, session: Any, tenant: str, number: int, id: str, note: Any, /) -> None:
        """Store what was noted of a record that an erasure has removed, in the place of what was noted before."""

    @abstractmethod
    def _remove_versions(self, session: Any, tenant: str, condition: str, values: Sequence[Any]) -> dict[str, int]:
        """Remove the versions of a tenant that a condition means, with their words and vectors; return how many of each."""

    @abstractmethod
    def _read_record(self, row: Any, tenant: str, codec: Any) -> Record:
        """Return the record of a row of `_record_columns`."""

    @property
    @abstractmethod
    def _record_columns(self) -> str:
        """Return the columns that a record is made of."""

    # ---- what is under way

    def begin_erasure(self, target: ErasureTarget, moment: datetime) -> int:
        """Note that an erasure has begun and return its number; the same one that was interrupted goes on."""
        tenant, text = target.scope.tenant, target.dumped()

        def begin(session: SqlSession) -> int:
            self._lock_for_erasure(session, tenant)
            known: int | None = session.value(_KNOWN, (tenant, text, target.digest))
            if known is None:
                return self._insert_erasure(session, tenant, text, to_micros(moment))
            session.execute(_SET_TARGET, (text, tenant, known))
            return known

        return self._database.write(begin, repeatable=True)

    def erasures(self, tenant: str) -> list[tuple[int, ErasureTarget | None]]:
        """Return what is being erased, or was when somebody was interrupted; None where only bytes are left to clean."""
        rows = self._database.rows(_UNDER_WAY, (tenant,))
        return [(number, ErasureTarget.read(target)) for number, target in rows]

    def erasure(self, number: int, tenant: str) -> tuple[datetime | None, dict[str, int]]:
        """Return when an erasure began, and what it has removed so far."""
        row = self._database.row(_ERASURE, (tenant, number))
        # Gone when somebody else was at the same and has ended it.
        return (None, {}) if row is None else (from_micros(row[0]), json.loads(row[1]))

    def marks(self, number: int, tenant: str) -> dict[str, Any]:
        """Return the ids of records that an erasure has removed, with what was noted of them."""
        codec = self._codecs.get(tenant)
        rows = self._database.rows(f"SELECT id, note FROM erased WHERE {self.dialect.erased_of}", (tenant, number))
        return {id: json.loads(codec.decode(note, NOTE, id, number)) for id, note in rows}

    def mark(self, number: int, tenant: str, marks: Mapping[str, Any]) -> None:
        """Note more of what an erasure must come back to."""
        if marks:
            self._codecs.write(self._database, lambda session: self._mark(session, number, tenant, marks), tenant)

    def _mark(self, session: SqlSession, number: int, tenant: str, marks: Mapping[str, Any]) -> None:
        codec = self._codecs.locked(session, tenant)
        for id, note in marks.items():
            self._put_mark(session, tenant, number, id, codec.encode(dump_json(note), NOTE, id, number))

    def add_counts(self, number: int, tenant: str, counts: Mapping[str, int]) -> None:
        """Add to what an erasure has removed."""
        self._database.write(lambda session: self._count(session, number, tenant, counts))

    def _count(self, session: SqlSession, number: int, tenant: str, counts: Mapping[str, int]) -> None:
        before = session.value(_COUNTS + self.dialect.lock, (tenant, number))
        session.execute(_SET_COUNTS, (add_up(before, counts), tenant, number))

    def forget_target(self, number: int, target: ErasureTarget) -> None:
        """Forget whom an erasure was about and what it removed; by a digest it is known again, with its counts."""
        self._end(number, target.scope.tenant, _SET_TARGET, target.digest)

    def end_erasure(self, number: int, tenant: str) -> None:
        """Forget an erasure."""
        self._end(number, tenant, _END)

    def _end(self, number: int, tenant: str, sql: str, *values: str) -> None:
        def end(session: SqlSession) -> None:
            session.execute(f"DELETE FROM erased WHERE {self.dialect.erased_of}", (tenant, number))
            session.execute(sql, (*values, tenant, number))

        self._database.write(end, repeatable=True)

    # ---- records

    def weigh(self, target: ErasureTarget) -> dict[str, int]:
        """Count the records that have a version within a target, and all versions of these."""
        inside, values = self.dialect.target_condition(target)
        records, versions = self._database.row(
            "SELECT count(DISTINCT id), count(*) FROM records"
            f" WHERE tenant = ? AND id IN (SELECT id FROM records WHERE {inside})",
            [target.scope.tenant, *values],
        )
        return {"records": records, "versions": versions}

    def obliterate(self, number: int, tenant: str, marks: Mapping[str, Any], jobs: Sequence[str] = ()) -> None:
        """Remove every version of records for good with their jobs, and note them as removed by an erasure.

        A job that is just being done is left to `forget`, which waits for it.
        """
        is_one = self.dialect.any_of("id")

        def run(session: SqlSession) -> None:
            counts = self._remove_versions(session, tenant, is_one, [self.dialect.array(list(marks))])
            ended = f"DELETE FROM jobs WHERE tenant = ? AND {is_one} AND state <> 'running'"
            counts["jobs"] = session.changed(ended, (tenant, self.dialect.array(jobs)))
            self._mark(session, number, tenant, marks)
            self._count(session, number, tenant, {"records": len(marks), **counts})

        self._codecs.write(self._database, run, tenant)

    def drop_versions(self, number: int, tenant: str, id: str, below: int) -> None:
        """Remove the versions of a record before one, for good."""
        past = "id = ? AND version < ? AND superseded_at IS NOT NULL"
        self._database.write(
            lambda session: self._count(
                session, number, tenant, self._remove_versions(session, tenant, past, [id, below])
            )
        )

    def versions(self, tenant: str, kinds: Sequence[str]) -> Iterator[Record]:
        """Give every version of some kinds, past ones too, record by record."""
        last, codec = ("", 0), self._codecs.get(tenant)
        sql = (
            f"SELECT {self._record_columns} FROM records WHERE tenant = ? AND (id, version) > (?, ?)"
            f" AND {self.dialect.any_of('kind')} ORDER BY id, version LIMIT {_PAGE}"
        )
        while rows := self._database.rows(sql, (tenant, *last, self.dialect.array(kinds))):
            for row in rows:
                yield self._read_record(row, tenant, codec)
            last = rows[-1][:2]

    # ---- what else tells of them

    def forget(self, number: int, target: ErasureTarget, moment: datetime) -> int:
        """Remove the idempotency keys, jobs and snapshots of what an erasure removed.

        Returns how many jobs are just being done on it; they are left, and removed when it is called again.
        """
        tenant, now = target.scope.tenant, to_micros(moment)
        gone, codec, running = self.marks(number, tenant), self._codecs.get(tenant), 0
        for page in self._pages("keys", 'scope, key, "commit"', "scope, key", tenant):
            keys = [row[:2] for row in page if tells_of(target, gone, row[0], row[2])]
            self._change_each(number, tenant, "keys", _DROP_KEY, keys)
        for page in self._pages("jobs", "id, payload, state, leased_until", "id", tenant):
            ended: list[tuple[str]] = []
            for id, payload, state, leased_until in page:
                if target.whole or decode_payload(payload, id, codec).get("record") in gone:
                    if state == "running" and (leased_until or 0) > now:
                        running += 1
                    else:
                        ended.append((id,))
            self._change_each(number, tenant, "jobs", _DROP_JOB, ended)
        if target.whole:
            self._database.write(lambda session: session.changed(_DROP_SNAPSHOTS, (tenant,)), repeatable=True)
        return running

    def clean_jobs(self, number: int, tenant: str, *, jobs: Sequence[str], errors: Sequence[str]) -> None:
        """Remove jobs, and take the errors of others out, by their ids; what was removed counts for an erasure."""
        self._change_each(number, tenant, "job_errors", _DROP_ERROR, [(id,) for id in errors])
        self._change_each(number, tenant, "jobs", _DROP_JOB, [(id,) for id in jobs])

    def _pages(self, table: str, columns: str, order: str, tenant: str) -> Iterator[list[Any]]:
        """Give the rows of a tenant in pages; the first columns are those of the order, which are texts."""
        last: tuple[Any, ...] = ("",) * len(order.split(", "))
        signs = ", ".join("?" * len(last))
        sql = f"SELECT {columns} FROM {table} WHERE tenant = ? AND ({order}) > ({signs}) ORDER BY {order} LIMIT {_PAGE}"
        while rows := self._database.rows(sql, (tenant, *last)):
            last = tuple(rows[-1][: len(last)])
            yield rows

    def _change_each(self, number: int, tenant: str, what: str, sql: str, rows: Sequence[Sequence[Any]]) -> None:
        """Run a statement for each of some rows, a few in one transaction; the erasure counts what was changed."""
        for part in in_steps(rows, _STEP):

            def run(session: SqlSession, part: Sequence[Sequence[Any]] = part) -> None:
                changed = sum(session.changed(sql, (tenant, *row)) for row in part)
                self._count(session, number, tenant, {what: changed})

            self._database.write(run)
