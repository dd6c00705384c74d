"""Key-value in the same SQLite file as the records."""

from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from datetime import datetime
from functools import partial
from typing import Any, Unpack

from rememo.model.audit import NewAuditEntry
from rememo.model.check import dump_json
from rememo.model.times import to_micros
from rememo.store.audit_chain import with_counts
from rememo.store.audit_trail import mask_key_names
from rememo.store.cipher.codec import Encoded, FieldCodec
from rememo.store.kv.protocol import FIELD, Entry, SetOptions, value_identity
from rememo.store.kv.rounds import rounds
from rememo.store.sql.key_value import SECOND, SqlKeyValue, to_entry
from rememo.store.sqlite.audit_entries import append_audit_entry
from rememo.store.sqlite.codecs import SqliteCodecs
from rememo.store.sqlite.connection import Connection
from rememo.store.sqlite.database import SqliteDatabase

_GET = """SELECT key, value, version, expires_at, sliding FROM kv
WHERE tenant = ? AND space = ? AND key = ? AND (expires_at IS NULL OR expires_at > ?)"""
_VERSION = """ifnull((SELECT version FROM kv
WHERE tenant = ? AND space = ? AND key = ? AND (expires_at IS NULL OR expires_at > ?)), 0)"""
_SET = """INSERT INTO kv (tenant, space, key, value, version, expires_at, sliding) VALUES (?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (tenant, space, key) DO UPDATE
SET value = excluded.value, version = excluded.version, expires_at = excluded.expires_at, sliding = excluded.sliding"""


class SqliteKeyValue(SqlKeyValue[SqliteDatabase, SqliteCodecs]):
    """The `KeyValue` protocol on a SQLite file."""

    @contextmanager
    def _state(self, tenant: str) -> Generator[tuple[Connection, FieldCodec]]:
        """Lend one state of the file with the keys of that state: an entry that is re-encrypted gets another name."""
        with self._database.snapshot() as connection:
            yield connection, self._codecs.get(tenant)

    def _read_entry(self, tenant: str, space: str, key: str, now: int) -> tuple[Any, Entry] | None:
        with self._state(tenant) as (connection, codec):
            rows = (connection.row(_GET, (tenant, space, name, now)) for name in codec.name_forms(key))
            row = next((row for row in rows if row is not None), None)
        return None if row is None else (row[0], to_entry(row, space, codec))

    def set(
        self, tenant: str, space: str, key: str, value: str, moment: datetime, **options: Unpack[SetOptions]
    ) -> int | None:
        """Store a value and return its version; None when `expected` is not the version that is there."""
        now = to_micros(moment)
        ttl, expected, note = options.get("ttl"), options.get("expected"), options.get("note")
        life = None if ttl is None else round(ttl * SECOND)

        def run(connection: Connection) -> int | None:
            codec = self._codecs.get(tenant)
            name = _rename(connection, tenant, space, codec.name_forms(key))
            row: Any = connection.execute(
                "SELECT version, expires_at, sliding FROM kv WHERE tenant = ? AND space = ? AND key = ?",
                (tenant, space, name),
            ).get
            # An expired entry still counts its versions on: a swap that waits for the old value must fail.
            held, ends, slides = (0, None, None) if row is None else row
            alive = ends is None or ends > now
            if expected is not None and expected != (held if alive else 0):
                return None
            version = held + 1 if row is not None else _floor(connection, tenant) + 1
            kept = codec.encode(value, FIELD, value_identity(space, key), version)
            if not (options.get("keep_ttl") and alive):
                ends, slides = None if life is None else now + life, life if options.get("sliding") else None
            connection.execute(_SET, (tenant, space, name, kept, version, ends, slides))
            if note is not None:
                append_audit_entry(connection, mask_key_names(note, codec))
            return version

        self._codecs.ensure_keys(tenant)
        return self._database.write(run)

    def delete(self, tenant: str, space: str, key: str, moment: datetime, *, note: NewAuditEntry | None = None) -> bool:
        """Remove an entry; False when there was none."""
        now = to_micros(moment)

        def run(connection: Connection) -> bool:
            alive, there = False, 0
            codec = self._codecs.get(tenant)
            for name in codec.name_forms(key):
                alive = alive or connection.execute(_GET, (tenant, space, name, now)).get is not None
                gone = connection.execute(
                    "DELETE FROM kv WHERE tenant = ? AND space = ? AND key = ? RETURNING tenant, version",
                    (tenant, space, name),
                )
                there += keep_floor(connection, gone)
            if there and note is not None:
                append_audit_entry(connection, mask_key_names(note, codec))
            return alive

        return self._database.write(run)

    def invalidate(
        self, tenant: str, space: str, pattern: str, moment: datetime, *, note: NewAuditEntry | None = None
    ) -> int:
        """Remove every key that a glob pattern matches; returns how many there were."""
        now = to_micros(moment)

        def run(connection: Connection) -> int:
            codec = self._codecs.get(tenant)
            meant = _meant(connection, tenant, space, pattern, codec)
            for name, _, _ in meant:
                gone = connection.execute(
                    "DELETE FROM kv WHERE tenant = ? AND space = ? AND key = ? RETURNING tenant, version",
                    (tenant, space, name),
                )
                keep_floor(connection, gone)
            alive = sum(ends is None or ends > now for _, _, ends in meant)
            if meant and note is not None:
                append_audit_entry(connection, with_counts(mask_key_names(note, codec), count=alive))
            return alive

        return self._database.write(run)

    def keys(self, tenant: str, space: str, pattern: str, moment: datetime) -> list[str]:
        """Return the keys that a glob pattern matches, sorted."""
        now = to_micros(moment)
        with self._state(tenant) as (connection, codec):
            meant = _meant(connection, tenant, space, pattern, codec)
        return sorted(key for _, key, ends in meant if ends is None or ends > now)

    def versions(self, tenant: str, entries: Sequence[tuple[str, str]], moment: datetime) -> tuple[int, ...]:
        """Return the versions of entries, 0 for nothing there."""
        if not entries:
            return ()
        # One look-up each, in one statement: a row of its own for each would cost as much again.
        now = to_micros(moment)
        columns: list[str] = []
        values: list[Any] = []
        with self._state(tenant) as (connection, codec):
            for space, key in entries:
                names = codec.name_forms(key)
                columns.append(" + ".join([_VERSION] * len(names)) or "0")
                values += [value for name in names for value in (tenant, space, name, now)]
            return tuple(connection.execute(f"SELECT {', '.join(columns)}", values).fetchall()[0])

    def erase(self, tenant: str, doomed: Callable[[str, str], bool]) -> int:
        """Remove every entry, expired or not, whose namespace and key are doomed; returns how many."""
        total, codec = 0, self._codecs.get(tenant)
        sql = "DELETE FROM kv WHERE tenant = ? AND space = ? AND key = ? RETURNING tenant, version"
        for _ in rounds(partial(self._codecs.get, tenant)):
            for rows in self._pages(tenant, "space, key"):
                going = [(tenant, space, key) for space, key in rows if doomed(space, codec.decode_name(key) or "")]

                def run(connection: Connection, going: list[tuple[str, str, Encoded]] = going) -> int:
                    return sum(keep_floor(connection, connection.execute(sql, place)) for place in going)

                total += self._database.write(run) if going else 0
        return total

    def load(self, tenant: str, space: str, entry: Entry) -> bool:
        """Store an entry as it is, unless that version or a later one is there; says whether it was stored."""
        ends = None if entry.expires_at is None else to_micros(entry.expires_at)
        sliding = None if entry.sliding is None else round(entry.sliding * SECOND)

        def run(connection: Connection) -> bool:
            codec = self._codecs.get(tenant)
            name = _rename(connection, tenant, space, codec.name_forms(entry.key))
            kept = codec.encode(entry.value, FIELD, value_identity(space, entry.key), entry.version)
            connection.execute(
                _SET + " WHERE kv.version < excluded.version",
                (tenant, space, name, kept, entry.version, ends, sliding),
            )
            return connection.changes() == 1

        self._codecs.ensure_keys(tenant)
        return self._database.write(run)


