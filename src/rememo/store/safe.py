"""How the contents of a store are kept: for each tenant by its keys, where the store is sealed."""

from collections.abc import Callable
from typing import Generic, TypeVar

from rememo.store.contents import Contents, Kept
from rememo.store.seal import Keys, Seal

_MOST_HELD = 100_000
_LONGEST_HELD = 256

C = TypeVar("C", bound=Contents)


class Safe(Generic[C]):
    """Gives the contents of tenants as a store keeps them, by what makes them."""

    def __init__(self, make: Callable[[str, Keys | None, int], C], *, seal: Seal | None, compress_above: int) -> None:
        self.seal = seal
        self._make = make
        self._above = compress_above
        self._plain = make("", None, compress_above)
        self._texts: dict[Kept, tuple[tuple[str, str, int, str], str]] = {}

    def contents(self, tenant: str) -> C:
        """Return how a tenant's contents are kept now; dropped keys raise `KeyMismatch`."""
        return self._plain if self.seal is None else self._make(tenant, self.seal.keys(tenant), self._above)

    def known(self, tenant: str) -> C:
        """Return how a tenant's contents are kept by the keys that were seen last."""
        return self._plain if self.seal is None else self._make(tenant, self.seal.known(tenant), self._above)

    def readable(self, tenant: str) -> C | None:
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

    def opened(self, tenant: str, id: str, version: int, field: str, kept: Kept) -> str:
        """Return a content for a condition; filters ask for the same ones again and again, so they are held ready."""
        asked = (tenant, id, version, field)
        held = self._texts.get(kept)
        if held is not None and held[0] == asked:
            return held[1]
        text = self.known(tenant).get(kept, field, id, version)
        if len(text) <= _LONGEST_HELD:
            if len(self._texts) >= _MOST_HELD:
                self._texts.clear()
            self._texts[kept] = (asked, text)
        return text
