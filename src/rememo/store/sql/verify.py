"""Verify an SQL store: records, words, vectors, jobs and key-value entries agree, and everything can be read."""

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from functools import cache
from itertools import islice
from typing import Any, ClassVar, Generic

from rememo.errors import Corrupt
from rememo.store.cipher.codec import FieldCodec
from rememo.store.commits import content_hash
from rememo.store.record_columns import stored_text
from rememo.store.reports import Check
from rememo.store.sql.dialect import SqlDialect
from rememo.store.sql.key_value import ENTRY_COLUMNS, to_entry
from rememo.store.sql.part import C, D
from rememo.store.sql.session import SqlSession
from rememo.store.sql.version_fields import decode_fields, field_columns

_MOST_FAULTS = 100
_STEP = 1_000
VERSION = "tenant || '/' || id || ' version ' || version"
_LOST = "SELECT DISTINCT tenant FROM vault WHERE length(wrapped) = 0 ORDER BY tenant"
_VALUES = f"SELECT tenant, space, {ENTRY_COLUMNS} FROM kv"

# Each finds what must not be; a row is a fault's subject.
_RULES = (
    (
        # Where versions were thinned their numbers have a gap, but not their times.
        "has a gap in its versions",
        (
            "SELECT DISTINCT tenant || '/' || id FROM (SELECT tenant, id, version, recorded_at, lag(version) OVER history"
            " AS last, lag(superseded_at) OVER history AS ended FROM records WINDOW history AS (PARTITION BY tenant, id"
            " ORDER BY version)) AS ordered WHERE version > last + 1 AND ended IS DISTINCT FROM recorded_at"
        ),
    ),
    (
        "has versions that overlap",
        (
            "SELECT DISTINCT tenant || '/' || id FROM (SELECT tenant, id, recorded_at, lag(superseded_at) OVER"
            " (PARTITION BY tenant, id ORDER BY version) AS ended FROM records) AS ordered WHERE ended > recorded_at"
        ),
    ),
    (
        "has more than one current version",
        "SELECT tenant || '/' || id FROM records WHERE superseded_at IS NULL GROUP BY tenant, id HAVING count(*) > 1",
    ),
    ("ended before it began", f"SELECT {VERSION} FROM records WHERE superseded_at < recorded_at"),
    (
        "has times that cannot be",
        f"SELECT {VERSION} FROM records WHERE created_at > recorded_at OR at <> coalesce(occurred_at, created_at)",
    ),
    (
        "is current though a newer version exists",
        (
            "SELECT a.tenant || '/' || a.id || ' version ' || a.version FROM records a WHERE a.superseded_at IS NULL"
            " AND EXISTS (SELECT 1 FROM records b WHERE b.tenant = a.tenant AND b.id = a.id AND b.version > a.version)"
        ),
    ),
)

VERIFY_PROGRESS: ContextVar[Callable[[int, int], None] | None] = ContextVar("verify_progress", default=None)
"""Is told how many checks of a run are done, and of how many."""
Readable = Callable[[str], FieldCodec | None]
"""Returns a tenant's codec; None when its keys were dropped."""


