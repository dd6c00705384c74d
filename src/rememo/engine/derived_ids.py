"""The ids that an engine derives: by the key of each tenant where its store is encrypted."""

from rememo.model.derived_ids import PLAIN_IDS, DerivedId, IdCipher, derive_id, name_of
from rememo.model.derived_names import revision_name
from rememo.store.cipher.protocol import Reencryption


class DerivedIds:
    """Derives the ids of one store's tenants. Thread-safe."""

    def __init__(self, reencryption: Reencryption | None) -> None:
        self._reencryption = reencryption

    def cipher(self, tenant: str) -> IdCipher:
        """Return what turns the digests of a tenant into its ids."""
        return PLAIN_IDS if self._reencryption is None else self._reencryption.cipher.id_cipher(tenant)

    def derive(self, tenant: str, name: str) -> DerivedId:
        """Return the id of the thing that a digest names."""
        return derive_id(name, self.cipher(tenant))

    def revision(self, tenant: str, record_id: str) -> DerivedId:
        """Return the id of the record that says what became of another."""
        return self.derive(tenant, revision_name(self.name(tenant, record_id)))

    def name(self, tenant: str, id: str) -> str:
        """Return the digest that a derived id was made of; any other id as it is."""
        return name_of(id, self.cipher(tenant))
