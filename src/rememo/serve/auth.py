"""API keys: rights and scopes of the server's clients, stored as digests in the memory itself.

A key is `rememo_<id>_<secret>`. The secret has 256 bits of chance, so nobody can guess it from its digest, however fast
the digest is: what makes scrypt and its like slow protects secrets that people choose, and there are none here. One
keyed digest and a comparison in constant time are therefore enough, and cost a microsecond for every request.
"""

import hashlib
import hmac
import json
import secrets
import threading
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Final, cast

from rememo.engine.view import view_of
from rememo.errors import InvalidInput, NotFound, Unauthorised
from rememo.memory import Memory
from rememo.model.check import check_label, dump_json
from rememo.model.scope import Scope
from rememo.model.times import to_seconds, to_utc
from rememo.serve.rest.operations import Right

ALL_TENANTS: Final = "*"
"""The tenant of an operator's key: it reaches every tenant, one at a time."""
RESERVED: Final = "rememo:server"
"""The tenant that keys are kept in; no key reaches it."""
RIGHTS: Final = ("read", "write", "admin")
_SPACE: Final = "keys"
_LAST_USED: Final = "keys.used"
_USE_SECONDS: Final = 60.0
_MOST_TRIES: Final = 100
_PREFIX: Final = "rememo"
_DUMMY: Final = {"salt": "00" * 16, "digest": "00" * 32, "until": None}


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiKey:
    """A key without its secret."""

    id: str
    name: str
    tenant: str
    """The tenant it is for, or `*` for all."""
    agent: str | None = None
    user: str | None = None
    room: str | None = None
    rights: tuple[Right, ...]
    created_at: datetime
    expires_at: datetime | None = None
    revoked_at: datetime | None = None
    rate: float | None = None
    """Requests per second at most; None for the server's default."""
    max_body: int | None = None
    """The largest body in bytes; None for the server's default."""
    last_used_at: datetime | None = None
    """Accurate to a minute."""

    @property
    def scope(self) -> Scope:
        """The scope it is bound to; for a key of all tenants, the default tenant."""
        tenant = Scope().tenant if self.tenant == ALL_TENANTS else self.tenant
        return Scope(tenant=tenant, agent=self.agent, user=self.user, room=self.room)

    @property
    def is_bound(self) -> bool:
        """Whether it is bound to an agent, a user or a room."""
        return (self.agent, self.user, self.room) != (None, None, None)


