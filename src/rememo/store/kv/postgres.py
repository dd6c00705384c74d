"""Key-value in the same PostgreSQL schema as the records."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from rememo.model.audit import Note
from rememo.model.times import from_micros, to_micros
from rememo.store.chain import noted
from rememo.store.kv.globs import to_expression
from rememo.store.kv.protocol import Entry
from rememo.store.postgres.auditing import append
from rememo.store.postgres.database import Database
from rememo.store.postgres.session import Session

_SECOND = 1_000_000
_MOST_TRIES = 100
_ALIVE = "(expires_at IS NULL OR expires_at > %(now)s)"
_HERE = "tenant = %(tenant)s AND space = %(space)s AND key = %(key)s"
_GET = f"SELECT key, value, version, expires_at, sliding FROM kv WHERE {_HERE} AND {_ALIVE}"
_PROLONG = f"UPDATE kv SET expires_at = %(later)s WHERE {_HERE} AND expires_at > %(now)s"
# An expired entry still counts its versions on: a swap that waits for the old value must fail.
_REPLACE = f"""UPDATE kv SET value = %(value)s, version = version + 1, expires_at = %(ends)s, sliding = %(sliding)s
WHERE {_HERE} AND (%(expected)s::bigint IS NULL OR %(expected)s::bigint = CASE WHEN {_ALIVE} THEN version ELSE 0 END)
RETURNING version"""
# The floor is taken before the key by all: whoever deletes waits for those who add, and they see what was deleted before.
_MAKE_FLOOR = "INSERT INTO floors (tenant) VALUES (%(tenant)s) ON CONFLICT (tenant) DO NOTHING"
_FLOOR = "SELECT floor FROM floors WHERE tenant = %(tenant)s FOR SHARE"
_HOLD_FLOOR = "SELECT floor FROM floors WHERE tenant = %(tenant)s FOR UPDATE"
_RAISE_FLOOR = "UPDATE floors SET floor = greatest(floor, %(floor)s) WHERE tenant = %(tenant)s"
_ADD = """INSERT INTO kv (tenant, space, key, value, version, expires_at, sliding)
VALUES (%(tenant)s, %(space)s, %(key)s, %(value)s, %(version)s, %(ends)s, %(sliding)s)
ON CONFLICT (tenant, space, key) DO NOTHING RETURNING version"""
_DELETE = f"DELETE FROM kv WHERE {_HERE} RETURNING version, {_ALIVE}"
_INVALIDATE = (
    f"DELETE FROM kv WHERE tenant = %(tenant)s AND space = %(space)s AND key ~ %(pattern)s RETURNING version, {_ALIVE}"
)
_KEYS = f"SELECT key FROM kv WHERE tenant = %(tenant)s AND space = %(space)s AND key ~ %(pattern)s AND {_ALIVE} ORDER BY key"
_VERSIONS = f"""SELECT coalesce((SELECT version FROM kv WHERE tenant = %(tenant)s AND space = wanted.space AND key = wanted.key
  AND {_ALIVE}), 0)
