"""The codecs of one file."""

from rememo.errors import KeyMismatch
from rememo.store.cipher.codec import FieldCodec
from rememo.store.cipher.codecs import FieldCodecs
from rememo.store.cipher.protocol import ENCRYPTED_SINCE, StoreCipher
from rememo.store.sqlite.connection import Connection
from rememo.store.sqlite.database import SqliteDatabase


class SqliteCodecs(FieldCodecs[FieldCodec]):
    """The codecs of a file, known to its SQL conditions too."""

    def __init__(self, database: SqliteDatabase, *, cipher: StoreCipher | None, compress_above: int) -> None:
        super().__init__(FieldCodec, cipher=cipher, compress_above=compress_above)
        # So that conditions on fields can be asked in SQL, however they are stored.
        database.define("opened", self.decode_cached)
        if cipher is None and not database.in_memory:
            database.before_writes(_refuse_if_encrypted)


def _refuse_if_encrypted(connection: Connection) -> None:
    """Write no plaintext into a file that another process has begun to encrypt since it was opened here."""
    if connection.execute("SELECT EXISTS (SELECT 1 FROM vault)").get:
        raise KeyMismatch(ENCRYPTED_SINCE)
