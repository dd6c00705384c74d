"""Key-value in the same SQLite file as the records."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from rememo.model.audit import Note
from rememo.model.times import from_micros, to_micros
from rememo.store.chain import noted
from rememo.store.kv.protocol import Entry
from rememo.store.sqlite.auditing import append
from rememo.store.sqlite.connection import Connection
from rememo.store.sqlite.database import Database

_SECOND = 1_000_000
_GET = """SELECT key, value, version, expires_at, sliding FROM kv
WHERE tenant = ? AND space = ? AND key = ? AND (expires_at IS NULL OR expires_at > ?)"""
_VERSION = """ifnull((SELECT version FROM kv
WHERE tenant = ? AND space = ? AND key = ? AND (expires_at IS NULL OR expires_at > ?)), 0)"""
_SET = """INSERT INTO kv (tenant, space, key, value, version, expires_at, sliding) VALUES (?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (tenant, space, key) DO UPDATE
SET value = excluded.value, version = excluded.version, expires_at = excluded.expires_at, sliding = excluded.sliding"""


class SqliteKeyValue:
    """The `KeyValue` protocol on a SQLite file."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def get(self, tenant: str, space: str, key: str, moment: datetime) -> Entry | None:
        """Return an entry as it then is: prolonged, when its expiry slides."""
        now = to_micros(moment)
        row = self._database.value(_GET, (tenant, space, key, now))
        if row is None:
            return None
        entry = _entry(row)
        if entry.sliding is not None and entry.expires_at is not None:
            # A write for every read would be dear: the end moves in steps of a twentieth of the time to live.
            later = now + round(entry.sliding * _SECOND)
            if later - to_micros(entry.expires_at) > round(entry.sliding * _SECOND) // 20:
                self._prolong(tenant, space, key, now, later)
                return replace(entry, expires_at=from_micros(later))
        return entry

    def _prolong(self, tenant: str, space: str, key: str, now: int, later: int) -> None:
        self._database.write(
            lambda connection: connection.execute(
                "UPDATE kv SET expires_at = ? WHERE tenant = ? AND space = ? AND key = ? AND expires_at > ?",
                (later, tenant, space, key, now),
            )
        )

    def set(
        self,
        tenant: str,
        space: str,
        key: str,
        value: str,
        moment: datetime,
        *,
        ttl: float | None = None,
        sliding: bool = False,
        expected: int | None = None,
        note: Note | None = None,
    ) -> int | None:
        """Store a value and return its version; None when `expected` is not the version that is there."""
        now = to_micros(moment)
        life = None if ttl is None else round(ttl * _SECOND)

        def run(connection: Connection) -> int | None:
            row: Any = connection.execute(
                "SELECT version, expires_at FROM kv WHERE tenant = ? AND space = ? AND key = ?", (tenant, space, key)
            ).get
            # An expired entry still counts its versions on: a swap that waits for the old value must fail.
            held, ends = (0, None) if row is None else row
            alive = ends is None or ends > now
            if expected is not None and expected != (held if alive else 0):
                return None
            version = held + 1 if row is not None else _floor(connection, tenant) + 1
            connection.execute(
                _SET,
                (tenant, space, key, value, version, None if life is None else now + life, life if sliding else None),
            )
            if note is not None:
                append(connection, note)
            return version

        return self._database.write(run)

    def delete(self, tenant: str, space: str, key: str, moment: datetime, *, note: Note | None = None) -> bool:
        """Remove an entry; False when there was none."""
        now = to_micros(moment)

        def run(connection: Connection) -> bool:
            alive = connection.execute(_GET, (tenant, space, key, now)).get is not None
            gone = connection.execute(
                "DELETE FROM kv WHERE tenant = ? AND space = ? AND key = ? RETURNING tenant, version",
                (tenant, space, key),
            )
            if keep_floor(connection, gone) and note is not None:
                append(connection, note)
            return alive

        return self._database.write(run)

    def invalidate(self, tenant: str, space: str, pattern: str, moment: datetime, *, note: Note | None = None) -> int:
        """Remove every key that a glob pattern matches; returns how many there were."""
        now = to_micros(moment)

        def run(connection: Connection) -> int:
            condition = "tenant = ? AND space = ? AND key GLOB ?"
            found: int = connection.execute(
                f"SELECT count(*) FROM kv WHERE {condition} AND (expires_at IS NULL OR expires_at > ?)",
                (tenant, space, pattern, now),
            ).get
            gone = connection.execute(
                f"DELETE FROM kv WHERE {condition} RETURNING tenant, version", (tenant, space, pattern)
            )
            if keep_floor(connection, gone) and note is not None:
                append(connection, noted(note, count=found))
            return found

        return self._database.write(run)

    def keys(self, tenant: str, space: str, pattern: str, moment: datetime) -> list[str]:
        """Return the keys that a glob pattern matches, sorted."""
        rows = self._database.rows(
            "SELECT key FROM kv WHERE tenant = ? AND space = ? AND key GLOB ?"
            " AND (expires_at IS NULL OR expires_at > ?) ORDER BY key",
            (tenant, space, pattern, to_micros(moment)),
        )
        return [row[0] for row in rows]

    def versions(self, tenant: str, entries: Sequence[tuple[str, str]], moment: datetime) -> tuple[int, ...]:
        """Return the versions of entries, 0 for nothing there."""
        if not entries:
            return ()
        # One look-up each, in one statement: a row of its own for each would cost as much again.
        columns = ", ".join([_VERSION] * len(entries))
        now = to_micros(moment)
        values = [value for space, key in entries for value in (tenant, space, key, now)]
        return tuple(self._database.rows(f"SELECT {columns}", values)[0])

    def entries(self, tenant: str, space: str, moment: datetime) -> list[Entry]:
        """Return all entries of a namespace, sorted by key; looking at them so prolongs none."""
        rows = self._database.rows(
            "SELECT key, value, version, expires_at, sliding FROM kv WHERE tenant = ? AND space = ?"
            " AND (expires_at IS NULL OR expires_at > ?) ORDER BY key",
            (tenant, space, to_micros(moment)),
        )
        return [_entry(row) for row in rows]

    def dump(self, tenant: str, moment: datetime) -> Iterator[tuple[str, Entry]]:
        """Give every entry of a tenant with its namespace."""
        now, space, key = to_micros(moment), "", ""
        while rows := self._database.rows(
            "SELECT space, key, value, version, expires_at, sliding FROM kv WHERE tenant = ? AND (space, key) > (?, ?)"
            " AND (expires_at IS NULL OR expires_at > ?) ORDER BY space, key LIMIT 500",
            (tenant, space, key, now),
        ):
            for row in rows:
                yield row[0], _entry(row[1:])
            space, key = rows[-1][:2]

    def load(self, tenant: str, space: str, entry: Entry) -> bool:
        """Store an entry as it is, unless that version or a later one is there; says whether it was stored."""
        ends = None if entry.expires_at is None else to_micros(entry.expires_at)
        sliding = None if entry.sliding is None else round(entry.sliding * _SECOND)

        def run(connection: Connection) -> bool:
            connection.execute(
                _SET + " WHERE kv.version < excluded.version",
                (tenant, space, entry.key, entry.value, entry.version, ends, sliding),
            )
            return connection.changes() == 1

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


def _entry(row: Any) -> Entry:
    key, value, version, expires_at, sliding = row
    return Entry(
        key=key,
        value=value,
        version=version,
        expires_at=None if expires_at is None else from_micros(expires_at),
        sliding=None if sliding is None else sliding / _SECOND,
    )
