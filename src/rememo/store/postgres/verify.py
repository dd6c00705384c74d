"""Verify: records, words, vectors and jobs agree."""

import json
from collections.abc import Callable, Iterator
from functools import cache
from itertools import islice
from typing import Any

from rememo.errors import Corrupt
from rememo.store.cipher.protocol import CIPHER_OVERHEAD
from rememo.store.commits import content_hash
from rememo.store.postgres.codecs import PostgresCodec, PostgresCodecs
from rememo.store.postgres.database import PostgresDatabase
from rememo.store.postgres.key_value import to_entry
from rememo.store.postgres.session import Session
from rememo.store.postgres.vectors import from_wire
from rememo.store.reports import Check

_MOST_FAULTS = 100
_STEP = 1_000
_VERSION = "tenant || '/' || id || ' version ' || version"

# Each finds what must not be; a row is a fault's subject.
_RULES = (
    (
        # Where versions were thinned their numbers have a gap, but not their times.
        "has a gap in its versions",
        (
            "SELECT DISTINCT tenant || '/' || id FROM (SELECT tenant, id, version, recorded_at, lag(version) OVER one AS last,"
            " lag(superseded_at) OVER one AS ended FROM records WINDOW one AS (PARTITION BY tenant, id ORDER BY version))"
            " AS ordered WHERE version > last + 1 AND ended IS DISTINCT FROM recorded_at"
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
    ("ended before it began", f"SELECT {_VERSION} FROM records WHERE superseded_at < recorded_at"),
    (
        "has times that cannot be",
        f"SELECT {_VERSION} FROM records WHERE created_at > recorded_at OR at <> coalesce(occurred_at, created_at)",
    ),
    (
        "is current though a newer version exists",
        (
            "SELECT a.tenant || '/' || a.id || ' version ' || a.version FROM records a WHERE a.superseded_at IS NULL"
            " AND EXISTS (SELECT 1 FROM records b WHERE b.tenant = a.tenant AND b.id = a.id AND b.version > a.version)"
        ),
    ),
    (
        "stands out of the order of its system time",
        (
            f"SELECT {_VERSION} FROM (SELECT tenant, id, version, number, recorded_at,"
            " lag(recorded_at) OVER (PARTITION BY tenant ORDER BY number) AS before FROM records) AS ordered"
            " WHERE before > recorded_at AND number > (SELECT loaded FROM tenants WHERE tenants.tenant = ordered.tenant)"
        ),
    ),
    (
        "has a number that its tenant has not reached",
        (
            f"SELECT {_VERSION} FROM records WHERE number >"
            " coalesce((SELECT tenants.number FROM tenants WHERE tenants.tenant = records.tenant), 0)"
        ),
    ),
    (
        "has no words where they belong",
        (
            f"SELECT {_VERSION} FROM records WHERE NOT EXISTS (SELECT 1 FROM words WHERE words.tenant = records.tenant"
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
    (
        "is a job for a record that is not there",
        (
            "SELECT jobs.tenant || '/' || jobs.id FROM jobs WHERE state IN ('waiting', 'running')"
            " AND payload::json ->> 'record' IS NOT NULL AND NOT EXISTS (SELECT 1 FROM records"
            " WHERE records.tenant = jobs.tenant AND records.id = payload::json ->> 'record')"
            # An erasure waits for whoever is just at a job, and is resumed where it was interrupted.
            " AND NOT (state = 'running' AND EXISTS (SELECT 1 FROM erased WHERE erased.tenant = jobs.tenant"
            " AND erased.id = payload::json ->> 'record'))"
        ),
    ),
)
_CONTENTS = """SELECT tenant, id, version, kind, text, packed, data, metadata, source, quarantine, speaker, hash
FROM records ORDER BY tenant"""
_VECTORS = "SELECT tenant, model, number, sealed FROM vectors WHERE sealed IS NOT NULL ORDER BY tenant"
_VALUES = "SELECT tenant, space, key, value, version, expires_at, sliding FROM kv ORDER BY tenant"
_LOST = "SELECT DISTINCT tenant FROM vault WHERE wrapped = '' ORDER BY tenant"
_SIZES = """SELECT tenant || ' number ' || number FROM vectors JOIN models ON models.model = vectors.model
WHERE octet_length({bytes}) <> 4 + 4 * dimension OR octet_length(sealed) <> {overhead} + 4 * dimension"""


Readable = Callable[[str], PostgresCodec | None]
"""How a tenant's contents are kept; None when nobody can read them any more."""


def verify(database: PostgresDatabase, codecs: PostgresCodecs) -> Check:
    """Return every fault found, the first hundred named."""
    checked: dict[str, int] = {}
    with database.snapshot() as session:
        lost = session.rows(_LOST)
        found = _faults(session, checked, cache(codecs.readable), pgvector=database.has_pgvector)
        faults = tuple(islice(found, _MOST_FAULTS))
    unchecked = tuple(f"the contents of tenant {tenant!r}: its key was dropped" for (tenant,) in lost)
    return Check(faults=faults, checked=checked, unchecked=unchecked)


def _faults(session: Session, checked: dict[str, int], readable: Readable, *, pgvector: bool) -> Iterator[str]:
    for table in ("records", "words", "vectors", "jobs", "kv"):
        checked[table] = session.value(f"SELECT count(*) FROM {table}")
    sizes = _SIZES.format(bytes="vector_send(vector)" if pgvector else "vector", overhead=CIPHER_OVERHEAD)
    for fault, sql in (*_RULES, ("is a vector of the wrong size", sizes)):
        for row in session.rows(sql):
            yield f"{row[0]} {fault}"
    for row in session.stream(_CONTENTS, (), _STEP):
        if not _sound(row, readable(row[0])):
            yield f"{row[0]}/{row[1]} version {row[2]} is not what was written"
    for tenant, model, number, kept in session.stream(_VECTORS, (), _STEP):
        codec = readable(tenant)
        try:
            if codec is not None:
                from_wire(model, [(number, kept)], codec)
        except Corrupt:
            yield f"{tenant} number {number} has a vector that is not what was written"
    for tenant, space, *row in session.stream(_VALUES, (), _STEP):
        codec = readable(tenant)
        try:
            if codec is not None:
                json.loads(to_entry(row, space, codec).value)
        except (Corrupt, ValueError):
            yield f"{tenant}/{space} has a value that is not what was written"


def _sound(row: Any, codec: PostgresCodec | None) -> bool:
    """Whether a version's content is what was written, and can be read as what it is."""
    _, id, version, kind, text, packed, data, metadata, source, quarantine, speaker, digest = row
    if content_hash(kind, text if packed is None else packed, data) != digest:
        return False
    if codec is None:
        return True
    try:
        codec.decode_text(text, packed, id, version)
        codec.decode_optional(source, "source", id, version)
        codec.decode_optional(quarantine, "quarantine", id, version)
        codec.decode_name(speaker)
        return all(
            isinstance(json.loads(codec.decode(kept, field, id, version)), dict)
            for kept, field in ((data, "data"), (metadata, "metadata"))
        )
    except (Corrupt, ValueError):
        return False