FROM unnest(%(spaces)s::text[], %(keys)s::text[]) WITH ORDINALITY AS wanted (space, key, place) ORDER BY wanted.place"""
_ENTRIES = f"""SELECT key, value, version, expires_at, sliding FROM kv
WHERE tenant = %(tenant)s AND space = %(space)s AND {_ALIVE} ORDER BY key"""
_DUMP = f"""SELECT space, key, value, version, expires_at, sliding FROM kv
WHERE tenant = %(tenant)s AND (space, key) > (%(space)s, %(key)s) AND {_ALIVE} ORDER BY space, key LIMIT 500"""
_LOAD = """INSERT INTO kv AS held (tenant, space, key, value, version, expires_at, sliding)
VALUES (%(tenant)s, %(space)s, %(key)s, %(value)s, %(version)s, %(ends)s, %(sliding)s)
ON CONFLICT (tenant, space, key) DO UPDATE
SET value = excluded.value, version = excluded.version, expires_at = excluded.expires_at, sliding = excluded.sliding
WHERE held.version < excluded.version"""
_EXPIRED_TENANTS = "SELECT DISTINCT tenant FROM kv WHERE expires_at <= %(now)s ORDER BY tenant"
_SWEEP = """DELETE FROM kv WHERE tenant = %(tenant)s AND (space, key) IN
(SELECT space, key FROM kv WHERE tenant = %(tenant)s AND expires_at <= %(now)s LIMIT %(limit)s) RETURNING version, false"""


class PostgresKeyValue:
    """The `KeyValue` protocol on a schema of a PostgreSQL database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def get(self, tenant: str, space: str, key: str, moment: datetime) -> Entry | None:
        """Return an entry as it then is: prolonged, when its expiry slides."""
        now = to_micros(moment)
        place = {"tenant": tenant, "space": space, "key": key, "now": now}
        row = self._database.row(_GET, place)
        if row is None:
            return None
        entry = _entry(row)
        if entry.sliding is not None and entry.expires_at is not None:
            # A write for every read would be dear: the end moves in steps of a twentieth of the time to live.
            later = now + round(entry.sliding * _SECOND)
            if later - to_micros(entry.expires_at) > round(entry.sliding * _SECOND) // 20:
                self._database.write(
                    lambda session: session.execute(_PROLONG, {**place, "later": later}), repeatable=True
                )
                return replace(entry, expires_at=from_micros(later))
        return entry

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
        values: dict[str, Any] = {
            "tenant": tenant,
            "space": space,
            "key": key,
            "value": value,
            "now": now,
            "ends": None if life is None else now + life,
            "sliding": life if sliding else None,
            "expected": expected,
        }
        for _ in range(_MOST_TRIES):
            row = self._replace(values, note)
            if row is not None:
                return row[0]
            if expected:
                return None
            version = self._database.write(lambda session: _add(session, values, note))
            # Somebody else may have added it in between; then it is there to be replaced, or is not what was expected.
            if version is not None or expected == 0:
                return version
        return None

    def _replace(self, values: dict[str, Any], note: Note | None) -> Any:
        if note is None:
            return self._database.write_at_once(_REPLACE, values)

        def replace_and_note(session: Session) -> Any:
            row = session.row(_REPLACE, values)
            if row is not None:
                append(session, note)
            return row

        return self._database.write(replace_and_note)

    def delete(self, tenant: str, space: str, key: str, moment: datetime, *, note: Note | None = None) -> bool:
        """Remove an entry; False when there was none."""
        values = {"tenant": tenant, "space": space, "key": key, "now": to_micros(moment)}
        gone = self._database.write(lambda session: _remove(session, _DELETE, values, note))
        return any(alive for _, alive in gone)

    def invalidate(self, tenant: str, space: str, pattern: str, moment: datetime, *, note: Note | None = None) -> int:
        """Remove every key that a glob pattern matches; returns how many there were."""
        values = {"tenant": tenant, "space": space, "pattern": to_expression(pattern), "now": to_micros(moment)}
        gone = self._database.write(lambda session: _remove(session, _INVALIDATE, values, note, count=True))
        return sum(alive for _, alive in gone)

    def keys(self, tenant: str, space: str, pattern: str, moment: datetime) -> list[str]:
        """Return the keys that a glob pattern matches, sorted."""
        values = {"tenant": tenant, "space": space, "pattern": to_expression(pattern), "now": to_micros(moment)}
        return [row[0] for row in self._database.rows(_KEYS, values)]

    def versions(self, tenant: str, entries: Sequence[tuple[str, str]], moment: datetime) -> tuple[int, ...]:
        """Return the versions of entries, 0 for nothing there."""
        if not entries:
            return ()
        spaces, keys = [space for space, _ in entries], [key for _, key in entries]
        values = {"tenant": tenant, "spaces": spaces, "keys": keys, "now": to_micros(moment)}
        return tuple(row[0] for row in self._database.rows(_VERSIONS, values))

    def entries(self, tenant: str, space: str, moment: datetime) -> list[Entry]:
        """Return all entries of a namespace, sorted by key; looking at them so prolongs none."""
        values = {"tenant": tenant, "space": space, "now": to_micros(moment)}
        return [_entry(row) for row in self._database.rows(_ENTRIES, values)]

    def dump(self, tenant: str, moment: datetime) -> Iterator[tuple[str, Entry]]:
        """Give every entry of a tenant with its namespace."""
        place: dict[str, Any] = {"tenant": tenant, "space": "", "key": "", "now": to_micros(moment)}
        while rows := self._database.rows(_DUMP, place):
            for row in rows:
                yield row[0], _entry(row[1:])
            place["space"], place["key"] = rows[-1][:2]

    def load(self, tenant: str, space: str, entry: Entry) -> bool:
        """Store an entry as it is, unless that version or a later one is there; says whether it was stored."""
        values = {
            "tenant": tenant,
            "space": space,
            "key": entry.key,
            "value": entry.value,
            "version": entry.version,
            "ends": None if entry.expires_at is None else to_micros(entry.expires_at),
            "sliding": None if entry.sliding is None else round(entry.sliding * _SECOND),
        }
        return self._database.write(lambda session: session.changed(_LOAD, values) == 1)


def sweep_expired(database: Database, now: int, limit: int) -> int:
    """Remove entries that have expired, at most so many; returns how many."""
    swept = 0
    for (tenant,) in database.rows(_EXPIRED_TENANTS, {"now": now}):
        if swept >= limit:
            break
        values = {"tenant": tenant, "now": now, "limit": limit - swept}
        swept += len(database.write(lambda session, values=values: _remove(session, _SWEEP, values)))
    return swept


def _add(session: Session, values: dict[str, Any], note: Note | None) -> int | None:
    session.execute(_MAKE_FLOOR, values)
    floor: int = session.value(_FLOOR, values)
    version: int | None = session.value(_ADD, {**values, "version": floor + 1})
    if version is not None and note is not None:
        append(session, note)
    return version


def _remove(
    session: Session, sql: str, values: dict[str, Any], note: Note | None = None, *, count: bool = False
) -> list[Any]:
    """Remove entries and see to it that their versions are never given again."""
    session.execute(_MAKE_FLOOR, values)
    session.execute(_HOLD_FLOOR, values)
    gone = session.rows(sql, values)
    if gone:
        session.execute(_RAISE_FLOOR, {**values, "floor": max(version for version, _ in gone)})
        if note is not None:
            append(session, noted(note, count=sum(alive for _, alive in gone)) if count else note)
    return gone


def _entry(row: Any) -> Entry:
    key, value, version, expires_at, sliding = row
    return Entry(
        key=key,
        value=value,
        version=version,
        expires_at=None if expires_at is None else from_micros(expires_at),
        sliding=None if sliding is None else sliding / _SECOND,
    )
