"""How the contents of a store on a server are kept.

Texts that are compressed or sealed stand as bytes in a column of their own. Whatever else is sealed stands as base64 where
it would stand readable. What is not sealed but a text is never compressed here: conditions on it are asked on the server,
which packs long values itself.
"""

from base64 import b64decode, b64encode
from collections.abc import Callable
from typing import TypeVar

from rememo.errors import Busy, Corrupt, KeyMismatch
from rememo.store import safe
from rememo.store.contents import EMPTY, Contents, Kept
from rememo.store.postgres.database import Database
from rememo.store.postgres.session import Session
from rememo.store.seal import SEALED_SINCE, Seal

T = TypeVar("T")

_TRIES = 10
# Writers of the tenant's records are not held up by it, only whoever changes its keys.
_HOLD = "SELECT sealed_by FROM tenants WHERE tenant = %s FOR KEY SHARE"


class ServerContents(Contents):
    """How the contents of one tenant are kept on a server."""

    __slots__ = ()

    def put(self, text: str, field: str, id: str, version: int) -> str:
        """Return a content as it is to be stored."""
        return text if not self.sealed else _to_text(super().put(text, field, id, version))

    def get(self, kept: Kept, field: str, id: str, version: int) -> str:
        """Return the content of what was stored; what is not what was written raises `Corrupt`."""
        if self.sealed and isinstance(kept, str) and kept != EMPTY:
            kept = _to_bytes(kept, f"the {field} of {id}")
        return super().get(kept, field, id, version)

    def put_optional(self, text: str | None, field: str, id: str, version: int) -> str | None:
        """Return a content that may be missing as it is to be stored."""
        return None if text is None else self.put(text, field, id, version)

    def put_text(self, text: str, id: str, version: int) -> tuple[str, bytes | None]:
        """Return a text as it is to be stored: readable, or packed."""
        kept = super().put(text, "text", id, version)
        return (kept, None) if isinstance(kept, str) else ("", kept)

    def get_text(self, text: str, packed: bytes | None, id: str, version: int) -> str:
        """Return the text of what was stored."""
        return super().get(text if packed is None else packed, "text", id, version)

    def names(self, name: str) -> tuple[str, ...]:
        """Return every form that a name may be stored in, that of the newest key first."""
        return tuple(_to_text(one) for one in super().names(name))

    def put_name(self, name: str | None) -> str | None:
        """Return a name as it is to be stored."""
        return None if name is None else _to_text(super().put_name(name) or name)

    def get_name(self, kept: Kept | None) -> str | None:
        """Return a name that was stored."""
        if self.sealed and isinstance(kept, str):
            kept = _to_bytes(kept, "a name")
        return super().get_name(kept)


class KeysMoved(Exception):
    """A tenant has another key by now than the one that was seen last."""


class ServerSafe(safe.Safe[ServerContents]):
    """How the contents of a store on a server are kept."""

    def __init__(self, *, seal: Seal | None, compress_above: int) -> None:
        super().__init__(ServerContents, seal=seal, compress_above=compress_above)

    def in_step(self, tenant: str, serial: int) -> ServerContents:
        """Return how a tenant's contents are kept, if its newest key is known here; else `KeysMoved` is raised.

        `serial` is that of the tenant's row, which whoever changes the keys takes before.
        """
        contents = self.known(tenant)
        if contents.serial != serial:
            raise KeysMoved(tenant) if self.seal is not None else KeyMismatch(SEALED_SINCE)
        return contents

    def held(self, session: Session, tenant: str) -> ServerContents:
        """Return how a tenant's contents are kept; nobody changes its keys until the transaction ends."""
        return self._plain if self.seal is None else self.in_step(tenant, session.value(_HOLD, (tenant,)) or 0)

    def write(
        self,
        database: Database,
        run: Callable[[Session], T],
        *tenants: str,
        repeatable: bool = False,
        done: Callable[[Session], T | None] | None = None,
        lost: bool = False,
    ) -> T:
        """Run a function that seals contents of tenants inside a transaction, as `Database.write`, by keys that are in step."""
        self.provide(*tenants)
        for tenant in tenants:
            self.known(tenant)  # read before a connection is taken: inside, another would be needed for it
        for _ in range(_TRIES):
            try:
                return database.write(run, repeatable=repeatable, done=done, lost=lost)
            except KeysMoved:
                # A try before this one may have been lost in its commit.
                lost = done is not None
                for tenant in tenants:
                    self.contents(tenant)
        raise Busy("the keys of this tenant are changed all the time; try again")


def _to_text(kept: Kept) -> str:
    return kept if isinstance(kept, str) else b64encode(kept).decode()


def _to_bytes(text: str, what: str) -> bytes:
    try:
        return b64decode(text, validate=True)
    except ValueError:
        raise Corrupt(f"{what} is not sealed, though this store is: it was put there by others") from None
