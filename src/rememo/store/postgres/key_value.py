"""Key-value in the same PostgreSQL schema as the records."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Any, LiteralString

from rememo.model.audit import NewAuditEntry
from rememo.model.times import from_micros, to_micros
from rememo.store.audit_chain import with_counts
from rememo.store.audit_trail import mask_key_names
from rememo.store.kv.globs import Glob, to_expression
from rememo.store.kv.protocol import FIELD, Entry, value_identity
from rememo.store.kv.rounds import entries, rounds
from rememo.store.postgres.audit import append_audit_entry
from rememo.store.postgres.codecs import PostgresCodec, PostgresCodecs
from rememo.store.postgres.database import PostgresDatabase
from rememo.store.postgres.session import Session
from rememo.store.postgres.tenant_guard import guard_tenants

_SECOND = 1_000_000
_MOST_TRIES = 100
_ALIVE = "(expires_at IS NULL OR expires_at > %(now)s)"
_HERE = "tenant = %(tenant)s AND space = %(space)s AND key = %(key)s"
_ANYHOW = "tenant = %(tenant)s AND space = %(space)s AND key = ANY(%(names)s::text[])"
_GET = f"SELECT key, value, version, expires_at, sliding FROM kv WHERE {_ANYHOW} AND {_ALIVE}"
_PROLONG = f"UPDATE kv SET expires_at = %(later)s WHERE {_HERE} AND expires_at > %(now)s"
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
_PAGE = """SELECT space, key FROM kv WHERE tenant = %(tenant)s AND (space, key) > (%(space)s, %(key)s)
ORDER BY space, key LIMIT 500"""
_ERASE = """DELETE FROM kv WHERE tenant = %(tenant)s
AND (space, key) IN (SELECT * FROM unnest(%(spaces)s::text[], %(keys)s::text[])) RETURNING version, true"""
_KEYS = f"SELECT key FROM kv WHERE tenant = %(tenant)s AND space = %(space)s AND key ~ %(pattern)s AND {_ALIVE} ORDER BY key"
_VERSIONS = f"""SELECT coalesce((SELECT version FROM kv WHERE tenant = %(tenant)s AND space = wanted.space AND key = wanted.key
  AND {_ALIVE}), 0)
