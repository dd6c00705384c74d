"""The codecs of one file."""

from collections.abc import Callable
from typing import TypeVar

from rememo.errors import KeyMismatch
from rememo.store.cipher.codec import FieldCodec
from rememo.store.cipher.protocol import ENCRYPTED_SINCE, StoreCipher
from rememo.store.sql.codecs import SqlCodecs
from rememo.store.sqlite.connection import Connection
from rememo.store.sqlite.database import SqliteDatabase
from rememo.store.sqlite.filter_sql import DIALECT

T = TypeVar("T")


class SqliteCodecs(SqlCodecs[FieldCodec]):
    """The codecs of a file, known to its SQL conditions too."""

    def __init__(self, database: SqliteDatabase, *, cipher: StoreCipher | None, compress_above: int) -> None:
        super().__init__(FieldCodec, cipher=cipher, compress_above=compress_above)
        # So that conditions on fields can be asked in SQL, however they are stored.
        database.define("opened", self.decode_cached)
        if cipher is None and not database.in_memory:
            database.before_writes(_refuse_if_encrypted)

    def write(
        self, database: SqliteDatabase, run: Callable[[Connection], T], *tenants: str, repeatable: bool = False
    ) -> T:
        """Run a function that encrypts data of tenants inside a transaction."""
        self.ensure_keys(*tenants)
        return database.write(run, repeatable=repeatable)

    def locked(self, session: Connection, tenant: str) -> FieldCodec:  # noqa: ARG002 - the transaction holds the whole file
        """Return a tenant's codec inside a transaction; no other connection writes meanwhile."""
        return self.get(tenant)

    def bump_epoch(self, session: Connection, tenant: str) -> FieldCodec:
        """Let cached scopes of a tenant start over, and return its codec."""
        session.execute(DIALECT.bump_epoch, (tenant,))
        return self.get(tenant)


def _refuse_if_encrypted(connection: Connection) -> None:
    """Write no plaintext into a file that another process has begun to encrypt since it was opened here."""
    if connection.execute("SELECT EXISTS (SELECT 1 FROM vault)").get:
        raise KeyMismatch(ENCRYPTED_SINCE)
