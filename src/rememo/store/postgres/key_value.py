"""Key-value in the same PostgreSQL schema as the records."""

from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial
from typing import Any, Unpack

from rememo.model.audit import NewAuditEntry
from rememo.model.times import to_micros
from rememo.store.audit_chain import with_counts
from rememo.store.audit_trail import mask_key_names
from rememo.store.kv.globs import Glob, to_expression
from rememo.store.kv.protocol import FIELD, Entry, SetOptions, value_identity
from rememo.store.kv.rounds import rounds
from rememo.store.postgres.audit_entries import append_audit_entry
from rememo.store.postgres.codecs import PostgresCodecs
from rememo.store.postgres.database import PostgresDatabase
from rememo.store.postgres.session import PostgresSession
from rememo.store.postgres.tenant_guard import guard_tenants
from rememo.store.sql.key_value import SECOND, SqlKeyValue, to_entry

_MOST_TRIES = 100
_ALIVE = "(expires_at IS NULL OR expires_at > %(now)s)"
_HERE = "tenant = %(tenant)s AND space = %(space)s AND key = %(key)s"
_ANYHOW = "tenant = %(tenant)s AND space = %(space)s AND key = ANY(%(names)s::text[])"
_GET = f"SELECT key, value, version, expires_at, sliding FROM kv WHERE {_ANYHOW} AND {_ALIVE}"
# An expired entry still counts its versions on: a swap that waits for the old value must fail.
_KEPT = f"%(keep_ttl)s AND {_ALIVE}"
_REPLACE = f"""UPDATE kv SET value = %(value)s, version = version + 1,
  expires_at = CASE WHEN {_KEPT} THEN expires_at ELSE %(ends)s::bigint END,
  sliding = CASE WHEN {_KEPT} THEN sliding ELSE %(sliding)s::bigint END
WHERE {_HERE} AND (%(expected)s::bigint IS NULL OR %(expected)s::bigint = CASE WHEN {_ALIVE} THEN version ELSE 0 END)
RETURNING version"""
# Where values are encrypted for their version, it must be known first.
_RENAME = f"UPDATE kv SET key = %(key)s WHERE {_ANYHOW} AND key <> %(key)s"
_HELD = f"""SELECT CASE WHEN {_ALIVE} THEN version ELSE -version END, expires_at, sliding FROM kv
WHERE {_HERE} FOR UPDATE"""
_SET = """INSERT INTO kv AS held (tenant, space, key, value, version, expires_at, sliding)
VALUES (%(tenant)s, %(space)s, %(key)s, %(value)s, %(version)s, %(ends)s, %(sliding)s)
ON CONFLICT (tenant, space, key) DO UPDATE
SET value = excluded.value, version = excluded.version, expires_at = excluded.expires_at, sliding = excluded.sliding"""
# The floor is taken before the key by all: whoever deletes waits for those who add, and they see what was deleted before.
_MAKE_FLOOR = "INSERT INTO floors (tenant) VALUES (%(tenant)s) ON CONFLICT (tenant) DO NOTHING"
_FLOOR = "SELECT floor FROM floors WHERE tenant = %(tenant)s FOR SHARE"
_HOLD_FLOOR = "SELECT floor FROM floors WHERE tenant = %(tenant)s FOR UPDATE"
_RAISE_FLOOR = "UPDATE floors SET floor = greatest(floor, %(floor)s) WHERE tenant = %(tenant)s"
_ADD = """INSERT INTO kv (tenant, space, key, value, version, expires_at, sliding)
VALUES (%(tenant)s, %(space)s, %(key)s, %(value)s, %(version)s, %(ends)s, %(sliding)s)
ON CONFLICT (tenant, space, key) DO NOTHING RETURNING version"""
_DELETE = f"DELETE FROM kv WHERE {_ANYHOW} RETURNING version, {_ALIVE}"
_INVALIDATE = (
    f"DELETE FROM kv WHERE tenant = %(tenant)s AND space = %(space)s AND key ~ %(pattern)s RETURNING version, {_ALIVE}"
)
_NAMES = "SELECT key FROM kv WHERE tenant = %(tenant)s AND space = %(space)s"
_ERASE = """DELETE FROM kv WHERE tenant = %(tenant)s
AND (space, key) IN (SELECT * FROM unnest(%(spaces)s::text[], %(keys)s::text[])) RETURNING version, true"""
_KEYS = f"SELECT key FROM kv WHERE tenant = %(tenant)s AND space = %(space)s AND key ~ %(pattern)s AND {_ALIVE} ORDER BY key"
_VERSIONS = f"""SELECT coalesce((SELECT version FROM kv WHERE tenant = %(tenant)s AND space = wanted.space AND key = wanted.key
  AND {_ALIVE}), 0)
FROM unnest(%(spaces)s::text[], %(keys)s::text[]) WITH ORDINALITY AS wanted (space, key, place) ORDER BY wanted.place"""
_LOAD = f"{_SET} WHERE held.version < excluded.version"
_EXPIRED_TENANTS = "SELECT DISTINCT tenant FROM kv WHERE expires_at <= %(now)s ORDER BY tenant"
_SWEEP = """DELETE FROM kv WHERE tenant = %(tenant)s AND (space, key) IN
(SELECT space, key FROM kv WHERE tenant = %(tenant)s AND expires_at <= %(now)s LIMIT %(limit)s) RETURNING version, false"""


