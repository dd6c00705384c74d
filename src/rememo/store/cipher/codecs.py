"""The codecs of a store: for each tenant one with the keys it has."""

from collections.abc import Callable
from typing import Generic, TypeVar

from rememo.store.cipher.codec import Encoded, FieldCodec
from rememo.store.cipher.protocol import StoreCipher, TenantCipher

_MAX_CACHED = 100_000
_LONGEST_CACHED = 256

C = TypeVar("C", bound=FieldCodec)


class FieldCodecs(Generic[C]):
    """Gives the codecs of tenants, of the kind that the store needs."""

    def __init__(
        self, make: Callable[[str, TenantCipher | None, int], C], *, cipher: StoreCipher | None, compress_above: int
    ) -> None:
        self.cipher = cipher
        self._make = make
        self._above = compress_above
        self._plain = make("", None, compress_above)
        self._texts: dict[Encoded, tuple[tuple[str, str, int, str], str]] = {}

    def get(self, tenant: str) -> C:
        """Return a tenant's codec with the keys it has now; dropped keys raise `KeyMismatch`."""
        return (
            self._plain if self.cipher is None else self._make(tenant, self.cipher.tenant_cipher(tenant), self._above)
        )

    def cached(self, tenant: str) -> C:
        """Return a tenant's codec with the keys that this process read last."""
        if self.cipher is None:
            return self._plain
        return self._make(tenant, self.cipher.cached_tenant_cipher(tenant), self._above)

    def readable(self, tenant: str) -> C | None:
        """Return a tenant's codec, or None when its keys were dropped."""
        return None if self.is_unreadable(tenant) else self.get(tenant)

    def ensure_keys(self, *tenants: str) -> None:
        """Make keys for tenants that have none, before something of theirs is written; not inside a write."""
        if self.cipher is not None:
            for tenant in tenants:
                self.cipher.ensure_key(tenant)

    def is_unreadable(self, tenant: str) -> bool:
        """Return whether a tenant's keys were dropped, so that its data cannot be decrypted."""
        return self.cipher is not None and self.cipher.is_dropped(tenant)

    def decode_cached(self, tenant: str, id: str, version: int, field: str, encoded: Encoded) -> str:
        """Return a field's text for a condition; filters ask for the same fields again and again, so texts are cached."""
        place = (tenant, id, version, field)
        cached = self._texts.get(encoded)
        if cached is not None and cached[0] == place:
            return cached[1]
        text = self.cached(tenant).decode(encoded, field, id, version)
        if len(text) <= _LONGEST_CACHED:
            if len(self._texts) >= _MAX_CACHED:
                self._texts.clear()
            self._texts[encoded] = (place, text)
        return text
