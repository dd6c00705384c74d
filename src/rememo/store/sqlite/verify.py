"""Verify: the file is sound, and records, words, vectors and jobs agree."""

import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from itertools import islice

from rememo.errors import Corrupt
from rememo.store.cipher.codec import FieldCodec
from rememo.store.cipher.protocol import CIPHER_OVERHEAD
from rememo.store.commits import content_hash
from rememo.store.reports import Check
from rememo.store.sqlite.codecs import SqliteCodecs
from rememo.store.sqlite.connection import Connection
from rememo.store.sqlite.database import SqliteDatabase
from rememo.store.sqlite.errors import DAMAGED
from rememo.store.sqlite.key_value import to_entry
from rememo.store.sqlite.words import all_tables, tables

_MOST_FAULTS = 100

Readable = Callable[[str], FieldCodec | None]
"""How a tenant's contents are kept; None when nobody can read them any more."""

# Each finds what must not be; a row is a fault's subject.
_RULES = (
    (
        # Where versions were thinned their numbers have a gap, but not their times.
        "has a gap in its versions",
        (
            "SELECT DISTINCT tenant || '/' || id FROM (SELECT tenant, id, version, recorded_at, lag(version) OVER one AS last,"
            " lag(superseded_at) OVER one AS ended FROM records WINDOW one AS (PARTITION BY tenant, id ORDER BY version))"
            " WHERE version > last + 1 AND ended IS NOT recorded_at"
        ),
    ),
    (
        "has versions that overlap",
        (
            "SELECT DISTINCT tenant || '/' || id FROM (SELECT tenant, id, recorded_at, lag(superseded_at) OVER"
            " (PARTITION BY tenant, id ORDER BY version) AS ended FROM records) WHERE ended > recorded_at"
        ),
    ),
    (
        "has more than one current version",
        "SELECT tenant || '/' || id FROM records WHERE superseded_at IS NULL GROUP BY tenant, id HAVING count(*) > 1",
    ),
    (
        "ended before it began",
        "SELECT tenant || '/' || id || ' version ' || version FROM records WHERE superseded_at < recorded_at",
    ),
    (
        "has times that cannot be",
        (
            "SELECT tenant || '/' || id || ' version ' || version FROM records"
            " WHERE created_at > recorded_at OR at != ifnull(occurred_at, created_at)"
        ),
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
    (
        "is a job for a record that is not there",
        (
            "SELECT jobs.tenant || '/' || jobs.id FROM jobs WHERE state IN ('waiting', 'running')"
            " AND json_extract(payload, '$.record') IS NOT NULL AND NOT EXISTS (SELECT 1 FROM records"
            " WHERE records.tenant = jobs.tenant AND records.id = json_extract(payload, '$.record'))"
            # An erasure waits for whoever is just at a job, and is resumed where it was interrupted.
            " AND NOT (state = 'running' AND EXISTS (SELECT 1 FROM erased JOIN erasures ON number = erasure"
            " WHERE erasures.tenant = jobs.tenant AND erased.id = json_extract(payload, '$.record')))"
        ),
    ),
)


def verify(database: SqliteDatabase, codecs: SqliteCodecs) -> Check:
    """Return every fault found, the first hundred named."""
    faults: list[str] = []
    checked: dict[str, int] = {}
    unchecked: list[str] = []
    try:
        with database.snapshot() as connection:
            lost = {row[0] for row in connection.execute("SELECT tenant FROM vault WHERE wrapped = x''")}
            unchecked += [f"the contents of tenant {tenant!r}: its key was dropped" for tenant in sorted(lost)]
            faults += islice(_faults(connection, checked, codecs), _MOST_FAULTS)
    except Corrupt as error:
        faults.append(str(error))
    return Check(faults=tuple(faults), checked=checked, unchecked=tuple(unchecked))


def _faults(connection: Connection, checked: dict[str, int], codecs: SqliteCodecs) -> Iterator[str]:
    readable = cache(codecs.readable)
    yield from _each("the file", _file_faults(connection))
    for table in ("records", "vectors", "jobs", "kv"):
        yield from _each(table, _count(connection, table, checked))
    for fault, sql in _RULES:
        yield from _each(f"looking for what {fault}", _rule_faults(connection, fault, sql))
    yield from _each("the words", _word_faults(connection, checked))
    yield from _each("the contents", _content_faults(connection, readable))
    if codecs.cipher is not None:
        yield from _each("the vectors", _vector_faults(connection, readable))
    yield from _each("the values", _value_faults(connection, readable))


def _each(what: str, faults: Iterator[str]) -> Iterator[str]:
    """Give the faults of one check; one that cannot be ended is a fault itself, and the others go on."""
    try:
        yield from faults
    except DAMAGED as error:
        yield f"{what}: cannot be read ({error})"


def _file_faults(connection: Connection) -> Iterator[str]:
    for table in all_tables():
        # FTS5 looks whether other connections changed it when it is asked something, but not when it is checked: without
        # this, a connection that checked it before would look for what has been merged away since.
        with suppress(*DAMAGED):  # the check itself says it better
            connection.execute(f"SELECT 1 FROM {table} WHERE {table} MATCH ? LIMIT 1", ("nothing",)).fetchall()
    for row in connection.execute("PRAGMA integrity_check"):
        if row[0] != "ok":
            yield f"the file: {row[0]}"


def _count(connection: Connection, table: str, checked: dict[str, int]) -> Iterator[str]:
    checked[table] = connection.execute(f"SELECT count(*) FROM {table}").get
    yield from ()


def _rule_faults(connection: Connection, fault: str, sql: str) -> Iterator[str]:
    for row in connection.execute(sql):
        yield f"{row[0]} {fault}"


def _content_faults(connection: Connection, readable: Readable) -> Iterator[str]:
    """Give the versions whose content is not what was written, or cannot be read as what it is."""
    query = "SELECT tenant, id, version, kind, hash, text, data, metadata, source, quarantine FROM records"
    for tenant, id, version, kind, digest, text, data, metadata, source, quarantine in connection.execute(query):
        try:
            sound = content_hash(kind, text, data) == digest
            if sound and (codec := readable(tenant)) is not None:
                codec.decode(text, "text", id, version)
                codec.decode_optional(source, "source", id, version)
                codec.decode_optional(quarantine, "quarantine", id, version)
                json.loads(codec.decode(data, "data", id, version))
                json.loads(codec.decode(metadata, "metadata", id, version))
        except (Corrupt, ValueError):
            sound = False
        if not sound:
            yield f"{tenant}/{id} version {version} is not what was written"


def _vector_faults(connection: Connection, readable: Readable) -> Iterator[str]:
    """Give the vectors that do not open where they stand; plain ones would tell nothing."""
    query = "SELECT place, vector, tenant, id, version FROM vectors JOIN records ON number = place & 0xffffffffff"
    for place, vector, tenant, id, version in connection.execute(query):
        try:
            if (codec := readable(tenant)) is not None:
                codec.decode_vector(place, vector)
        except Corrupt:
            yield f"the vector of {tenant}/{id} version {version} is not what was written"


def _value_faults(connection: Connection, readable: Readable) -> Iterator[str]:
    """Give the key-value entries that cannot be read."""
    for tenant, space, *entry in connection.execute(
        "SELECT tenant, space, key, value, version, expires_at, sliding FROM kv"
    ):
        try:
            if (codec := readable(tenant)) is not None:
                json.loads(to_entry(entry, space, codec).value)
        except (Corrupt, ValueError):
            yield f"a key-value entry of {tenant} in {space} is not what was written"


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