@guard_tenants()
class PostgresKeyValue(SqlKeyValue[PostgresDatabase, PostgresCodecs]):
    """The `KeyValue` protocol on a schema of a PostgreSQL database."""

    def _read_entry(self, tenant: str, space: str, key: str, now: int) -> tuple[Any, Entry] | None:
        codec = self._codecs.get(tenant)
        place = {"tenant": tenant, "space": space, "names": list(codec.name_forms(key)), "now": now}
        row = self._database.row(_GET, place)
        if row is None:
            # It may have got another name since the keys were read.
            again = self._codecs.get(tenant)
            return None if again.serial == codec.serial else self._read_entry(tenant, space, key, now)
        return row[0], to_entry(row, space, codec)

    def set(
        self, tenant: str, space: str, key: str, value: str, moment: datetime, **options: Unpack[SetOptions]
    ) -> int | None:
        """Store a value and return its version; None when `expected` is not the version that is there."""
        now, ttl = to_micros(moment), options.get("ttl")
        expected, note = options.get("expected"), options.get("note")
        life = None if ttl is None else round(ttl * SECOND)
        values: dict[str, Any] = {
            "tenant": tenant,
            "space": space,
            "key": key,
            "value": value,
            "now": now,
            "ends": None if life is None else now + life,
            "sliding": life if options.get("sliding") else None,
            "keep_ttl": bool(options.get("keep_ttl")),
            "expected": expected,
        }
        if self._codecs.cipher is not None:
            return self._codecs.write(
                self._database, lambda session: self._set_encrypted(session, values, note), tenant
            )
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

    def _set_encrypted(
        self, session: PostgresSession, values: dict[str, Any], note: NewAuditEntry | None
    ) -> int | None:
        """Store a value that is encrypted for its version, which must be known first."""
        codec = self._codecs.locked(session, values["tenant"])
        name, expected = values["key"], values["expected"]
        session.execute(_MAKE_FLOOR, values)
        floor: int = session.value(_HOLD_FLOOR, values)
        place = {**values, "key": codec.encode_name(name), "names": list(codec.name_forms(name))}
        session.execute(_RENAME, place)
        # Below zero: it has expired, and still counts its versions on.
        held, ends, slides = session.row(_HELD, place) or (0, None, None)
        if expected is not None and expected != max(held, 0):
            return None
        version = abs(held) + 1 if held else floor + 1
        kept = codec.encode(values["value"], FIELD, value_identity(values["space"], name), version)
        if values["keep_ttl"] and held > 0:
            place |= {"ends": ends, "sliding": slides}
        session.execute(_SET, {**place, "value": kept, "version": version})
        if note is not None:
            append_audit_entry(session, mask_key_names(note, codec))
        return version

    def _replace(self, values: dict[str, Any], note: NewAuditEntry | None) -> Any:
        if note is None:
            return self._database.write_at_once(_REPLACE, values)

        def replace_and_note(session: PostgresSession) -> Any:
            row = session.row(_REPLACE, values)
            if row is not None:
                append_audit_entry(session, note)
            return row

        return self._database.write(replace_and_note)

    def delete(self, tenant: str, space: str, key: str, moment: datetime, *, note: NewAuditEntry | None = None) -> bool:
        """Remove an entry; False when there was none."""
        values = {"tenant": tenant, "space": space, "now": to_micros(moment)}

        def delete(session: PostgresSession) -> list[Any]:
            codec = self._codecs.locked(session, tenant)
            masked = None if note is None else mask_key_names(note, codec)
            return _remove(session, _DELETE, {**values, "names": list(codec.name_forms(key))}, masked)

        gone = self._codecs.write(self._database, delete, tenant)
        return any(alive for _, alive in gone)

    def invalidate(
        self, tenant: str, space: str, pattern: str, moment: datetime, *, note: NewAuditEntry | None = None
    ) -> int:
        """Remove every key that a glob pattern matches; returns how many there were."""
        values: dict[str, Any] = {"tenant": tenant, "space": space, "now": to_micros(moment)}

        def invalidate(session: PostgresSession) -> list[Any]:
            codec = self._codecs.locked(session, tenant)
            if not codec.encrypted:
                pattern_too = {**values, "pattern": to_expression(pattern)}
                return _remove(session, _INVALIDATE, pattern_too, note, count=True)
            meant = Glob(pattern)
            kept = [row[0] for row in session.rows(_NAMES, values)]
            names = [name for name in kept if meant.matches(codec.decode_name(name) or "")]
            masked = None if note is None else mask_key_names(note, codec)
            return _remove(session, _DELETE, {**values, "names": names}, masked, count=True)

        gone = self._codecs.write(self._database, invalidate, tenant)
        return sum(alive for _, alive in gone)

    def keys(self, tenant: str, space: str, pattern: str, moment: datetime) -> list[str]:
        """Return the keys that a glob pattern matches, sorted."""
        codec, expression = self._codecs.get(tenant), to_expression(pattern)
        values = {"tenant": tenant, "space": space, "now": to_micros(moment)}
        if codec.encrypted:
            meant = Glob(pattern)
            names = [codec.decode_name(row[0]) or "" for row in self._database.rows(_KEYS, {**values, "pattern": ""})]
            return sorted(name for name in names if meant.matches(name))
        return [row[0] for row in self._database.rows(_KEYS, {**values, "pattern": expression})]

    def versions(self, tenant: str, entries: Sequence[tuple[str, str]], moment: datetime) -> tuple[int, ...]:
        """Return the versions of entries, 0 for nothing there."""
        if not entries:
            return ()
        codec = self._codecs.get(tenant)
        wanted = [(place, space, name) for place, (space, key) in enumerate(entries) for name in codec.name_forms(key)]
        values = {
            "tenant": tenant,
            "spaces": [space for _, space, _ in wanted],
            "keys": [name for _, _, name in wanted],
            "now": to_micros(moment),
        }
        versions = [0] * len(entries)
        for (place, _, _), (version,) in zip(wanted, self._database.rows(_VERSIONS, values), strict=True):
            versions[place] += version
        return tuple(versions)

    def erase(self, tenant: str, doomed: Callable[[str, str], bool]) -> int:
        """Remove every entry, expired or not, whose namespace and key are doomed; returns how many."""
        codec, total = self._codecs.get(tenant), 0
        for _ in rounds(partial(self._codecs.get, tenant)):
            for rows in self._pages(tenant, "space, key"):
                going = [(space, key) for space, key in rows if doomed(space, codec.decode_name(key) or "")]
                if going:
                    spaces, keys = map(list, zip(*going, strict=True))
                    values = {"tenant": tenant, "spaces": spaces, "keys": keys}
                    total += len(self._database.write(lambda session, values=values: _remove(session, _ERASE, values)))
        return total

    def load(self, tenant: str, space: str, entry: Entry) -> bool:
        """Store an entry as it is, unless that version or a later one is there; says whether it was stored."""
        values = {
            "tenant": tenant,
            "space": space,
            "version": entry.version,
            "ends": None if entry.expires_at is None else to_micros(entry.expires_at),
            "sliding": None if entry.sliding is None else round(entry.sliding * SECOND),
        }

        def load(session: PostgresSession) -> bool:
            codec = self._codecs.locked(session, tenant)
            names = list(codec.name_forms(entry.key))
            place = {**values, "key": names[0], "names": names}
            if len(names) > 1:
                session.execute(_RENAME, place)
            value = codec.encode(entry.value, FIELD, value_identity(space, entry.key), entry.version)
            return session.changed(_LOAD, {**place, "value": value}) == 1

        return self._codecs.write(self._database, load, tenant)


