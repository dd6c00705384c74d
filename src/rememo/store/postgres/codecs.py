"""The codecs of a store on a server.

Texts that are compressed or encrypted are stored as bytes in a column of their own. Whatever else is encrypted is stored as
base64 in its own column. A plaintext field other than the text is never compressed here: conditions on it are asked on the
server, which packs long values itself.
"""

from base64 import b64decode, b64encode
from collections.abc import Callable, Sequence
from typing import TypeVar

from rememo.errors import Busy, Corrupt, KeyMismatch
from rememo.store.cipher.codec import EMPTY, Encoded, FieldCodec
from rememo.store.cipher.protocol import ENCRYPTED_SINCE, StoreCipher
from rememo.store.postgres.database import PostgresDatabase
from rememo.store.postgres.session import PostgresSession
from rememo.store.sql.codecs import SqlCodecs

T = TypeVar("T")

_TRIES = 10
# Writers of the tenant's records are not held up by it, only whoever changes its keys.
_LOCK_KEYS = "SELECT sealed_by FROM tenants WHERE tenant = %s FOR KEY SHARE"

_BUMP_EPOCH = "UPDATE tenants SET epoch = epoch + 1 WHERE tenant = %s RETURNING sealed_by"


class PostgresCodec(FieldCodec):
    """Encodes and decodes the fields of one tenant on a server."""

    __slots__ = ()

    def encode(self, text: str, field: str, id: str, version: int) -> str:
        """Return a field as it is to be stored."""
        return text if not self.encrypted else _to_text(super().encode(text, field, id, version))

    def decode(self, encoded: Encoded, field: str, id: str, version: int) -> str:
        """Return the text of a stored field; what is not what was written raises `Corrupt`."""
        if self.encrypted and isinstance(encoded, str) and encoded != EMPTY:
            encoded = _to_bytes(encoded, f"the {field} of {id}")
        return super().decode(encoded, field, id, version)

    def encode_optional(self, text: str | None, field: str, id: str, version: int) -> str | None:
        """Return a field that may be missing as it is to be stored."""
        return None if text is None else self.encode(text, field, id, version)

    def encode_text(self, text: str, id: str, version: int) -> tuple[str, bytes | None]:
        """Return a record's text as it is to be stored: as text, or packed as bytes."""
        encoded = super().encode(text, "text", id, version)
        return (encoded, None) if isinstance(encoded, str) else ("", encoded)

    def decode_text(self, text: str, packed: bytes | None, id: str, version: int) -> str:
        """Return a record's text from what was stored."""
        return super().decode(text if packed is None else packed, "text", id, version)

    def encode_text_columns(self, text: str, id: str, version: int) -> tuple[Encoded | None, ...]:
        """Return a record's text as the columns `text` and `packed` hold it."""
        return self.encode_text(text, id, version)

    def decode_text_columns(self, stored: Sequence[Encoded | None], id: str, version: int) -> str:
        """Return a record's text from the columns `text` and `packed`."""
        text, packed = stored
        return super().decode((text or "") if packed is None else packed, "text", id, version)

    def name_forms(self, name: str) -> tuple[str, ...]:
        """Return every form that a name may be stored in, that of the newest key first."""
        return tuple(_to_text(form) for form in super().name_forms(name))

    def encode_name(self, name: str | None) -> str | None:
        """Return a name as it is to be stored."""
        return None if name is None else _to_text(super().encode_name(name) or name)

    def decode_name(self, encoded: Encoded | None) -> str | None:
        """Return a name that was stored."""
        if self.encrypted and isinstance(encoded, str):
            encoded = _to_bytes(encoded, "a name")
        return super().decode_name(encoded)


class KeyRotated(Exception):
    """A tenant has another key by now than the one that this process read last."""


class PostgresCodecs(SqlCodecs[PostgresCodec]):
    """The codecs of a store on a server."""

    def __init__(self, *, cipher: StoreCipher | None, compress_above: int) -> None:
        super().__init__(PostgresCodec, cipher=cipher, compress_above=compress_above)

    def at_serial(self, tenant: str, serial: int) -> PostgresCodec:
        """Return a tenant's codec if its newest key is known here; else raise `KeyRotated`.

        `serial` is that of the tenant's row, which whoever changes the keys locks first.
        """
        codec = self.cached(tenant)
        if codec.serial != serial:
            raise KeyRotated(tenant) if self.cipher is not None else KeyMismatch(ENCRYPTED_SINCE)
        return codec

    def locked(self, session: PostgresSession, tenant: str) -> PostgresCodec:
        """Return a tenant's codec; its keys do not change until the transaction ends."""
        if self.cipher is None:
            return self._plain
        return self.at_serial(tenant, session.value(_LOCK_KEYS, (tenant,)) or 0)

    def bump_epoch(self, session: PostgresSession, tenant: str) -> PostgresCodec:
        """Let cached scopes of a tenant start over, and return its codec; its row is locked until the transaction ends."""
        return self.at_serial(tenant, session.value(_BUMP_EPOCH, (tenant,)) or 0)

    def write(
        self,
        database: PostgresDatabase,
        run: Callable[[PostgresSession], T],
        *tenants: str,
        repeatable: bool = False,
        done: Callable[[PostgresSession], T | None] | None = None,
        lost: bool = False,
    ) -> T:
        """Run a function that encrypts data of tenants inside a transaction, as `PostgresDatabase.write`, with their newest keys."""
        self.ensure_keys(*tenants)
        for tenant in tenants:
            self.cached(tenant)  # read before a connection is taken: inside, another would be needed for it
        for _ in range(_TRIES):
            try:
                return database.write(run, repeatable=repeatable, done=done, lost=lost)
            except KeyRotated:
                # A try before this one may have been lost in its commit.
                lost = done is not None
                for tenant in tenants:
                    self.get(tenant)
        raise Busy("the keys of this tenant are changed all the time; try again")


def _to_text(encoded: Encoded) -> str:
    return encoded if isinstance(encoded, str) else b64encode(encoded).decode()


def _to_bytes(text: str, what: str) -> bytes:
    try:
        return b64decode(text, validate=True)
    except ValueError:
        raise Corrupt(f"{what} is not encrypted, though this store is: it was put there by others") from None
