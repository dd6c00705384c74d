"""How the contents of one file are kept."""

from rememo.errors import KeyMismatch
from rememo.store import safe
from rememo.store.contents import Contents
from rememo.store.seal import SEALED_SINCE, Seal
from rememo.store.sqlite.connection import Connection
from rememo.store.sqlite.database import Database


class Safe(safe.Safe[Contents]):
    """How the contents of a file are kept, known to the file's own conditions too."""

    def __init__(self, database: Database, *, seal: Seal | None, compress_above: int) -> None:
        super().__init__(Contents, seal=seal, compress_above=compress_above)
        # So that conditions on contents can be asked in SQL, whatever they are kept as.
        database.define("opened", self.opened)
        if seal is None and not database.in_memory:
            database.before_writes(_need_plain)


def _need_plain(connection: Connection) -> None:
    """Write nothing readable into a file that another process has begun to seal since it was opened here."""
    if connection.execute("SELECT EXISTS (SELECT 1 FROM vault)").get:
        raise KeyMismatch(SEALED_SINCE)
