"""How the contents of one file are kept."""

from rememo.store.contents import Contents, Kept
from rememo.store.seal import Seal
from rememo.store.sqlite.database import Database


class Safe:
    """How the contents of a file are kept: for each tenant by its keys, where the file is sealed."""

    def __init__(self, database: Database, *, seal: Seal | None, compress_above: int) -> None:
        self.seal = seal
        self._above = compress_above
        self._plain = Contents("", None, compress_above)
        self._last: tuple[tuple[str, str, int, str, Kept] | None, str] = (None, "")
        # So that conditions on contents can be asked in SQL, whatever they are kept as.
        database.define("opened", self._opened)

    def contents(self, tenant: str) -> Contents:
        """Return how a tenant's contents are kept now; dropped keys raise `KeyMismatch`."""
        return self._plain if self.seal is None else Contents(tenant, self.seal.keys(tenant), self._above)

    def readable(self, tenant: str) -> Contents | None:
        """Return how a tenant's contents are kept, or None when nobody can read them any more."""
        return None if self.lost(tenant) else self.contents(tenant)

    def provide(self, *tenants: str) -> None:
        """See to it that tenants have keys, before something of theirs is written; not inside a write."""
        if self.seal is not None:
            for tenant in tenants:
                self.seal.provide(tenant)

    def lost(self, tenant: str) -> bool:
        """Say whether a tenant's contents cannot be read any more, because its keys were dropped."""
        return self.seal is not None and self.seal.dropped(tenant)

    def _opened(self, tenant: str, id: str, version: int, field: str, kept: Kept) -> str:
        # A condition asks for the same content twice or thrice.
        asked = (tenant, id, version, field, kept)
        known, text = self._last
        if known != asked:
            seal = self.seal
            contents = self._plain if seal is None else Contents(tenant, seal.known(tenant), self._above)
            text = contents.get(kept, field, id, version)
            self._last = (asked, text)
        return text