def keep_floor(connection: Connection, gone: Iterable[tuple[str, int]]) -> int:
    """See to it that versions of keys that are gone are never given again; returns how many are gone."""
    rows = list(gone)
    for tenant in {tenant for tenant, _ in rows}:
        highest = max(version for owner, version in rows if owner == tenant)
        connection.execute(
            "INSERT INTO tenants (tenant, floor) VALUES (?, ?) ON CONFLICT (tenant) DO UPDATE SET floor = max(floor, excluded.floor)",
            (tenant, highest),
        )
    return len(rows)


def _floor(connection: Connection, tenant: str) -> int:
    return connection.execute("SELECT floor FROM tenants WHERE tenant = ?", (tenant,)).get or 0


def _rename(connection: Connection, tenant: str, space: str, names: Sequence[Encoded]) -> Encoded:
    """Return the form that a key is stored in from now on; an entry under an older one is moved to it."""
    for name in names[1:]:
        connection.execute(
            "UPDATE kv SET key = ? WHERE tenant = ? AND space = ? AND key = ?", (names[0], tenant, space, name)
        )
    return names[0]


def _meant(
    connection: Connection, tenant: str, space: str, pattern: str, codec: FieldCodec
) -> list[tuple[Encoded, str, int | None]]:
    """Return the keys that a glob pattern matches, as they are stored and as they are, and when they end."""
    if not codec.encrypted:
        sql = "SELECT key, key, expires_at FROM kv WHERE tenant = ? AND space = ? AND key GLOB ?"
        return connection.execute(sql, (tenant, space, pattern)).fetchall()
    rows = connection.execute(
        "SELECT key, expires_at FROM kv WHERE tenant = ? AND space = ?", (tenant, space)
    ).fetchall()
    names = [codec.decode_name(name) or "" for name, _ in rows]
    sql = "SELECT key FROM json_each(?) WHERE value GLOB ?"  # each key's place in the list
    places = [row[0] for row in connection.execute(sql, (dump_json(names), pattern)).fetchall()]
    return [(rows[place][0], names[place], rows[place][1]) for place in places]
