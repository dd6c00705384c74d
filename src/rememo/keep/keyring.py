"""Encryption: master keys wrap one data key for each tenant, and the data keys encrypt what the store holds."""

import binascii
import logging
import os
import secrets
from base64 import b64decode, b64encode
from collections.abc import Callable
from pathlib import Path
from typing import Self

from rememo.errors import Corrupt, InvalidInput, KeyMismatch
from rememo.files import is_open_to_others
from rememo.keep.data_keys import KEY_BYTES, DataKey, IdKey, TenantKeys, derive_key, make_cipher, need_cryptography
from rememo.store.cipher.protocol import ID_KEY, KeyStore, WrappedKey

Key = bytes | str | Callable[[], bytes | str]
"""32 bytes, or their base64 or hex, or what gives them when called."""

VARIABLE = "REMEMO_MASTER_KEY"
_NONCE = 12
_log = logging.getLogger("rememo.encrypt")
_MOST_TENANTS = 4_096
_STORE = ""
_HEX_LETTERS = 2 * KEY_BYTES


class Keyring:
    """Master keys: the first wraps the keys of tenants, the others only open what they wrapped before.

    A key is 32 random bytes, as they are or as base64 or hex, or a function that returns them (from a key service, say),
    which is called once.
    """

    def __init__(self, key: Key, *former: Key) -> None:
        """Use the current master key, and those that were current before."""
        need_cryptography()
        keys = [_parse_key(material) for material in (key, *former)]
        self._masters = {_key_id(key): make_cipher(key, "master") for key in keys}
        self._current = _key_id(keys[0])

    @classmethod
    def from_environment(cls, variable: str = VARIABLE) -> Self:
        """Read the keys from an environment variable, the current one first, with blanks or commas between them."""
        return cls._from_text(os.environ.get(variable, ""), f"the environment variable {variable}")

    @classmethod
    def from_file(cls, path: str | Path) -> Self:
        """Read the keys from a file, the current one first, each in a line of its own.

        A file that others can read is used all the same, and a warning goes to the log `rememo.encrypt`.
        """
        try:
            content = Path(path).read_bytes()
            if is_open_to_others(path):
                _log.warning("the key file %s can be read or changed by other users: chmod 600 %s", path, path)
        except OSError as error:
            raise InvalidInput(f"the key file {path} cannot be read: {error.strerror}") from None
        if len(content) == KEY_BYTES:
            return cls(content)
        return cls._from_text(content.decode("ascii", "replace"), f"the key file {path}")

    @classmethod
    def _from_text(cls, text: str, where: str) -> Self:
        keys = text.replace(",", " ").split()
        if not keys:
            raise InvalidInput(f"{where} holds no key; make one with Keyring.new_key() or `rememo encryption new-key`")
        return cls(*keys)

    @staticmethod
    def new_key() -> str:
        """Return a new random master key as base64; keep it safe: without it nothing can be read."""
        return b64encode(secrets.token_bytes(KEY_BYTES)).decode()

    @property
    def current(self) -> str:
        """The id of the master key that wraps; ids are made from the keys and tell nothing of them."""
        return self._current

    def wrap(self, key: bytes, tenant: str, serial: int) -> WrappedKey:
        """Return a data key wrapped by the current master key, for one place."""
        nonce = os.urandom(_NONCE)
        wrapped = self._masters[self._current].encrypt(nonce, key, _associated_data(tenant, serial))
        return WrappedKey(serial, self._current, nonce + wrapped)

    def unwrap(self, wrapped: WrappedKey, tenant: str, where: str) -> bytes:
        """Return a data key; one wrapped by a master key that is not here raises `KeyMismatch`."""
        from cryptography.exceptions import InvalidTag  # noqa: PLC0415

        master = self._masters.get(wrapped.master)
        if master is None:
            raise KeyMismatch(
                f"{where} is encrypted with the master key {wrapped.master}, which this keyring does not have"
                f" (it has {', '.join(self._masters)}); open it with that key"
            )
        try:
            return master.decrypt(wrapped.key[:_NONCE], wrapped.key[_NONCE:], _associated_data(tenant, wrapped.serial))
        except (InvalidTag, ValueError):
            raise Corrupt(
                f"the key of {_describe_owner(tenant)} in {where} does not open: it was changed, or moved here from elsewhere"
            ) from None

    def open_store(self, key_store: KeyStore) -> "KeyringCipher":
        """Return the encryption of a store; one that is encrypted with another key, or not at all, raises `KeyMismatch`."""
        keys = key_store.keys(_STORE) or key_store.create(self.wrap(secrets.token_bytes(KEY_BYTES), _STORE, 1))
        for key in keys:
            self.unwrap(key, _STORE, key_store.place)
        return KeyringCipher(self, key_store)


