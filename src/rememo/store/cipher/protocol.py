"""The interface between a store and its encryption: ciphers of tenants, and the key store for their wrapped data keys.

A store knows no algorithm. It asks for the cipher of a tenant, has it encrypt each field with the identity of what the field
belongs to, and keeps the tenant's wrapped data keys. Without a `StoreCipher` everything is stored as plaintext.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple, Protocol

from rememo.errors import KeyMismatch
from rememo.model.derived_ids import IdCipher

ID_KEY: Final = 0
"""The serial of the key that a tenant's ids are derived by: wrapped, dropped and copied as the others, never replaced."""
CIPHER_OVERHEAD = 31
"""How many bytes longer than its plaintext a ciphertext is: the serial of its key, a nonce and a tag."""


class WrappedKey(NamedTuple):
    """A data key as the key store holds it."""

    serial: int
    """1, 2, 3 … within a tenant; the highest encrypts new data. `ID_KEY` is the key that ids are derived by."""
    master: str
    """The id of the master key that wraps it."""
    key: bytes
    """The wrapped key; empty for one that was dropped."""


class KeyStore(Protocol):
    """The wrapped keys of a store. The tenant "" stands for the store itself: its key tells which master key the store belongs to."""

    @property
    def place(self) -> str:
        """Where the store is, for messages."""
        ...

    @property
    def encrypted(self) -> bool:
        """Whether the store holds encrypted data only."""
        ...

    def keys(self, tenant: str) -> tuple[WrappedKey, ...]:
        """Return a tenant's keys as committed last, oldest first."""
        ...

    def tenants(self) -> list[str]:
        """Return the tenants that have a key, or had one."""
        ...

    def create(self, key: WrappedKey) -> tuple[WrappedKey, ...]:
        """Make an empty store an encrypted one and return its own key, which another process may have added first.

        A store that holds plaintext raises `KeyMismatch`.
        """
        ...

    def add(self, tenant: str, key: WrappedKey) -> bool:
        """Add a key of a tenant; False when its serial is taken: read again then."""
        ...

    def replace(self, keys: Sequence[tuple[str, WrappedKey]]) -> None:
        """Replace the wrappings of keys with the same serials, all or none; the old ones leave no trace."""
        ...

    def remove(self, tenant: str, serial: int) -> None:
        """Remove a key that nothing is encrypted with any more, without a trace."""
        ...

    def drop(self, tenant: str) -> bool:
        """Remove all keys of a tenant without a trace, and remember that it had some; False when it had none."""
        ...


class TenantCipher(Protocol):
    """Encrypts and decrypts what belongs to one tenant, by the data keys it has now."""

    @property
    def serial(self) -> int:
        """The serial of the key that encrypts new data; 0 for none."""
        ...

    def encrypt(self, plaintext: bytes, identity: bytes) -> bytes:
        """Encrypt a plaintext; it can be decrypted with the same identity only."""
        ...

    def decrypt(self, ciphertext: bytes, identity: bytes) -> bytes:
        """Decrypt a ciphertext; one that was changed or moved raises `Corrupt`."""
        ...

    def encrypt_vector(self, vector: bytes, place: int) -> bytes:
        """Encrypt a vector for one place."""
        ...

    def decrypt_vectors(self, places: Sequence[int], ciphertexts: Sequence[bytes | None]) -> list[bytes | None]:
        """Decrypt vectors; None stays None."""
        ...

    def name_forms(self, name: str) -> tuple[bytes, ...]:
        """Return every form that a name may be stored in, that of the newest key first: equal names have equal forms."""
        ...

    def decrypt_name(self, ciphertext: bytes) -> str:
        """Return the name that a form stands for."""
        ...

    def blind_indexes(self, term: str) -> tuple[str, ...]:
        """Return every keyed hash that a term of a text may be indexed by, that of the newest key first."""
        ...

    def blind_fingerprint(self, fingerprint: int) -> int:
        """Return a number that is equal for equal fingerprints and tells nothing else; 0 stays 0."""
        ...


