"""Sessions of the dashboard: who logged in by a key, until the key or half a day ends.

A session is kept on the server under the digest of its token; the browser holds the token in a cookie that scripts cannot
read and that no other site can send. It stands for the key as the key is at each request, so that revoking or replacing
the key ends it at once, in every process.
"""

import hashlib
import json
import secrets
from dataclasses import dataclass
from typing import Final

from rememo.engine.engine import Engine
from rememo.errors import Unauthorised
from rememo.memory import Memory
from rememo.model.check import dump_json
from rememo.serve.auth import RESERVED, ApiKey, ApiKeys
from rememo.serve.dashboard.flash import SPACE

COOKIE: Final = "rememo_session"
SECONDS: Final = 12 * 3_600
_LONGEST: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class LoginSession:
    """Somebody who is logged in."""

    key: ApiKey
    csrf: str
    """What every change must be sent with: only the dashboard's own pages know it."""


class LoginSessions:
    """The sessions of one memory."""

    def __init__(self, memory: Memory, keys: ApiKeys) -> None:
        self._engine: Engine = memory._engine  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - the same package
        self._keys = keys

    def begin(self, text: str) -> str:
        """Log in by a key and return the session's token; raises `Unauthorised`."""
        key, proof = self._keys.check_with_proof(text)
        token = secrets.token_urlsafe(32)
        value = dump_json({"key": key.id, "proof": proof, "csrf": secrets.token_urlsafe(32)})
        self._engine.kv.set(RESERVED, SPACE, _digest(token), value, self._engine.now(), ttl=SECONDS)
        return token

    def find(self, token: str) -> LoginSession:
        """Return the session of a token; raises `Unauthorised` when it, or its key, has ended."""
        held = None
        if token and len(token) <= _LONGEST:
            held = self._engine.kv.get(RESERVED, SPACE, _digest(token), self._engine.now())
        if held is None:
            raise Unauthorised("log in with a key; what you had is over")
        value = json.loads(held.value)
        return LoginSession(key=self._keys.recheck(value["key"], value["proof"]), csrf=value["csrf"])

    def end(self, token: str) -> None:
        """Log out."""
        self._engine.kv.delete(RESERVED, SPACE, _digest(token), self._engine.now())


def _digest(token: str) -> str:
    return hashlib.blake2b(token.encode(errors="replace"), digest_size=32).hexdigest()