class ApiKeys:
    """The keys of one memory, shared by every process that serves it: a revocation is effective everywhere at once."""

    def __init__(self, memory: Memory) -> None:
        engine = view_of(memory).engine
        self._kv, self._now = engine.kv, engine.now
        self._noted: dict[str, datetime] = {}
        self._lock = threading.Lock()

    def add(
        self,
        *,
        tenant: str = "default",
        agent: str | None = None,
        user: str | None = None,
        room: str | None = None,
        rights: Iterable[str] = ("read", "write"),
        name: str = "",
        expires: float | str | timedelta | datetime | None = None,
        rate: float | None = None,
        max_body: int | None = None,
    ) -> tuple[ApiKey, str]:
        """Create a key and return it with its text, which cannot be read again later."""
        if check_label(tenant, "tenant") == RESERVED:
            raise InvalidInput(f"tenant {RESERVED!r} is reserved for the server")
        for label, value in (("agent", agent), ("user", user), ("room", room)):
            if value is not None:
                check_label(value, label)
        if tenant == ALL_TENANTS and (agent, user, room) != (None, None, None):
            raise InvalidInput("a key for all tenants has no labels; name a tenant, or leave the labels out")
        if rate is not None and not 0 < rate < float("inf"):
            raise InvalidInput(f"rate must be above zero, not {rate!r}")
        if max_body is not None and max_body < 1:
            raise InvalidInput(f"max_body must be 1 or more, not {max_body!r}")
        now = self._now()
        key = ApiKey(
            id=secrets.token_hex(6),
            name=name if not name else check_label(name, "name"),
            tenant=tenant,
            agent=agent,
            user=user,
            room=room,
            rights=_check_rights(rights),
            created_at=now,
            expires_at=_parse_expiry(expires, now),
            rate=rate,
            max_body=max_body,
        )
        secret, digest = _secret()
        self._set(key, [digest], expected=0)
        return key, _format_key(key.id, secret)

    def list(self) -> list[ApiKey]:
        """Return all keys, including revoked and expired ones, oldest first."""
        kv, now = self._kv, self._now()
        used = {entry.key: json.loads(entry.value) for entry in kv.entries(RESERVED, _LAST_USED, now)}
        keys = [_key_from_json(json.loads(entry.value)) for entry in kv.entries(RESERVED, _SPACE, now)]
        listed = [
            replace(key, last_used_at=to_utc(used[key.id], "last use")) if key.id in used else key for key in keys
        ]
        return sorted(listed, key=lambda key: (key.created_at, key.id))

    def any(self) -> bool:
        """Whether a key was ever created: from the first on, every request needs one."""
        return bool(self._kv.keys(RESERVED, _SPACE, "*", self._now()))

    def revoke(self, id: str) -> ApiKey:
        """Revoke a key at once, for good."""

        def change(key: ApiKey, digests: Digests, now: datetime) -> tuple[ApiKey, Digests]:
            return replace(key, revoked_at=key.revoked_at or now), digests

        return self._change(id, change)

    def rotate(self, id: str, *, grace: float | str | timedelta | None = None) -> tuple[ApiKey, str]:
        """Replace a key's secret; the old one expires now, or after `grace`."""
        secret, digest = _secret()

        def change(key: ApiKey, digests: Digests, now: datetime) -> tuple[ApiKey, Digests]:
            if key.revoked_at is not None:
                raise InvalidInput(f"key {id!r} is revoked; add another")
            if grace is None:
                return key, [digest]
            until = (now + timedelta(seconds=to_seconds(grace, "grace"))).isoformat()
            expiring = [{**digest, "until": min(digest["until"] or until, until)} for digest in digests]
            return key, [digest, *expiring]

        return self._change(id, change), _format_key(id, secret)

    def check(self, text: str) -> ApiKey:
        """Return the key of a text; raises `Unauthorised`, whose message reveals nothing about unknown keys."""
        return self.check_with_proof(text)[0]

    def check_with_proof(self, text: str) -> tuple[ApiKey, str]:
        """Check a key's text, and return the key with the proof by which `recheck` accepts it later without the text."""
        prefix, _, rest = text.partition("_")
        id, _, secret = rest.partition("_")
        key = None
        if prefix == _PREFIX and _is_id(id):
            key = self._kv.get(RESERVED, _SPACE, id, self._now())
        stored: dict[str, Any] = {"digests": [_DUMMY]} if key is None else json.loads(key.value)
        now = self._now()
        # All are compared, and a dummy for unknown keys too: the time it takes reveals nothing.
        fits = [
            hmac.compare_digest(_digest(secret, bytes.fromhex(digest["salt"])), digest["digest"])
            and _is_live(digest, now)
            for digest in stored["digests"]
        ]
        if key is None or True not in fits:
            raise Unauthorised("unknown key; `rememo keys list` shows the keys of this server")
        return self._require_valid(stored, now), stored["digests"][fits.index(True)]["digest"]

    def recheck(self, id: str, proof: str) -> ApiKey:
        """Return the present state of a key that was checked before; raises `Unauthorised` when it or its secret has ended."""
        now = self._now()
        entry = self._kv.get(RESERVED, _SPACE, id, now)
        stored: dict[str, Any] = {"digests": []} if entry is None else json.loads(entry.value)
        if not any(
            hmac.compare_digest(digest["digest"], proof) and _is_live(digest, now) for digest in stored["digests"]
        ):
            raise Unauthorised(f"key {id} was rotated or removed; log in again")
        return self._require_valid(stored, now)

    # ---- inside

    def _require_valid(self, stored: dict[str, Any], now: datetime) -> ApiKey:
        key = _key_from_json(stored)
        if key.revoked_at is not None:
            raise Unauthorised(f"key {key.id} was revoked; ask for a new one")
        if key.expires_at is not None and now >= key.expires_at:
            raise Unauthorised(f"key {key.id} has expired; ask for a new one")
        self._note_use(key.id, now)
        return key

    def _note_use(self, id: str, now: datetime) -> None:
        with self._lock:
            last = self._noted.get(id)
            if last is not None and abs((now - last).total_seconds()) < _USE_SECONDS:
                return
            self._noted[id] = now
        self._kv.set(RESERVED, _LAST_USED, id, dump_json(now.isoformat()), now)

    def _change(self, id: str, change: "Callable[[ApiKey, Digests, datetime], tuple[ApiKey, Digests]]") -> ApiKey:
        for _ in range(_MOST_TRIES):
            entry = self._kv.get(RESERVED, _SPACE, check_label(id, "id"), self._now())
            if entry is None:
                raise NotFound(f"there is no key {id!r}; `rememo keys list` shows them")
            stored = json.loads(entry.value)
            key, digests = change(_key_from_json(stored), stored["digests"], self._now())
            if self._set(key, digests, expected=entry.version):
                return key
        raise InvalidInput(f"conflict: key {id!r} is being changed concurrently; try again")

    def _set(self, key: ApiKey, digests: "Digests", *, expected: int) -> bool:
        value: dict[str, Any] = {**asdict(key), "digests": digests, "rights": list(key.rights)}
        del value["last_used_at"]
        for name in ("created_at", "expires_at", "revoked_at"):
            value[name] = None if value[name] is None else value[name].isoformat()
        now = self._now()
        return self._kv.set(RESERVED, _SPACE, key.id, dump_json(value), now, expected=expected) is not None