class StoreCipher(Protocol):
    """The encryption of a store: the ciphers of its tenants and their keys."""

    def tenant_cipher(self, tenant: str) -> TenantCipher:
        """Return a tenant's cipher with the keys it has now; dropped ones raise `KeyMismatch`. Without keys there is nothing to decrypt."""
        ...

    def cached_tenant_cipher(self, tenant: str) -> TenantCipher:
        """Return a tenant's cipher with the keys that this process read last."""
        ...

    def ensure_key(self, tenant: str) -> None:
        """Make a tenant's first key if it has none, before something of it is written. Not inside a write."""
        ...

    def id_cipher(self, tenant: str) -> IdCipher:
        """Return what derives a tenant's ids; its key is made when it is first needed. Not inside a write."""
        ...

    def adopt_id_key(self, tenant: str, key: bytes) -> IdCipher:
        """Derive a tenant's ids as another store does, and return the cipher of that key; one that has a key keeps its own."""
        ...

    def id_key(self, tenant: str) -> bytes:
        """Return the key that a tenant's ids are derived by, for an encrypted export."""
        ...

    def is_dropped(self, tenant: str) -> bool:
        """Return whether a tenant's keys were dropped."""
        ...

    def rewrap(self) -> int:
        """Wrap every key by the current master key, all or none; returns how many were wrapped by another."""
        ...

    def add_key(self, tenant: str) -> int:
        """Give a tenant another data key, which encrypts new data from now on; return its serial."""
        ...

    def newest_serial(self, tenant: str) -> int:
        """Return the serial of the key that encrypts new data, 0 for none."""
        ...

    def remove_keys_before(self, tenant: str, serial: int) -> None:
        """Remove the keys of a tenant before a serial; nothing may be encrypted with them any more."""
        ...

    def drop_keys(self, tenant: str) -> bool:
        """Remove all keys of a tenant for ever; False when it had none."""
        ...


ENCRYPTED_SINCE: Final = (
    "this store was empty when it was opened without a keyring, and another process has encrypted it since; nothing was"
    " changed: open it again with that keyring"
)
"""The error of a writer that would store plaintext among encrypted data."""


class Reencryption(Protocol):
    """Key rotation of a store that is in use."""

    @property
    def cipher(self) -> StoreCipher:
        """The encryption of the store."""
        ...

    def tenants(self) -> list[str]:
        """Return the tenants whose data can be decrypted."""
        ...

    def reencrypt(self, tenant: str) -> int:
        """Encrypt everything of a tenant with its newest key, in short steps, and remove the older keys; return how many versions.

        Others read and write meanwhile. What was interrupted is begun again.
        """
        ...


class MasterKeys(Protocol):
    """Master keys, which wrap the keys of tenants."""

    def wrap(self, key: bytes, tenant: str, serial: int) -> WrappedKey:
        """Return a key wrapped by the current master key, for one place."""
        ...

    def unwrap(self, wrapped: WrappedKey, tenant: str, where: str) -> bytes:
        """Return a wrapped key; one wrapped by a master key that is not here raises `KeyMismatch`."""
        ...

    def open_store(self, key_store: KeyStore) -> StoreCipher:
        """Return the encryption of a store; one that is encrypted with another key, or not at all, raises `KeyMismatch`."""
        ...


def open_cipher(key_store: KeyStore, master_keys: MasterKeys | None) -> StoreCipher | None:
    """Return the encryption of a store, None for a plaintext one; keys that do not fit raise `KeyMismatch`."""
    if master_keys is not None:
        return master_keys.open_store(key_store)
    if key_store.encrypted:
        raise KeyMismatch(
            f"{key_store.place} is encrypted with the master key {key_store.keys('')[-1].master};"
            " open it with Memory(…, encryption=Keyring(key)), or with REMEMO_MASTER_KEY set on the command line"
        )
    return None