class SqlVerifier(ABC, Generic[D, C]):
    """One run of `verify`."""

    dialect: ClassVar[SqlDialect]
    tables: ClassVar[tuple[str, ...]] = ("records", "vectors", "jobs", "kv")
    """The tables whose rows are counted."""
    erased_of_job: ClassVar[str]
    """The condition on `erased` of an erasure that is under way for the tenant of a job."""

    def __init__(self, database: D, codecs: C) -> None:
        self._database = database
        self._codecs = codecs
        self._checked: dict[str, int] = {}

    @abstractmethod
    def _own_rules(self) -> Iterator[tuple[str, str]]:
        """Give the rules on what each database keeps in its own way: the fault, and the query for its subjects."""

    @abstractmethod
    def _vector_faults(self, session: Any, readable: Any) -> Iterator[str]:
        """Give the encrypted vectors that cannot be decrypted where they stand; plain ones would tell nothing."""

    def _own_faults(self, _session: Any, /) -> Iterator[str]:
        """Give faults that no query finds by itself."""
        yield from ()

    def _storage_faults(self, _session: Any, /) -> Iterator[str]:
        """Give the faults of what the tables are kept in."""
        yield from ()

    def _guard(self, what: str, faults: Iterator[str]) -> Iterator[str]:
        """Give the faults of one check, whatever happens in it."""
        del what
        return faults

    def run(self) -> Check:
        """Return every fault, the first hundred named."""
        with self._database.snapshot() as session:
            lost = session.rows(_LOST)
            faults = tuple(islice(self._faults(session), _MOST_FAULTS))
        unchecked = tuple(f"the contents of tenant {tenant!r}: its key was dropped" for (tenant,) in lost)
        return Check(faults=faults, checked=self._checked, unchecked=unchecked)

    def _faults(self, session: SqlSession) -> Iterator[str]:
        readable: Readable = cache(self._codecs.readable)
        checks = [self._storage_faults(session)]
        checks += [self._guard(table, self._count(session, table)) for table in self.tables]
        checks += [
            self._guard(f"looking for what {fault}", self._rule_faults(session, fault, sql))
            for fault, sql in (*_RULES, self._job_rule(), *self._own_rules())
        ]
        checks.append(self._own_faults(session))
        checks.append(self._guard("the contents", self._content_faults(session, readable)))
        if self._codecs.cipher is not None:
            checks.append(self._guard("the vectors", self._vector_faults(session, readable)))
        checks.append(self._guard("the values", self._value_faults(session, readable)))
        progress = VERIFY_PROGRESS.get()
        for number, faults in enumerate(checks):
            if progress is not None:
                progress(number, len(checks))
            yield from faults

    def _count(self, session: SqlSession, table: str) -> Iterator[str]:
        self._checked[table] = session.value(f"SELECT count(*) FROM {table}")
        yield from ()

    def _job_rule(self) -> tuple[str, str]:
        record = self.dialect.payload_field("record")
        return "is a job for a record that is not there", (
            "SELECT jobs.tenant || '/' || jobs.id FROM jobs WHERE state IN ('waiting', 'running')"
            f" AND {record} IS NOT NULL AND NOT EXISTS (SELECT 1 FROM records"
            f" WHERE records.tenant = jobs.tenant AND records.id = {record})"
            # An erasure waits for whoever is just at a job, and is resumed where it was interrupted.
            f" AND NOT (state = 'running' AND EXISTS (SELECT 1 FROM {self.erased_of_job} AND erased.id = {record}))"
        )

    def _rule_faults(self, session: SqlSession, fault: str, sql: str) -> Iterator[str]:
        for row in session.rows(sql):
            yield f"{row[0]} {fault}"

    def _content_faults(self, session: SqlSession, readable: Readable) -> Iterator[str]:
        """Give the versions whose content is not what was written, or cannot be read as what it is."""
        columns = ", ".join(field_columns(self.dialect))
        sql = f"SELECT tenant, id, version, kind, hash, speaker, {columns} FROM records"
        for row in session.stream(sql, (), _STEP):
            tenant, id, version = row[:3]
            if not self._is_sound(row, readable):
                yield f"{tenant}/{id} version {version} is not what was written"

    def _is_sound(self, row: Any, readable: Readable) -> bool:
        tenant, id, version, kind, digest, speaker, *stored = row
        texts = len(self.dialect.text_columns)
        try:
            if content_hash(kind, stored_text(stored[:texts]), stored[texts]) != digest:
                return False
            if (codec := readable(tenant)) is None:
                return True
            fields = decode_fields(codec, stored, id, version)
            codec.decode_name(speaker)
            return all(isinstance(json.loads(fields[name] or ""), dict) for name in ("data", "metadata"))
        except (Corrupt, ValueError, TypeError, AttributeError):
            return False

    def _value_faults(self, session: SqlSession, readable: Readable) -> Iterator[str]:
        """Give the key-value entries that cannot be read."""
        for tenant, space, *row in session.stream(_VALUES, (), _STEP):
            try:
                if (codec := readable(tenant)) is not None:
                    json.loads(to_entry(row, space, codec).value)
            except (Corrupt, ValueError):
                yield f"a key-value entry of {tenant} in {space} is not what was written"
