"""Verify a store on a server: records, words, vectors and jobs agree."""

from collections.abc import Callable, Iterator
from typing import ClassVar

from rememo.errors import Corrupt
from rememo.store.cipher.protocol import CIPHER_OVERHEAD
from rememo.store.postgres.codecs import PostgresCodec, PostgresCodecs
from rememo.store.postgres.database import PostgresDatabase
from rememo.store.postgres.filter_sql import DIALECT
from rememo.store.postgres.session import PostgresSession
from rememo.store.postgres.vectors import from_wire
from rememo.store.sql.dialect import SqlDialect
from rememo.store.sql.verify import VERSION, SqlVerifier

_STEP = 1_000
_RULES = (
    (
        "stands out of the order of its system time",
        (
            f"SELECT {VERSION} FROM (SELECT tenant, id, version, number, recorded_at,"
            " lag(recorded_at) OVER (PARTITION BY tenant ORDER BY number) AS before FROM records) AS ordered"
            " WHERE before > recorded_at AND number > (SELECT loaded FROM tenants WHERE tenants.tenant = ordered.tenant)"
        ),
    ),
    (
        "has a number that its tenant has not reached",
        (
            f"SELECT {VERSION} FROM records WHERE number >"
            " coalesce((SELECT tenants.number FROM tenants WHERE tenants.tenant = records.tenant), 0)"
        ),
    ),
    (
        "has no words where they belong",
        (
            f"SELECT {VERSION} FROM records WHERE NOT EXISTS (SELECT 1 FROM words WHERE words.tenant = records.tenant"
            " AND words.number = records.number AND words.current = (superseded_at IS NULL))"
        ),
    ),
    (
        "are words that belong to no version",
        (
            "SELECT tenant || ' number ' || number FROM words WHERE NOT EXISTS"
            " (SELECT 1 FROM records WHERE records.tenant = words.tenant AND records.number = words.number)"
        ),
    ),
    (
        "is a vector without a record",
        (
            "SELECT tenant || ' number ' || number FROM vectors WHERE NOT EXISTS"
            " (SELECT 1 FROM records WHERE records.tenant = vectors.tenant AND records.number = vectors.number)"
        ),
    ),
)
_VECTORS = """SELECT tenant, model, number, sealed, (SELECT id || ' version ' || version FROM records
  WHERE records.tenant = vectors.tenant AND records.number = vectors.number)
FROM vectors WHERE sealed IS NOT NULL ORDER BY tenant"""
_SIZES = """SELECT tenant || ' number ' || number FROM vectors JOIN models ON models.model = vectors.model
WHERE octet_length({bytes}) <> 4 + 4 * dimension OR octet_length(sealed) <> {overhead} + 4 * dimension"""


class PostgresVerifier(SqlVerifier[PostgresDatabase, PostgresCodecs]):
    """One run of `verify` on a server."""

    dialect: ClassVar[SqlDialect] = DIALECT
    tables: ClassVar[tuple[str, ...]] = ("records", "words", "vectors", "jobs", "kv")
    erased_of_job: ClassVar[str] = "erased WHERE erased.tenant = jobs.tenant"

    def _own_rules(self) -> Iterator[tuple[str, str]]:
        yield from _RULES
        pgvector = self._database.pgvector_schema
        stored = "vector" if pgvector is None else f"{pgvector}.vector_send(vector)"
        yield "is a vector of the wrong size", _SIZES.format(bytes=stored, overhead=CIPHER_OVERHEAD)

    def _vector_faults(
        self, session: PostgresSession, readable: Callable[[str], PostgresCodec | None]
    ) -> Iterator[str]:
        for tenant, model, number, encrypted, version in session.stream(_VECTORS, (), _STEP):
            try:
                if (codec := readable(tenant)) is not None:
                    from_wire(model, [(number, encrypted)], codec)
            except Corrupt:
                yield f"the vector of {tenant}/{version} is not what was written"