class KeyringCipher:
    """The `Seal` of one store: the keys of its tenants, unwrapped when they are first needed. Thread-safe."""

    def __init__(self, keyring: Keyring, key_store: KeyStore) -> None:
        self._keyring = keyring
        self._key_store = key_store
        self._ciphers: dict[str, tuple[tuple[WrappedKey, ...], TenantKeys]] = {}
        self._id_ciphers: dict[str, tuple[bytes, IdKey]] = {}

    def tenant_cipher(self, tenant: str) -> TenantKeys:
        """Return a tenant's keys as they are now; dropped ones raise `KeyMismatch`."""
        wrapped = self._key_store.keys(tenant)
        cached = self._ciphers.get(tenant)
        if cached is not None and cached[0] == wrapped:
            return cached[1]
        if any(not key.key for key in wrapped):
            self._ciphers.pop(tenant, None)
            self._id_ciphers.pop(tenant, None)
            raise self._dropped_error(tenant)
        keys = TenantKeys(
            tenant,
            [
                DataKey(key.serial, self._keyring.unwrap(key, tenant, self._key_store.place))
                for key in wrapped
                if key.serial != ID_KEY
            ],
            lambda: self.tenant_cipher(tenant),
        )
        if len(self._ciphers) >= _MOST_TENANTS:
            self._ciphers.clear()
        self._ciphers[tenant] = (wrapped, keys)
        return keys

    def cached_tenant_cipher(self, tenant: str) -> TenantKeys:
        """Return a tenant's keys as they were seen last in this process."""
        cached = self._ciphers.get(tenant)
        return self.tenant_cipher(tenant) if cached is None else cached[1]

    def ensure_key(self, tenant: str) -> None:
        """Make sure that a tenant has a key, before its first write."""
        cached = self._ciphers.get(tenant)
        if (cached is None or not cached[1].serial) and not self._data_keys(tenant) and not self.is_dropped(tenant):
            # Another process may be faster; then its key counts.
            self._key_store.add(tenant, self._keyring.wrap(secrets.token_bytes(KEY_BYTES), tenant, 1))
            # Whoever only reads it later need not write for it.
            self._id_key(tenant)

    def id_cipher(self, tenant: str) -> IdKey:
        """Return what derives a tenant's ids; its key is made when it is first needed."""
        return self._id_key(tenant)[1]

    def id_key(self, tenant: str) -> bytes:
        """Return the key that a tenant's ids are derived by."""
        return self._id_key(tenant)[0]

    def adopt_id_key(self, tenant: str, key: bytes) -> IdKey:
        """Derive a tenant's ids by a key of another store, unless it has one; returns the cipher of the key that was given."""
        if not any(wrapped.serial == ID_KEY for wrapped in self._key_store.keys(tenant)):
            self._key_store.add(tenant, self._keyring.wrap(key, tenant, ID_KEY))
        return IdKey(key)

    def _id_key(self, tenant: str) -> tuple[bytes, IdKey]:
        cached = self._id_ciphers.get(tenant)
        if cached is not None:
            return cached
        wrapped = self._wrapped_id_key(tenant)
        if wrapped is None:
            # Another process may be faster; then its key counts.
            self._key_store.add(tenant, self._keyring.wrap(secrets.token_bytes(KEY_BYTES), tenant, ID_KEY))
            wrapped = self._wrapped_id_key(tenant)
        if wrapped is None or not wrapped.key:
            raise self._dropped_error(tenant)
        key = self._keyring.unwrap(wrapped, tenant, self._key_store.place)
        if len(self._id_ciphers) >= _MOST_TENANTS:
            self._id_ciphers.clear()
        new_key = self._id_ciphers[tenant] = (key, IdKey(key))
        return new_key

    def _wrapped_id_key(self, tenant: str) -> WrappedKey | None:
        """Return a tenant's id key as it is kept; of a tenant whose keys were dropped, one of those."""
        stored = self._key_store.keys(tenant)
        lost = (key for key in stored if not key.key)
        return next((key for key in stored if key.serial == ID_KEY), None) or next(lost, None)

    def _data_keys(self, tenant: str) -> tuple[WrappedKey, ...]:
        return tuple(key for key in self._key_store.keys(tenant) if key.serial != ID_KEY)

    def _dropped_error(self, tenant: str) -> KeyMismatch:
        return KeyMismatch(
            f"the key of tenant {tenant!r} in {self._key_store.place} was dropped; what it held cannot be read any more"
        )

    def is_dropped(self, tenant: str) -> bool:
        """Return whether a tenant's keys were dropped."""
        return any(not key.key for key in self._key_store.keys(tenant))

    def rewrap(self) -> int:
        """Wrap every key by the current master key, all or none; returns how many were wrapped by another."""
        rewrapped: list[tuple[str, WrappedKey]] = []
        for tenant in (_STORE, *self._key_store.tenants()):
            for wrapped in self._key_store.keys(tenant):
                if wrapped.key and wrapped.master != self._keyring.current:
                    key = self._keyring.unwrap(wrapped, tenant, self._key_store.place)
                    rewrapped.append((tenant, self._keyring.wrap(key, tenant, wrapped.serial)))
        if rewrapped:
            self._key_store.replace(rewrapped)
        return len(rewrapped)

    def add_key(self, tenant: str) -> int:
        """Add a key to a tenant, which encrypts what is new from now on; returns its serial."""
        while True:
            serial = self.newest_serial(tenant) + 1
            if self._key_store.add(tenant, self._keyring.wrap(secrets.token_bytes(KEY_BYTES), tenant, serial)):
                return serial

    def newest_serial(self, tenant: str) -> int:
        """Return the serial of the key that encrypts what is new, 0 for none."""
        return max((key.serial for key in self._key_store.keys(tenant)), default=0)

    def remove_keys_before(self, tenant: str, serial: int) -> None:
        """Forget the keys of a tenant before a serial; the one that ids are derived by stays."""
        for data_key in self._data_keys(tenant):
            if data_key.serial < serial:
                self._key_store.remove(tenant, data_key.serial)

    def drop_keys(self, tenant: str) -> bool:
        """Forget all keys of a tenant for ever; False when it had none."""
        self._ciphers.pop(tenant, None)
        self._id_ciphers.pop(tenant, None)
        return self._key_store.drop(tenant)