Digests = list[dict[str, Any]]


def _secret() -> tuple[str, dict[str, Any]]:
    secret, salt = secrets.token_hex(32), secrets.token_bytes(16)
    return secret, {"salt": salt.hex(), "digest": _digest(secret, salt), "until": None}


def _digest(secret: str, salt: bytes) -> str:
    return hashlib.blake2b(secret.encode(errors="replace"), key=salt, digest_size=32).hexdigest()


def _is_id(text: str) -> bool:
    return text.isascii() and text.isalnum() and len(text) <= 32  # noqa: PLR2004 - longer than any


def _is_live(digest: dict[str, Any], now: datetime) -> bool:
    return digest["until"] is None or now < to_utc(digest["until"], "until")


def _format_key(id: str, secret: str) -> str:
    return f"{_PREFIX}_{id}_{secret}"


def _key_from_json(stored: dict[str, Any]) -> ApiKey:
    values = {name: value for name, value in stored.items() if name != "digests"}
    for name in ("created_at", "expires_at", "revoked_at"):
        values[name] = None if values[name] is None else to_utc(values[name], name)
    values["rights"] = tuple(values["rights"])
    return ApiKey(**values)


def _check_rights(rights: Iterable[str]) -> tuple[Right, ...]:
    requested = {rights} if isinstance(rights, str) else set(rights)
    if unknown := requested - set(RIGHTS):
        raise InvalidInput(f"there is no right {min(unknown)!r}; the rights are {', '.join(RIGHTS)}")
    if not requested:
        raise InvalidInput(f"a key needs a right: {', '.join(RIGHTS)}")
    return cast("tuple[Right, ...]", tuple(right for right in RIGHTS if right in requested))


def _parse_expiry(expires: float | str | timedelta | datetime | None, now: datetime) -> datetime | None:
    if expires is None:
        return None
    end = to_utc(expires, "expires") if isinstance(expires, datetime) else None
    end = end or now + timedelta(seconds=to_seconds(expires, "expires"))
    if end <= now:
        raise InvalidInput("expires lies in the past; say how long from now, such as '90d'")
    return end
