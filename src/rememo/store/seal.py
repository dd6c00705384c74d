"""The seam between a store and encryption: who seals contents, and where the keys for it are kept.

A store knows no cipher. It asks for the keys of a tenant, hands contents over to be sealed with the identity of what they
belong to, and keeps the tenant's wrapped keys in its vault. Without a `Seal` everything is stored as it is.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple, Protocol

from rememo.errors import KeyMismatch
from rememo.model.derived_ids import IdCipher

ID_KEY: Final = 0
"""The serial of the key that a tenant's ids are derived by: wrapped, dropped and copied as the others, never replaced."""
OVERHEAD = 31
"""How many bytes longer than its content a sealed one is: the number of its key, a nonce and a tag."""


class Wrapped(NamedTuple):
    """A data key as the vault keeps it."""

    serial: int
    """1, 2, 3 … within a tenant; the highest seals what is new. `ID_KEY` is the key that ids are derived by."""
    master: str
    """The id of the master key that wraps it."""
    key: bytes
    """The wrapped key; empty for one that was dropped."""


class Vault(Protocol):
    """Where a store keeps wrapped keys. The tenant "" stands for the store itself: its key says whose store it is."""

    @property
    def place(self) -> str:
        """Where the store is, for messages."""
        ...

    @property
    def sealed(self) -> bool:
        """Whether the store holds sealed contents only."""
        ...

    def keys(self, tenant: str) -> tuple[Wrapped, ...]:
        """Return a tenant's keys as committed last, oldest first."""
        ...

    def tenants(self) -> list[str]:
        """Return the tenants that have a key, or had one."""
        ...

    def begin(self, key: Wrapped) -> tuple[Wrapped, ...]:
        """Make an empty store a sealed one and return the key of the store itself, which another may have been faster with.

        One that holds plain contents raises `KeyMismatch`.
        """
        ...

    def add(self, tenant: str, key: Wrapped) -> bool:
        """Keep another key of a tenant; False when its serial is taken: read again then."""
        ...

    def replace(self, keys: Sequence[tuple[str, Wrapped]]) -> None:
        """Put other wrappings in the place of those with the same serials, all or none; the old ones leave no trace."""
        ...

    def remove(self, tenant: str, serial: int) -> None:
        """Forget a key that nothing is sealed by any more, without a trace."""
        ...

    def drop(self, tenant: str) -> bool:
        """Forget all keys of a tenant without a trace, and that it had some; False when it had none."""
        ...


class Keys(Protocol):
    """The keys of one tenant as they are now."""

    @property
    def serial(self) -> int:
        """The serial of the key that seals what is new; 0 for none."""
        ...

    def seal(self, content: bytes, identity: bytes) -> bytes:
        """Seal a content; it opens under the same identity only."""
        ...

    def open(self, sealed: bytes, identity: bytes) -> bytes:
        """Open a content; one that was changed or moved raises `Corrupt`."""
        ...

    def seal_vector(self, vector: bytes, place: int) -> bytes:
        """Seal a vector for one place."""
        ...

    def open_vectors(self, places: Sequence[int], sealed: Sequence[bytes | None]) -> list[bytes | None]:
        """Open vectors; None stays None."""
        ...

    def names(self, name: str) -> tuple[bytes, ...]:
        """Return every form that a name may be stored in, that of the newest key first: equal names have equal forms."""
        ...

    def name(self, sealed: bytes) -> str:
        """Return the name that a form stands for."""
        ...

    def veils(self, term: str) -> tuple[str, ...]:
        """Return every hash that a term of a text may be indexed by, that of the newest key first."""
        ...

    def mark(self, fingerprint: int) -> int:
        """Return a number that is equal for equal fingerprints and tells nothing else; 0 stays 0."""
        ...


class Seal(Protocol):
    """Encryption of a store."""

    def keys(self, tenant: str) -> Keys:
        """Return a tenant's keys as they are now; dropped ones raise `KeyMismatch`. One without keys has nothing to open."""
        ...

    def known(self, tenant: str) -> Keys:
        """Return a tenant's keys as they were seen last in this process."""
        ...

    def provide(self, tenant: str) -> None:
        """See to it that a tenant has a key, before something of it is written. Not inside a write."""
        ...

    def ids(self, tenant: str) -> IdCipher:
        """Return what derives a tenant's ids; its key is made when it is first needed. Not inside a write."""
        ...

    def adopt_ids(self, tenant: str, key: bytes) -> IdCipher:
        """Derive a tenant's ids as another store does, and return the cipher of that key; one that has a key keeps its own."""
        ...

    def id_key(self, tenant: str) -> bytes:
        """Return the key that a tenant's ids are derived by, for a sealed export."""
        ...

    def dropped(self, tenant: str) -> bool:
        """Say whether a tenant's keys were dropped."""
        ...

    def rewrap(self) -> int:
        """Wrap every key by the current master key, all or none; returns how many were wrapped by another."""
        ...

    def renew(self, tenant: str) -> int:
        """Give a tenant another key, which seals what is new from now on; returns its serial."""
        ...

    def newest(self, tenant: str) -> int:
        """Return the serial of the key that seals what is new, 0 for none."""
        ...

    def retire(self, tenant: str, before: int) -> None:
        """Forget the keys of a tenant before a serial; nothing may be sealed by them any more."""
        ...

    def drop(self, tenant: str) -> bool:
        """Forget all keys of a tenant for ever; False when it had none."""
        ...


SEALED_SINCE: Final = (
    "this store was empty when it was opened without a keyring, and another process has sealed it since; nothing was"
    " changed: open it again with that keyring"
)
"""What a writer is told that would put readable contents among sealed ones."""


class Sealing(Protocol):
    """Changing the keys of a store that is in use."""

    @property
    def seal(self) -> Seal:
        """The keys."""
        ...

    def tenants(self) -> list[str]:
        """Return the tenants whose contents can be read."""
        ...

    def reseal(self, tenant: str) -> int:
        """Seal everything of a tenant by its newest key, in short steps, and forget the older ones; returns how many versions.

        Others read and write meanwhile. What was interrupted is begun again.
        """
        ...


class Encryption(Protocol):
    """Master keys, which wrap the keys of tenants."""

    def wrap(self, key: bytes, tenant: str, serial: int) -> Wrapped:
        """Return a key wrapped by the current master key, for one place."""
        ...

    def unwrap(self, wrapped: Wrapped, tenant: str, where: str) -> bytes:
        """Return a wrapped key; one wrapped by a master key that is not here raises `KeyMismatch`."""
        ...

    def over(self, vault: Vault) -> Seal:
        """Return the encryption of a store; one that is sealed by another key, or not at all, raises `KeyMismatch`."""
        ...


def open_seal(vault: Vault, encryption: Encryption | None) -> Seal | None:
    """Return the encryption of a store, None for a plain one; keys that do not fit raise `KeyMismatch`."""
    if encryption is not None:
        return encryption.over(vault)
    if vault.sealed:
        raise KeyMismatch(
            f"{vault.place} is sealed by the master key {vault.keys('')[-1].master};"
            " open it with Memory(…, encryption=Keyring(key)), or with REMEMO_MASTER_KEY set on the command line"
        )
    return None
