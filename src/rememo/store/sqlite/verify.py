"""Verify a file: it is sound, and records, words, vectors and jobs agree."""

from collections.abc import Iterator
from contextlib import suppress
from typing import ClassVar

from rememo.errors import Corrupt
from rememo.store.cipher.protocol import CIPHER_OVERHEAD
from rememo.store.reports import Check
from rememo.store.sql.dialect import SqlDialect
from rememo.store.sql.verify import Readable, SqlVerifier
from rememo.store.sqlite.codecs import SqliteCodecs
from rememo.store.sqlite.connection import Connection
from rememo.store.sqlite.database import SqliteDatabase
from rememo.store.sqlite.errors import DAMAGED
from rememo.store.sqlite.filter_sql import DIALECT
from rememo.store.sqlite.words import all_tables, tables

_RULES = (
    (
        "stands out of the order of its system time",
        (
            "SELECT tenant || '/' || id || ' version ' || version FROM (SELECT *, lag(recorded_at) OVER (ORDER BY number)"
            " AS before FROM records) WHERE before > recorded_at AND number > (SELECT ifnull(max(loaded), 0) FROM tenants)"
        ),
    ),
    (
        "is a vector without a record",
        "SELECT 'number ' || (place & 0xffffffffff) FROM vectors WHERE place & 0xffffffffff NOT IN (SELECT number FROM records)",
    ),
    (
        "is a vector of the wrong size",
        (
            "SELECT 'number ' || (place & 0xffffffffff) FROM vectors JOIN models ON model = place >> 40"
            f" WHERE length(vector) != 4 * dimension + iif(EXISTS (SELECT 1 FROM vault), {CIPHER_OVERHEAD}, 0)"
        ),
    ),
)


class SqliteVerifier(SqlVerifier[SqliteDatabase, SqliteCodecs]):
    """One run of `verify` on a file."""

    dialect: ClassVar[SqlDialect] = DIALECT
    erased_of_job: ClassVar[str] = "erased JOIN erasures ON number = erasure WHERE erasures.tenant = jobs.tenant"

    def run(self) -> Check:
        """Return every fault, the first hundred named; a file that cannot even be opened is one."""
        try:
            return super().run()
        except Corrupt as error:
            return Check(faults=(str(error),), checked=self._checked)

    def _guard(self, what: str, faults: Iterator[str]) -> Iterator[str]:
        """Give the faults of one check; one that cannot be ended is a fault itself, and the others go on."""
        try:
            yield from faults
        except DAMAGED as error:
            yield f"{what}: cannot be read ({error})"

    def _storage_faults(self, session: Connection, /) -> Iterator[str]:
        yield from self._guard("the file", _file_faults(session))

    def _own_rules(self) -> Iterator[tuple[str, str]]:
        yield from _RULES

    def _own_faults(self, session: Connection, /) -> Iterator[str]:
        yield from self._guard("the words", _word_faults(session, self._checked))

    def _vector_faults(self, session: Connection, readable: Readable) -> Iterator[str]:
        query = "SELECT place, vector, tenant, id, version FROM vectors JOIN records ON number = place & 0xffffffffff"
        for place, vector, tenant, id, version in session.execute(query):
            try:
                if (codec := readable(tenant)) is not None:
                    codec.decode_vector(place, vector)
            except Corrupt:
                yield f"the vector of {tenant}/{id} version {version} is not what was written"


def _file_faults(connection: Connection) -> Iterator[str]:
    for table in all_tables():
        # FTS5 looks whether other connections changed it when it is asked something, but not when it is checked: without
        # this, a connection that checked it before would look for what has been merged away since.
        with suppress(*DAMAGED):  # the check itself says it better
            connection.execute(f"SELECT 1 FROM {table} WHERE {table} MATCH ? LIMIT 1", ("nothing",)).fetchall()
    for row in connection.execute("PRAGMA integrity_check"):
        if row[0] != "ok":
            yield f"the file: {row[0]}"


def _word_faults(connection: Connection, checked: dict[str, int]) -> Iterator[str]:
    """Every version stands in exactly the table of words where it belongs."""
    indexed = {
        table: {row[0] for row in connection.execute(f"SELECT id FROM {table}_docsize")} for table in all_tables()
    }
    for number, place in connection.execute("SELECT number, place FROM staged"):
        indexed.setdefault(place, set()).add(number)
    checked["words"] = sum(len(numbers) for numbers in indexed.values())
    query = "SELECT number, tenant, superseded_at IS NULL, id, version FROM records"
    for number, tenant, current, id, version in connection.execute(query):
        table = tables(tenant)[0 if current else 1]
        if number in indexed[table]:
            indexed[table].discard(number)
        else:
            yield f"{tenant}/{id} version {version} has no words in {table}"
    for table, rest in indexed.items():
        for number in sorted(rest):
            yield f"words in {table} belong to no version that should be there (number {number})"
