"""Key-value on a Redis or Valkey server: core commands of Redis 7, and nothing that blocks it."""

import math
import re
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Any, Unpack

from rememo.errors import InvalidInput
from rememo.model.audit import NewAuditEntry
from rememo.model.health import Health
from rememo.model.times import from_micros, to_micros
from rememo.store.audit_chain import with_counts
from rememo.store.cipher.codec import Encoded, FieldCodec
from rememo.store.kv.globs import Glob, literal_start
from rememo.store.kv.protocol import Entry, SetOptions
from rememo.store.redis.client import RedisClient
from rememo.store.redis.scripts import COUNT, GET, GRACE_MILLIS, LOAD, READ, REMOVE, SET, SWEEP, VERSIONS

_SECOND = 1_000_000
_MILLI = 1_000
_FIELD = "kv"
_NONE = "-"
_MOST_AT_ONCE = 500
_LARGEST_VERSION = 2**53
"""Scripts count by floating point."""


class RedisKeyValue:
    """The `KeyValue` protocol on a Redis server.

    A value, its version and its end change as one step. What is removed by a pattern, and what is listed, goes page by page:
    others may come in between. A `note` is told to `record` once the change is made.
    """

    def __init__(
        self, server: RedisClient, *, compress_above: int = 0, record: Callable[[NewAuditEntry], object]
    ) -> None:
        self._server = server
        self._above = compress_above
        self._record = record

    def get(self, tenant: str, space: str, key: str, moment: datetime) -> Entry | None:
        """Return an entry as it then is: prolonged, when its expiry slides."""
        place = _Place(self._server.prefix, tenant, space)
        row = self._server.run(
            GET, (place.index, place.ends, place.value(key), place.spaces), (key, to_micros(moment), space), wrote=False
        )
        return None if row is None else self._entry(tenant, space, (key.encode(), *row))

    def set(
        self, tenant: str, space: str, key: str, value: str, moment: datetime, **options: Unpack[SetOptions]
    ) -> int | None:
        """Store a value and return its version; None when `expected` is not the version that is there."""
        place, now = _Place(self._server.prefix, tenant, space), to_micros(moment)
        ttl, expected, note = options.get("ttl"), options.get("expected"), options.get("note")
        life = None if ttl is None else round(ttl * _SECOND)
        arguments = (
            key,
            now,
            space,
            self._put(tenant, value),
            _NONE if life is None else now + life,
            life if options.get("sliding") and life is not None else _NONE,
            _NONE if life is None else _millis(life),
            _NONE if expected is None else expected,
            "1" if options.get("keep_ttl") else _NONE,
        )
        keys = (place.index, place.ends, place.value(key), place.spaces, place.floor)
        version = self._server.run(SET, keys, arguments, wrote=True)
        if version is None:
            return None
        if note is not None:
            self._record(note)
        return int(version)

    def delete(self, tenant: str, space: str, key: str, moment: datetime, *, note: NewAuditEntry | None = None) -> bool:
        """Remove an entry; False when there was none."""
        gone, alive = self._remove(tenant, space, [key], to_micros(moment))
        if gone and note is not None:
            self._record(note)
        return alive == 1

    def invalidate(
        self, tenant: str, space: str, pattern: str, moment: datetime, *, note: NewAuditEntry | None = None
    ) -> int:
        """Remove every key that a glob pattern matches; returns how many there were."""
        total = live = 0
        for keys in self._matching(tenant, space, pattern):
            gone, alive = self._remove(tenant, space, keys, to_micros(moment))
            total, live = total + gone, live + alive
        if total and note is not None:
            self._record(with_counts(note, count=live))
        return live

    def keys(self, tenant: str, space: str, pattern: str, moment: datetime) -> list[str]:
        """Return the keys that a glob pattern matches, sorted."""
        names: list[str] = []
        for keys in self._matching(tenant, space, pattern):
            names += [row[0].decode() for row in self._read(tenant, space, keys, moment, values=False)]
        return sorted(names)

    def versions(self, tenant: str, entries: Sequence[tuple[str, str]], moment: datetime) -> tuple[int, ...]:
        """Return the versions of entries, 0 for nothing there."""
        versions: list[int] = []
        for start in range(0, len(entries), _MOST_AT_ONCE):
            part = entries[start : start + _MOST_AT_ONCE]
            places = [(_Place(self._server.prefix, tenant, space), key) for space, key in part]
            names = [name for place, key in places for name in (place.index, place.value(key))]
            arguments = (to_micros(moment), *(key for _, key in part))
            versions += map(int, self._server.run(VERSIONS, names, arguments, wrote=False))
        return tuple(versions)

    def entries(self, tenant: str, space: str, moment: datetime) -> list[Entry]:
        """Return all entries of a namespace, sorted by key; looking at them so prolongs none."""
        result: list[Entry] = []
        for keys in self._matching(tenant, space, "*"):
            rows = self._read(tenant, space, keys, moment, values=True)
            result += [self._entry(tenant, space, row) for row in rows]
        return sorted(result, key=lambda entry: entry.key)

    def spaces(self, tenant: str) -> list[str]:
        """Return the namespaces that hold an entry, sorted."""
        return self._spaces(tenant)

    def dump(self, tenant: str, moment: datetime) -> Iterator[tuple[str, Entry]]:
        """Give every entry of a tenant with its namespace."""
        for space in self._spaces(tenant):
            for entry in self.entries(tenant, space, moment):
                yield space, entry

    def load(self, tenant: str, space: str, entry: Entry) -> bool:
        """Store an entry as it is, unless that version or a later one is there; says whether it was stored."""
        if entry.version >= _LARGEST_VERSION:
            raise InvalidInput(f"key {entry.key!r} is at version {entry.version}; Redis counts to {_LARGEST_VERSION:,}")
        place, now = _Place(self._server.prefix, tenant, space), to_micros(datetime.now(UTC))
        ends = None if entry.expires_at is None else to_micros(entry.expires_at)
        arguments = (
            entry.key,
            now,
            space,
            self._put(tenant, entry.value),
            _NONE if ends is None else ends,
            _NONE if entry.sliding is None else round(entry.sliding * _SECOND),
            _NONE if ends is None else _millis(max(ends - now, 0)),
            entry.version,
        )
        keys = (place.index, place.ends, place.value(entry.key), place.spaces)
        return self._server.run(LOAD, keys, arguments, wrote=True) == 1

    def erase(self, tenant: str, doomed: Callable[[str, str], bool]) -> int:
        """Remove every entry, expired or not, whose namespace and key are doomed; returns how many."""
        total, now = 0, to_micros(datetime.now(UTC))
        for space in self._spaces(tenant):
            for keys in self._matching(tenant, space, "*"):
                total += self._remove(tenant, space, [key for key in keys if doomed(space, key)], now)[0]
        return total

    def count(self, tenant: str, moment: datetime) -> int:
        """Return how many entries a tenant has."""
        places = [_Place(self._server.prefix, tenant, space) for space in self._spaces(tenant)]
        total = 0
        for start in range(0, len(places), _MOST_AT_ONCE):
            part = places[start : start + _MOST_AT_ONCE]
            names = [name for place in part for name in (place.index, place.ends)]
            total += self._server.run(COUNT, names, (to_micros(moment),), wrote=False)
        return total

    def sweep(self, tenant: str, moment: datetime) -> int:
        """Reclaim what has expired; returns how many entries. Redis lets values go by itself, this their versions too."""
        total, now = 0, to_micros(moment)
        for space in self._spaces(tenant):
            place = _Place(self._server.prefix, tenant, space)
            while keys := self._expired(place, now):
                names = (place.index, place.ends, place.spaces, place.floor, *map(place.value, keys))
                if not (gone := self._server.run(SWEEP, names, (now, space, *keys), wrote=True)):
                    break
                total += gone
        return total

    def health(self) -> Health:
        """Return how the server is, without asking it."""
        return self._server.health()

    def close(self) -> None:
        """Let go of the server."""
        self._server.close()

    # ---- inside

    def _spaces(self, tenant: str) -> list[str]:
        names = self._server.scan("zscan", _Place(self._server.prefix, tenant, "").spaces)
        return sorted(name.decode() for page in names for name in page)

    def _expired(self, place: "_Place", now: int) -> list[str]:
        expired = self._server.read(
            lambda client: client.zrangebyscore(place.ends, "-inf", now, start=0, num=_MOST_AT_ONCE)
        )
        return [key.decode() for key in expired]

    def _matching(self, tenant: str, space: str, pattern: str) -> Iterator[list[str]]:
        """Give the keys that a pattern matches, expired or not, in parts."""
        wanted = Glob(pattern)
        # The server's own patterns count bytes and know other signs: it only looks at how a key begins.
        start = re.sub(r"([*?\[\]\\^-])", r"\\\1", literal_start(pattern))
        pages = self._server.scan("hscan", _Place(self._server.prefix, tenant, space).index, f"{start}*".encode())
        for page in pages:
            keys = [key for key in (name.decode() for name in page) if wanted.matches(key)]
            for at in range(0, len(keys), _MOST_AT_ONCE):
                yield keys[at : at + _MOST_AT_ONCE]

    def _read(self, tenant: str, space: str, keys: Sequence[str], moment: datetime, *, values: bool) -> list[Any]:
        place = _Place(self._server.prefix, tenant, space)
        names = (place.index, *map(place.value, keys))
        return self._server.run(READ, names, (to_micros(moment), "1" if values else "0", *keys), wrote=False)

    def _remove(self, tenant: str, space: str, keys: Sequence[str], now: int) -> tuple[int, int]:
        """Remove entries; returns how many were there, and how many of them had not expired."""
        if not keys:
            return 0, 0
        place = _Place(self._server.prefix, tenant, space)
        names = (place.index, place.ends, place.spaces, place.floor, *map(place.value, keys))
        gone, alive = self._server.run(REMOVE, names, (now, space, *keys), wrote=True)
        return gone, alive

    def _put(self, tenant: str, value: str) -> Encoded:
        return FieldCodec(tenant, None, self._above).encode(value, _FIELD, "", 0)

    def _entry(self, tenant: str, space: str, row: Sequence[bytes]) -> Entry:
        name, value, version, ends, sliding = row
        key = name.decode()
        # JSON begins with no such byte.
        kept = value if value[:1] < b"\x08" else value.decode()
        return Entry(
            key=key,
            value=FieldCodec(tenant, None, self._above).decode(kept, _FIELD, f"{space}/{key}", 0),
            version=int(version),
            expires_at=None if ends == b"-" else from_micros(int(ends)),
            sliding=None if sliding == b"-" else int(sliding) / _SECOND,
        )


class _Place:
    """The names of what belongs to a namespace, all of them on the node that keeps their tenant."""

    __slots__ = ("_start", "ends", "floor", "index", "spaces")

    def __init__(self, prefix: str, tenant: str, space: str) -> None:
        start = tenant_start(prefix, tenant)
        self.index = f"{start}index:{space}"
        self.ends = f"{start}ends:{space}"
        self.spaces = f"{start}spaces"
        self.floor = f"{start}floor"
        # The length keeps a namespace apart from the key behind it, whatever stands in them.
        self._start = f"{start}value:{len(space)}:{space}:"

    def value(self, key: str) -> str:
        return self._start + key


def tenant_start(prefix: str, tenant: str) -> str:
    """Return what the names of all keys of a tenant begin with; the braces say which node of a cluster has them."""
    return f"{prefix}:{{{tenant.replace('%', '%25').replace('{', '%7B').replace('}', '%7D')}}}:"


def _millis(micros: int) -> int:
    return math.ceil(micros / _MILLI) + GRACE_MILLIS