def sweep_expired(database: PostgresDatabase, now: int, limit: int) -> int:
    """Remove entries that have expired, at most so many; returns how many."""
    swept = 0
    for (tenant,) in database.rows(_EXPIRED_TENANTS, {"now": now}):
        if swept >= limit:
            break
        values = {"tenant": tenant, "now": now, "limit": limit - swept}
        swept += len(database.write(lambda session, values=values: _remove(session, _SWEEP, values)))
    return swept


def _add(session: PostgresSession, values: dict[str, Any], note: NewAuditEntry | None) -> int | None:
    session.execute(_MAKE_FLOOR, values)
    floor: int = session.value(_FLOOR, values)
    version: int | None = session.value(_ADD, {**values, "version": floor + 1})
    if version is not None and note is not None:
        append_audit_entry(session, note)
    return version


def _remove(
    session: PostgresSession,
    sql: str,
    values: dict[str, Any],
    note: NewAuditEntry | None = None,
    *,
    count: bool = False,
) -> list[Any]:
    """Remove entries and see to it that their versions are never given again."""
    session.execute(_MAKE_FLOOR, values)
    session.execute(_HOLD_FLOOR, values)
    gone = session.rows(sql, values)
    if gone:
        session.execute(_RAISE_FLOOR, {**values, "floor": max(version for version, _ in gone)})
        if note is not None:
            append_audit_entry(session, with_counts(note, count=sum(alive for _, alive in gone)) if count else note)
    return gone