FROM unnest(%(spaces)s::text[], %(keys)s::text[]) WITH ORDINALITY AS wanted (space, key, place) ORDER BY wanted.place"""
# From one namespace to the next by the index: how many keys each has does not matter.
_SPACES = """WITH RECURSIVE one (space) AS (
  SELECT min(space) FROM kv WHERE tenant = %(tenant)s
  UNION ALL
  SELECT (SELECT min(space) FROM kv WHERE tenant = %(tenant)s AND space > one.space) FROM one WHERE one.space IS NOT NULL
) SELECT space FROM one WHERE space IS NOT NULL"""
_ENTRIES = f"""SELECT key, value, version, expires_at, sliding FROM kv
WHERE tenant = %(tenant)s AND space = %(space)s AND {_ALIVE} ORDER BY key"""
_DUMP = f"""SELECT space, key, value, version, expires_at, sliding FROM kv
WHERE tenant = %(tenant)s AND (space, key) > (%(space)s, %(key)s) AND {_ALIVE} ORDER BY space, key LIMIT 500"""
_LOAD = f"{_SET} WHERE held.version < excluded.version"
_EXPIRED_TENANTS = "SELECT DISTINCT tenant FROM kv WHERE expires_at <= %(now)s ORDER BY tenant"
_SWEEP = """DELETE FROM kv WHERE tenant = %(tenant)s AND (space, key) IN
(SELECT space, key FROM kv WHERE tenant = %(tenant)s AND expires_at <= %(now)s LIMIT %(limit)s) RETURNING version, false"""


@guard_tenants()
class PostgresKeyValue:
    """The `KeyValue` protocol on a schema of a PostgreSQL database."""

    def __init__(self, database: PostgresDatabase, codecs: PostgresCodecs) -> None:
        self._database = database
        self._codecs = codecs

    def get(self, tenant: str, space: str, key: str, moment: datetime) -> Entry | None:
        """Return an entry as it then is: prolonged, when its expiry slides."""
        now, codec = to_micros(moment), self._codecs.get(tenant)
        place = {"tenant": tenant, "space": space, "names": list(codec.name_forms(key)), "now": now}
        row = self._database.row(_GET, place)
        if row is None:
            # It may have got another name since the keys were read.
            again = self._codecs.get(tenant)
            return None if again.serial == codec.serial else self.get(tenant, space, key, moment)
        entry = to_entry(row, space, codec)
        if entry.sliding is not None and entry.expires_at is not None:
            # A write for every read would be dear: the end moves in steps of a twentieth of the time to live.
            later = now + round(entry.sliding * _SECOND)
            if later - to_micros(entry.expires_at) > round(entry.sliding * _SECOND) // 20:
                self._database.write(
                    lambda session: session.execute(_PROLONG, {**place, "key": row[0], "later": later}), repeatable=True
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
        keep_ttl: bool = False,
        expected: int | None = None,
        note: NewAuditEntry | None = None,
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
            "keep_ttl": keep_ttl,
            "expected": expected,
        }
        if self._codecs.cipher is not None:
            return self._codecs.write(self._database, lambda session: self._set_sealed(session, values, note), tenant)
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

    def _set_sealed(self, session: Session, values: dict[str, Any], note: NewAuditEntry | None) -> int | None:
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

        def replace_and_note(session: Session) -> Any:
            row = session.row(_REPLACE, values)
            if row is not None:
                append_audit_entry(session, note)
            return row

        return self._database.write(replace_and_note)

    def delete(self, tenant: str, space: str, key: str, moment: datetime, *, note: NewAuditEntry | None = None) -> bool:
        """Remove an entry; False when there was none."""
        values = {"tenant": tenant, "space": space, "now": to_micros(moment)}

        def delete(session: Session) -> list[Any]:
            codec = self._codecs.locked(session, tenant)
            told = None if note is None else mask_key_names(note, codec)
            return _remove(session, _DELETE, {**values, "names": list(codec.name_forms(key))}, told)

        gone = self._codecs.write(self._database, delete, tenant)
        return any(alive for _, alive in gone)

    def invalidate(
        self, tenant: str, space: str, pattern: str, moment: datetime, *, note: NewAuditEntry | None = None
    ) -> int:
        """Remove every key that a glob pattern matches; returns how many there were."""
        values: dict[str, Any] = {"tenant": tenant, "space": space, "now": to_micros(moment)}

        def invalidate(session: Session) -> list[Any]:
            codec = self._codecs.locked(session, tenant)
            if not codec.encrypted:
                pattern_too = {**values, "pattern": to_expression(pattern)}
                return _remove(session, _INVALIDATE, pattern_too, note, count=True)
            meant = Glob(pattern)
            kept = [row[0] for row in session.rows(_NAMES, values)]
            names = [one for one in kept if meant.matches(codec.decode_name(one) or "")]
            told = None if note is None else mask_key_names(note, codec)
            return _remove(session, _DELETE, {**values, "names": names}, told, count=True)

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
        asked = [(place, space, name) for place, (space, key) in enumerate(entries) for name in codec.name_forms(key)]
        values = {
            "tenant": tenant,
            "spaces": [space for _, space, _ in asked],
            "keys": [name for _, _, name in asked],
            "now": to_micros(moment),
        }
        found = [0] * len(entries)
        for (place, _, _), (version,) in zip(asked, self._database.rows(_VERSIONS, values), strict=True):
            found[place] += version
        return tuple(found)

    def entries(self, tenant: str, space: str, moment: datetime) -> list[Entry]:
        """Return all entries of a namespace, sorted by key; looking at them so prolongs none."""
        codec = self._codecs.get(tenant)
        values = {"tenant": tenant, "space": space, "now": to_micros(moment)}
        found = [to_entry(row, space, codec) for row in self._database.rows(_ENTRIES, values)]
        return sorted(found, key=lambda entry: entry.key)

    def erase(self, tenant: str, doomed: Callable[[str, str], bool]) -> int:
        """Remove every entry, expired or not, whose namespace and key are doomed; returns how many."""
        codec, total = self._codecs.get(tenant), 0
        for _ in rounds(partial(self._codecs.get, tenant)):
            for rows in self._pages(_PAGE, {"tenant": tenant}):
                going = [(space, key) for space, key in rows if doomed(space, codec.decode_name(key) or "")]
                if going:
                    spaces, keys = map(list, zip(*going, strict=True))
                    values = {"tenant": tenant, "spaces": spaces, "keys": keys}
                    total += len(self._database.write(lambda session, values=values: _remove(session, _ERASE, values)))
        return total

    def _pages(self, sql: LiteralString, values: dict[str, Any]) -> Iterator[list[Any]]:
        """Give entries in the order of their names; the first columns are namespace and name."""
        place: dict[str, Any] = {**values, "space": "", "key": ""}
        while rows := self._database.rows(sql, place):
            yield rows
            place["space"], place["key"] = rows[-1][:2]

    def spaces(self, tenant: str) -> list[str]:
        """Return the namespaces that hold an entry, sorted."""
        return [space for (space,) in self._database.rows(_SPACES, {"tenant": tenant})]

    def dump(self, tenant: str, moment: datetime) -> Iterator[tuple[str, Entry]]:
        """Give every entry of a tenant with its namespace."""
        pages = partial(self._pages, _DUMP, {"tenant": tenant, "now": to_micros(moment)})
        yield from entries(partial(self._codecs.get, tenant), pages, to_entry)

    def load(self, tenant: str, space: str, entry: Entry) -> bool:
        """Store an entry as it is, unless that version or a later one is there; says whether it was stored."""
        values = {
            "tenant": tenant,
            "space": space,
            "version": entry.version,
            "ends": None if entry.expires_at is None else to_micros(entry.expires_at),
            "sliding": None if entry.sliding is None else round(entry.sliding * _SECOND),
        }

        def load(session: Session) -> bool:
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


def _add(session: Session, values: dict[str, Any], note: NewAuditEntry | None) -> int | None:
    session.execute(_MAKE_FLOOR, values)
    floor: int = session.value(_FLOOR, values)
    version: int | None = session.value(_ADD, {**values, "version": floor + 1})
    if version is not None and note is not None:
        append_audit_entry(session, note)
    return version


def _remove(
    session: Session, sql: str, values: dict[str, Any], note: NewAuditEntry | None = None, *, count: bool = False
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


def to_entry(row: Any, space: str, codec: PostgresCodec) -> Entry:
    """Return the entry of a row; one that is not what was written raises `Corrupt`."""
    name, value, version, expires_at, sliding = row
    key = codec.decode_name(name) or ""
    return Entry(
        key=key,
        value=codec.decode(value, FIELD, value_identity(space, key), version),
        version=version,
        expires_at=None if expires_at is None else from_micros(expires_at),
        sliding=None if sliding is None else sliding / _SECOND,
    )
