"""How the contents of one file are kept."""

from rememo.store.contents import Contents, Kept
from rememo.store.seal import Seal
from rememo.store.sqlite.database import Database

_MOST_HELD = 100_000
_LONGEST_HELD = 256


class Safe:
    """How the contents of a file are kept: for each tenant by its keys, where the file is sealed."""

    def __init__(self, database: Database, *, seal: Seal | None, compress_above: int) -> None:
        self.seal = seal
        self._above = compress_above
        self._plain = Contents("", None, compress_above)
        self._texts: dict[Kept, tuple[tuple[str, str, int, str], str]] = {}
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
        """Return a content for a condition in SQL; filters ask for the same ones again and again, so they are held ready."""
        asked = (tenant, id, version, field)
        held = self._texts.get(kept)
        if held is not None and held[0] == asked:
            return held[1]
        contents = self._plain if self.seal is None else Contents(tenant, self.seal.known(tenant), self._above)
        text = contents.get(kept, field, id, version)
        if len(text) <= _LONGEST_HELD:
            if len(self._texts) >= _MOST_HELD:
                self._texts.clear()
            self._texts[kept] = (asked, text)
        return text
