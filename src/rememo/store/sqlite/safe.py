"""How the contents of one file are kept."""

from rememo.store import safe
from rememo.store.contents import Contents
from rememo.store.seal import Seal
from rememo.store.sqlite.database import Database


class Safe(safe.Safe[Contents]):
    """How the contents of a file are kept, known to the file's own conditions too."""

    def __init__(self, database: Database, *, seal: Seal | None, compress_above: int) -> None:
        super().__init__(Contents, seal=seal, compress_above=compress_above)
        # So that conditions on contents can be asked in SQL, whatever they are kept as.
        database.define("opened", self.opened)