def _parse_key(key: Key) -> bytes:
    """Return the 32 bytes of a key."""
    if callable(key):
        key = key()
    if isinstance(key, bytes | bytearray) and len(key) == KEY_BYTES:
        return bytes(key)
    if not isinstance(key, str | bytes | bytearray):  # pyright: ignore[reportUnnecessaryIsInstance] - callers may be untyped
        raise InvalidInput(f"a master key is bytes or text, not {type(key).__name__}")
    text = key if isinstance(key, str) else bytes(key).decode("ascii", "replace")
    decoded = _decode_key(text.strip())
    if decoded is None or len(decoded) != KEY_BYTES:
        # The key itself is never shown, not even a wrong one.
        size = len(key) if decoded is None else len(decoded)
        what = "characters that are neither base64 nor hex" if decoded is None else "bytes"
        raise InvalidInput(
            f"a master key has {KEY_BYTES} bytes, as they are or as base64 or hex, but this one has {size} {what};"
            " make one with Keyring.new_key() or `rememo encryption new-key`"
        )
    return decoded


def _decode_key(text: str) -> bytes | None:
    try:
        if len(text) == _HEX_LETTERS:
            return bytes.fromhex(text)
        standard = text.replace("-", "+").replace("_", "/").rstrip("=")
        return b64decode(standard + "=" * (-len(standard) % 4), validate=True)
    except (ValueError, binascii.Error):
        return None


def _key_id(key: bytes) -> str:
    return derive_key(key, "id", 4).hex()


def _associated_data(tenant: str, serial: int) -> bytes:
    return f"{tenant}\0{serial}".encode()


def _describe_owner(tenant: str) -> str:
    return f"tenant {tenant!r}" if tenant else "the store"
