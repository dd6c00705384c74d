"""The audit chain: how a line is hashed onto the one before, the same for every store.

What tells of a person is hashed with a salt of its own first, in two halves (who did it, what it was done to), and the
chain goes over these digests. An erasure can therefore take a half out, and its salt with it: the digest stays in its
place, the chain holds, and nobody can guess what was there.
"""

import json
from dataclasses import dataclass, replace
from functools import lru_cache
from hashlib import blake2b, sha256
from os import urandom
from typing import Any, Literal

from rememo.model.audit import AuditEntry, AuditHead, Note
from rememo.model.check import dump_json
from rememo.model.scope import Scope
from rememo.model.times import from_micros, to_micros

Half = Literal["who", "what"]

MOST_IDS = 20
"""Of one write that are kept by name."""
_SALT = 16
_NO_SALT = bytes(_SALT)


@dataclass(slots=True)
class Link:
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
            return _who(self), _what(self)
        gone: dict[str, str] = json.loads(self.gone)
        return gone.get("who") or _who(self), gone.get("what") or _what(self)

    def without(self, *halves: Half) -> "Link":
        """Return it with halves taken out."""
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
        """Return it as users see it."""
        return AuditEntry(
            number=self.number,
            at=from_micros(self.at),
            operation=self.operation,
            detail=json.loads(self.detail),
            scope=Scope(tenant=tenant, agent=self.agent, user=self.user, room=self.room),
            actor=self.actor,
            session=self.session,
            address=self.address,
            ids=tuple(json.loads(self.ids)),
            flags=tuple(json.loads(self.flags)),
            redacted=() if self.gone is None else tuple(json.loads(self.gone)),
            hash=self.hash.hex(),
        )


def forge(note: Note, before: AuditHead) -> Link:
    """Return the line that follows a head."""
    detail, ids = note.detail, note.ids
    if not isinstance(detail, str):
        if len(ids) > MOST_IDS:
            detail = {**detail, "ids_sha256": sha256("\n".join(ids).encode()).hexdigest()}
            ids = ()
        detail = dump_json(dict(detail))
    who, scope = note.who, note.scope
    link = Link(
        before.count + 1, to_micros(note.at), note.operation, detail, who.actor, who.session, who.address,
        scope.agent, scope.user, scope.room, dump_json(list(ids)), dump_json(list(note.flags)) if note.flags else "[]", urandom(2 * _SALT),
        None, b"",
    )  # fmt: skip
    link.hash = hash_of(link, bytes.fromhex(before.hash))
    return link


def noted(note: Note, **counts: int) -> Note:
    """Return a note that tells also what only the store could count."""
    return note if isinstance(note.detail, str) else replace(note, detail={**note.detail, **counts})


def hash_of(link: Link, previous: bytes) -> bytes:
    """Return the hash that a line must have after another."""
    # None of these has a line break in it, so no two lines read alike.
    line = "\n".join((str(link.number), str(link.at), link.operation, link.detail, *link.digests()))
    return blake2b(previous + line.encode(), digest_size=32).digest()


def start(tenant: str) -> bytes:
    """Return what stands before a tenant's first line, so that a chain cannot pass for another tenant's."""
    return blake2b(tenant.encode(), digest_size=32, person=b"rememo.audit").digest()


def no_lines(tenant: str) -> AuditHead:
    """Return the head of a trail without any line."""
    return AuditHead(count=0, hash=start(tenant).hex())


def exported(link: Link) -> dict[str, Any]:
    """Return a line with everything that is needed to check it elsewhere."""
    lists = {"detail": json.loads(link.detail), "ids": json.loads(link.ids), "flags": json.loads(link.flags)}
    gone = None if link.gone is None else json.loads(link.gone)
    fields = {name: getattr(link, name) for name in link.__slots__}
    return fields | lists | {"salt": link.salt.hex(), "gone": gone, "hash": link.hash.hex()}


def _who(link: Link) -> str:
    return _salted(_labels(link.actor, link.session, link.address), link.salt[:_SALT])


def _what(link: Link) -> str:
    return _salted(f"{_labels(link.agent, link.user, link.room)}\n{link.ids}\n{link.flags}", link.salt[_SALT:])


@lru_cache(maxsize=1_024)
def _labels(*labels: str | None) -> str:
    return dump_json(list(labels))


def _salted(text: str, salt: bytes) -> str:
    return blake2b(text.encode(), digest_size=20, key=salt).hexdigest()
