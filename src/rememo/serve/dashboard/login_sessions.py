"""Login sessions of the dashboard: created with a key, valid for half a day and as long as the key.

A session is stored on the server under the digest of its token; the browser has the token in a cookie that scripts cannot
read and other sites cannot send. The key is checked again at each request, so that revoking or rotating it ends the session
at once, in every process.
"""

import hashlib
import json
import secrets
from dataclasses import dataclass
from typing import Final

from rememo.engine.view import view_of
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
    """A logged-in session."""

    key: ApiKey
    csrf: str
    """The CSRF token that every change must carry."""


class LoginSessions:
    """The sessions of one memory."""

    def __init__(self, memory: Memory, keys: ApiKeys) -> None:
        engine = view_of(memory).engine
        self._kv, self._now = engine.kv, engine.now
        self._keys = keys

    def begin(self, text: str) -> str:
        """Log in with a key and return the session's token; raises `Unauthorised`."""
        key, proof = self._keys.check_with_proof(text)
        token = secrets.token_urlsafe(32)
        value = dump_json({"key": key.id, "proof": proof, "csrf": secrets.token_urlsafe(32)})
        self._kv.set(RESERVED, SPACE, _digest(token), value, self._now(), ttl=SECONDS)
        return token

    def find(self, token: str) -> LoginSession:
        """Return the session of a token; raises `Unauthorised` when it or its key has expired."""
        session = None
        if token and len(token) <= _LONGEST:
            session = self._kv.get(RESERVED, SPACE, _digest(token), self._now())
        if session is None:
            raise Unauthorised("the session has ended; log in with a key")
        value = json.loads(session.value)
        return LoginSession(key=self._keys.recheck(value["key"], value["proof"]), csrf=value["csrf"])

    def end(self, token: str) -> None:
        """Log out."""
        self._kv.delete(RESERVED, SPACE, _digest(token), self._now())


def _digest(token: str) -> str:
    return hashlib.blake2b(token.encode(errors="replace"), digest_size=32).hexdigest()
