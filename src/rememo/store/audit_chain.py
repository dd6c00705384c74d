"""The audit chain: how a line is hashed onto the one before, the same for every store.

What tells of a person is hashed with a salt of its own first, in two halves (who did it, what it was done to), and the
chain goes over these digests. An erasure can therefore take a half out, and its salt with it: the digest stays in its
place, the chain holds, and nobody can guess what was there.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from hashlib import blake2b, sha256
from os import urandom
from typing import Any, Literal, TypeVar, cast

from rememo.errors import Corrupt
from rememo.model.audit import AuditEntry, AuditHead, NewAuditEntry
from rememo.model.check import dump_json
from rememo.model.scope import Scope
from rememo.model.times import from_micros, to_micros

Half = Literal["who", "what"]

MOST_IDS = 20
"""Of one write that are kept by name."""
_SALT = 16
_NO_SALT = bytes(_SALT)
_HASH_BYTES = 32
_DIGEST_CHARS = 40
_HEX = frozenset("0123456789abcdef")
_UNREADABLE = (ValueError, TypeError, AttributeError, OverflowError, RecursionError)
"""What reading a column raises that holds something else than Rememo writes."""

T = TypeVar("T")


@dataclass(slots=True)
class AuditRow:
    """A line as a store keeps it, one field a column."""

    number: int
    at: int
    operation: str
    detail: str
    """JSON text."""
    actor: str | None
    session: str | None
    address: str | None
    agent: str | None
    user: str | None
    room: str | None
    ids: str
    """JSON text."""
    flags: str
    """JSON text."""
    salt: bytes
    gone: str | None
    """JSON text: the digests of halves that were taken out."""
    hash: bytes

    def digests(self) -> tuple[str, str]:
        """Return what the chain has of the two halves."""
        if self.gone is None:
            return _digest_who(self), _digest_what(self)
        gone: dict[str, str] = json.loads(self.gone)
        return gone.get("who") or _digest_who(self), gone.get("what") or _digest_what(self)

    def without(self, *halves: Half) -> "AuditRow":
        """Return it with halves taken out; a line that was altered so that it cannot be read raises `Corrupt`."""
        if (fault := describe_malformed(self)) is not None:
            raise Corrupt(f"line {self.number} of the audit trail was altered: {fault}")
        gone: dict[str, str] = {} if self.gone is None else json.loads(self.gone)
        who, what = self.digests()
        left = self
        if "who" in halves:
            gone["who"] = who
            left = replace(left, actor=None, session=None, address=None, salt=_NO_SALT + left.salt[_SALT:])
        if "what" in halves:
            gone["what"] = what
            left = replace(
                left, agent=None, user=None, room=None, ids="[]", flags="[]", salt=left.salt[:_SALT] + _NO_SALT
            )
        return replace(left, gone=dump_json(gone))

    def entry(self, tenant: str) -> AuditEntry:
        """Return it as users see it; a line that was altered so that it cannot be read raises `Corrupt`."""
        return _read(
            self,
            lambda: AuditEntry(
                number=self.number,
                at=from_micros(self.at),
                operation=_printable(self.operation) or "",
                detail=json.loads(self.detail),
                scope=Scope(
                    tenant=tenant, agent=_printable(self.agent), user=_printable(self.user), room=_printable(self.room)
                ),
                actor=_printable(self.actor),
                session=_printable(self.session),
                address=_printable(self.address),
                ids=tuple(json.loads(self.ids)),
                flags=tuple(json.loads(self.flags)),
                redacted=() if self.gone is None else tuple(json.loads(self.gone)),
                hash=self.hash.hex(),
            ),
        )


def next_audit_row(note: NewAuditEntry, before: AuditHead) -> AuditRow:
    """Return the line that follows a head."""
    detail, ids = note.detail, note.ids
    if not isinstance(detail, str):
        if len(ids) > MOST_IDS:
            detail = {**detail, "ids_sha256": sha256("\n".join(ids).encode()).hexdigest()}
            ids = ()
        detail = dump_json(dict(detail))
    who, scope = note.who, note.scope
    link = AuditRow(
        before.count + 1, to_micros(note.at), note.operation, detail, who.actor, who.session, who.address,
        scope.agent, scope.user, scope.room, dump_json(list(ids)), dump_json(list(note.flags)) if note.flags else "[]", urandom(2 * _SALT),
        None, b"",
    )  # fmt: skip
    link.hash = hash_row(link, bytes.fromhex(before.hash))
    return link


def with_counts(note: NewAuditEntry, **counts: int) -> NewAuditEntry:
    """Return a note that tells also what only the store could count."""
    return note if isinstance(note.detail, str) else replace(note, detail={**note.detail, **counts})


def hash_row(link: AuditRow, previous: bytes) -> bytes:
    """Return the hash that a line must have after another."""
    # None of these has a line break in it, so no two lines read alike.
    line = "\n".join((str(link.number), str(link.at), link.operation, link.detail, *link.digests()))
    return blake2b(previous + line.encode(), digest_size=32).digest()


def first_hash(tenant: str) -> bytes:
    """Return what stands before a tenant's first line, so that a chain cannot pass for another tenant's."""
    return blake2b(tenant.encode(), digest_size=32, person=b"rememo.audit").digest()


def empty_head(tenant: str) -> AuditHead:
    """Return the head of a trail without any line."""
    return AuditHead(count=0, hash=first_hash(tenant).hex())


def row_to_json(link: AuditRow) -> dict[str, Any]:
    """Return a line with everything that is needed to check it elsewhere; one that cannot be read raises `Corrupt`."""
    return _read(link, lambda: _row_to_json(link))


def _row_to_json(link: AuditRow) -> dict[str, Any]:
    lists = {"detail": json.loads(link.detail), "ids": json.loads(link.ids), "flags": json.loads(link.flags)}
    gone = None if link.gone is None else json.loads(link.gone)
    fields = {name: getattr(link, name) for name in link.__slots__}
    return fields | lists | {"salt": link.salt.hex(), "gone": gone, "hash": link.hash.hex()}


def describe_malformed(link: AuditRow) -> str | None:
    """Return which column of a line holds something that Rememo never writes, and what it should be; None for none.

    What the hashes do not cover is checked here too: whatever is taken out must leave its columns empty.
    """
    for name, wanted, fits in _COLUMNS:
        value = getattr(link, name)
        try:
            if fits(value):
                continue
        except _UNREADABLE:
            pass
        return f"its column {name!r} is not {wanted}"
    gone: dict[str, str] = {} if link.gone is None else json.loads(link.gone)
    for half, columns, salt in (
        ("who", (link.actor, link.session, link.address), link.salt[:_SALT]),
        ("what", (link.agent, link.user, link.room), link.salt[_SALT:]),
    ):
        lists = ("[]", "[]") if half == "who" else (link.ids, link.flags)
        if half in gone and (
            any(column is not None for column in columns) or lists != ("[]", "[]") or salt != _NO_SALT
        ):
            return f"its column 'gone' says that {half!r} was taken out, but something stands in its place"
    return None


def _read(link: AuditRow, read: Callable[[], T]) -> T:
    try:
        return read()
    except _UNREADABLE:
        fault = describe_malformed(link) or "it cannot be read"
        raise Corrupt(
            f"line {link.number} of the audit trail was altered: {fault}; audit.verify() lists every line that was"
        ) from None


def _printable(label: str | None) -> str | None:
    """Return a label with question marks for what is no UTF-8 in the store."""
    return label if label is None or label.isascii() else label.encode(errors="replace").decode()


def _is_text(value: object) -> bool:
    # What is no UTF-8 in the store is read with surrogates in its place.
    return isinstance(value, str) and value.encode().decode() == value


def _is_label(value: object) -> bool:
    return value is None or _is_text(value)


def _is_list(value: object) -> bool:
    items: object = json.loads(value) if isinstance(value, str) else None
    return isinstance(items, list) and all(isinstance(item, str) for item in cast("list[object]", items))


def _is_gone(value: object) -> bool:
    if value is None:
        return True
    held: object = json.loads(value) if isinstance(value, str) else None
    if not isinstance(held, dict) or not held or dump_json(cast("dict[str, Any]", held)) != value:
        return False
    halves = cast("dict[str, object]", held)
    return set(halves) <= {"who", "what"} and all(
        isinstance(digest, str) and len(digest) == _DIGEST_CHARS and _HEX.issuperset(digest)
        for digest in halves.values()
    )


_COLUMNS: tuple[tuple[str, str, Callable[[Any], bool]], ...] = (
    ("number", "a whole number from 1", lambda value: isinstance(value, int) and value >= 1),
    ("at", "a time in microseconds", lambda value: isinstance(value, int) and bool(from_micros(value))),
    ("operation", "text", _is_text),
    ("detail", "a JSON object", lambda value: _is_text(value) and isinstance(json.loads(value), dict)),
    *((name, "text", _is_label) for name in ("actor", "session", "address", "agent", "user", "room")),
    ("ids", "a JSON list of texts", _is_list),
    ("flags", "a JSON list of texts", _is_list),
    ("salt", f"{2 * _SALT} bytes", lambda value: isinstance(value, bytes) and len(value) == 2 * _SALT),
    ("gone", "the digests that an erasure leaves", _is_gone),
    ("hash", f"{_HASH_BYTES} bytes", lambda value: isinstance(value, bytes) and len(value) == _HASH_BYTES),
)


def _digest_who(link: AuditRow) -> str:
    return _salted_digest(_labels_json(link.actor, link.session, link.address), link.salt[:_SALT])


def _digest_what(link: AuditRow) -> str:
    return _salted_digest(
        f"{_labels_json(link.agent, link.user, link.room)}\n{link.ids}\n{link.flags}", link.salt[_SALT:]
    )


@lru_cache(maxsize=1_024)
def _labels_json(*labels: str | None) -> str:
    return dump_json(list(labels))


def _salted_digest(text: str, salt: bytes) -> str:
    return blake2b(text.encode(), digest_size=20, key=salt).hexdigest()
