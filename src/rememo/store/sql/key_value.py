"""Key-value state beside the records of an SQL store: reading it."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Any, Generic

from rememo.model.times import from_micros, to_micros
from rememo.store.cipher.codec import FieldCodec
from rememo.store.kv.protocol import FIELD, Entry, value_identity
from rememo.store.kv.rounds import entries
from rememo.store.sql.part import C, D

ENTRY_COLUMNS = "key, value, version, expires_at, sliding"
SECOND = 1_000_000
# From one namespace to the next by the index: how many keys each has does not matter.
_SPACES = """WITH RECURSIVE spaces (space) AS (
  SELECT min(space) FROM kv WHERE tenant = ?
  UNION ALL
  SELECT (SELECT min(space) FROM kv WHERE tenant = ? AND space > spaces.space) FROM spaces WHERE spaces.space IS NOT NULL
) SELECT space FROM spaces WHERE space IS NOT NULL"""
_ENTRIES = f"""SELECT {ENTRY_COLUMNS} FROM kv WHERE tenant = ? AND space = ? AND (expires_at IS NULL OR expires_at > ?)
ORDER BY key"""
_PROLONG = "UPDATE kv SET expires_at = ? WHERE tenant = ? AND space = ? AND key = ? AND expires_at > ?"


class SqlKeyValue(ABC, Generic[D, C]):
    """The part of the `KeyValue` protocol that is the same for every SQL store."""

    def __init__(self, database: D, codecs: C) -> None:
        self._database = database
        self._codecs = codecs

    @abstractmethod
    def _read_entry(self, tenant: str, space: str, key: str, now: int) -> tuple[Any, Entry] | None:
        """Return an entry that has not expired, with the key as it is stored."""

    def get(self, tenant: str, space: str, key: str, moment: datetime) -> Entry | None:
        """Return an entry as it then is: prolonged, when its expiry slides."""
        now = to_micros(moment)
        stored = self._read_entry(tenant, space, key, now)
        if stored is None:
            return None
        stored_key, entry = stored
        if entry.sliding is not None and entry.expires_at is not None:
            # A write for every read would be dear: the end moves in steps of a twentieth of the time to live.
            later = now + round(entry.sliding * SECOND)
            if later - to_micros(entry.expires_at) > round(entry.sliding * SECOND) // 20:
                values = (later, tenant, space, stored_key, now)
                self._database.write(lambda session: session.changed(_PROLONG, values), repeatable=True)
                return replace(entry, expires_at=from_micros(later))
        return entry

    def entries(self, tenant: str, space: str, moment: datetime) -> list[Entry]:
        """Return all entries of a namespace, sorted by key; looking at them so prolongs none."""
        codec = self._codecs.get(tenant)
        rows = self._database.rows(_ENTRIES, (tenant, space, to_micros(moment)))
        return sorted((to_entry(row, space, codec) for row in rows), key=lambda entry: entry.key)

    def spaces(self, tenant: str) -> list[str]:
        """Return the namespaces that hold an entry, sorted."""
        return [space for (space,) in self._database.rows(_SPACES, (tenant, tenant))]

    def dump(self, tenant: str, moment: datetime) -> Iterator[tuple[str, Entry]]:
        """Give every entry of a tenant with its namespace."""
        pages = partial(self._pages, tenant, f"space, {ENTRY_COLUMNS}", to_micros(moment))
        yield from entries(partial(self._codecs.get, tenant), pages, to_entry)

    def _pages(self, tenant: str, columns: str, now: int = 0) -> Iterator[list[Any]]:
        """Give some columns of all entries that end later, in the order of their names; the first are namespace and name."""
        last: tuple[Any, Any] = ("", "")
        sql = (
            f"SELECT {columns} FROM kv WHERE tenant = ? AND (space, key) > (?, ?)"
            " AND (expires_at IS NULL OR expires_at > ?) ORDER BY space, key LIMIT 500"
        )
        while rows := self._database.rows(sql, (tenant, *last, now)):
            yield rows
            last = (rows[-1][0], rows[-1][1])


def to_entry(row: Any, space: str, codec: FieldCodec) -> Entry:
    """Return the entry of a row of `ENTRY_COLUMNS`; one that is not what was written raises `Corrupt`."""
    name, value, version, expires_at, sliding = row
    key = codec.decode_name(name) or ""
    return Entry(
        key=key,
        value=codec.decode(value, FIELD, value_identity(space, key), version),
        version=version,
        expires_at=None if expires_at is None else from_micros(expires_at),
        sliding=None if sliding is None else sliding / SECOND,
    )
