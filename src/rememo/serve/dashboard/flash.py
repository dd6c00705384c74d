"""Flash messages: the last change, shown on the next page with an undo button.

The message travels in the page's URL, signed for the key that made the change, and the server stores nothing: it works after
a restart and in every process. The write is found again by its system time, which no other write of its tenant has.
"""

import hashlib
import hmac
import json
import secrets
from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from rememo.engine.view import view_of
from rememo.errors import ReadOnlyStore, Unavailable
from rememo.memory import Memory
from rememo.model.check import dump_json
from rememo.model.receipt import Outcome, Receipt
from rememo.model.times import from_micros, to_micros
from rememo.serve.auth import RESERVED

SPACE: Final = "dashboard"
_ENTRY: Final = "secret"
_LONGEST: Final = 200
_SIGNATURE: Final = 16
_STEP: Final = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Flash:
    """The last change of a key, which can be undone."""

    message: str
    tenant: str
    at: datetime | None
    """The system time of the write that can be undone."""


class FlashSigner:
    """Signs flash messages with a secret that every process of the memory shares."""

    def __init__(self, memory: Memory, fallback: bytes) -> None:
        """Sign with the memory's secret; a store that cannot be written has none, and `fallback` takes its place."""
        engine = view_of(memory).engine
        self._kv, self._now = engine.kv, engine.now
        self._fallback = fallback
        self._cached_secret: bytes | None = None

    def of(self, flash: Flash, key: str) -> str:
        """Return the signed token of a flash message, valid for one key."""
        at = None if flash.at is None else to_micros(flash.at)
        payload = dump_json([flash.message[:_LONGEST], flash.tenant, at]).encode()
        return urlsafe_b64encode(self._sign(f"done {key}", payload) + payload).decode().rstrip("=")

    def read(self, mark: str, key: str) -> Flash | None:
        """Return the flash message of a token; None when its signature is not valid for the key."""
        try:
            decoded = urlsafe_b64decode(mark.encode("ascii") + b"=" * (-len(mark) % 4))
        except ValueError:
            return None
        signature, payload = decoded[:_SIGNATURE], decoded[_SIGNATURE:]
        if not hmac.compare_digest(signature, self._sign(f"done {key}", payload)):
            return None
        message, tenant, at = json.loads(payload)
        return Flash(message=message, tenant=tenant, at=None if at is None else from_micros(at))

    def token(self) -> str:
        """Return the CSRF token of servers without keys."""
        return self._sign("open", b"").hex()

    def _sign(self, purpose: str, payload: bytes) -> bytes:
        return hmac.new(self._secret(), purpose.encode() + b"\0" + payload, hashlib.sha256).digest()[:_SIGNATURE]

    def _secret(self) -> bytes:
        if self._cached_secret is None:
            kv, now = self._kv, self._now()
            try:
                # The first process sets the secret for all.
                kv.set(RESERVED, SPACE, _ENTRY, dump_json(secrets.token_hex(32)), now, expected=0)
            except ReadOnlyStore:
                self._cached_secret = self._fallback
                return self._cached_secret
            entry = kv.get(RESERVED, SPACE, _ENTRY, now)
            if entry is None:
                raise Unavailable("the dashboard's secret is missing from the store; try again")
            self._cached_secret = bytes.fromhex(json.loads(entry.value))
        return self._cached_secret


def find_receipt(memory: Memory, at: datetime) -> Receipt:
    """Return the receipt of the write with this system time."""
    engine = view_of(memory).engine
    versions: dict[str, int] = {}
    outcomes: dict[str, Outcome] = {}
    for id in engine.store.touched(memory.bound, at - _STEP, at, engine.now()):
        for version in engine.store.history(memory.bound, id):
            if version.recorded_at == at:
                versions[id], outcomes[id] = version.version, "updated"
            elif version.superseded_at == at and version.deleted:
                versions[id], outcomes[id] = version.version, "deleted"
    return Receipt(ids=tuple(versions), versions=versions, outcomes=outcomes, recorded_at=at)


def undo_write(memory: Memory, at: datetime) -> None:
    """Undo the write with this system time; raises `VersionConflict` when a record has changed since."""
    memory.undo(find_receipt(memory, at))
