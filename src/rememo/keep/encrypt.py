"""Encryption: master keys wrap one data key for each tenant, and the data keys seal what the store holds."""

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
from rememo.keep.keys import KEY_BYTES, DataKey, IdKey, TenantKeys, cipher, derive, need_cryptography
from rememo.store.seal import ID_KEY, Vault, Wrapped

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
        """Take the current master key, and those that were current before."""
        need_cryptography()
        keys = [_bytes(one) for one in (key, *former)]
        self._masters = {_id(one): cipher(one, "master") for one in keys}
        self._current = _id(keys[0])

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
            raise InvalidInput(f"{where} holds no key; make one with Keyring.new_key() or `rememo new-key`")
        return cls(*keys)

    @staticmethod
    def new_key() -> str:
        """Return a new random master key as base64; keep it safe: without it nothing can be read."""
        return b64encode(secrets.token_bytes(KEY_BYTES)).decode()

    @property
    def current(self) -> str:
        """The id of the master key that wraps; ids are made from the keys and tell nothing of them."""
        return self._current

    def wrap(self, key: bytes, tenant: str, serial: int) -> Wrapped:
        """Return a data key wrapped by the current master key, for one place."""
        nonce = os.urandom(_NONCE)
        wrapped = self._masters[self._current].encrypt(nonce, key, _place(tenant, serial))
        return Wrapped(serial, self._current, nonce + wrapped)

    def unwrap(self, wrapped: Wrapped, tenant: str, where: str) -> bytes:
        """Return a data key; one wrapped by a master key that is not here raises `KeyMismatch`."""
        from cryptography.exceptions import InvalidTag  # noqa: PLC0415

        master = self._masters.get(wrapped.master)
        if master is None:
            raise KeyMismatch(
                f"{where} is sealed by the master key {wrapped.master}, which this keyring does not have"
                f" (it has {', '.join(self._masters)}); open it with that key"
            )
        try:
            return master.decrypt(wrapped.key[:_NONCE], wrapped.key[_NONCE:], _place(tenant, wrapped.serial))
        except (InvalidTag, ValueError):
            raise Corrupt(
                f"the key of {_whose(tenant)} in {where} does not open: it was changed, or moved here from elsewhere"
            ) from None

    def over(self, vault: Vault) -> "TenantSeal":
        """Return the encryption of a store; one that is sealed by another key, or not at all, raises `KeyMismatch`."""
        keys = vault.keys(_STORE) or vault.begin(self.wrap(secrets.token_bytes(KEY_BYTES), _STORE, 1))
        for key in keys:
            self.unwrap(key, _STORE, vault.place)
        return TenantSeal(self, vault)


class TenantSeal:
    """The `Seal` of one store: the keys of its tenants, unwrapped when they are first needed. Thread-safe."""

    def __init__(self, keyring: Keyring, vault: Vault) -> None:
        self._keyring = keyring
        self._vault = vault
        self._held: dict[str, tuple[tuple[Wrapped, ...], TenantKeys]] = {}
        self._ids: dict[str, tuple[bytes, IdKey]] = {}

    def keys(self, tenant: str) -> TenantKeys:
        """Return a tenant's keys as they are now; dropped ones raise `KeyMismatch`."""
        wrapped = self._vault.keys(tenant)
        held = self._held.get(tenant)
        if held is not None and held[0] == wrapped:
            return held[1]
        if any(not one.key for one in wrapped):
            self._held.pop(tenant, None)
            self._ids.pop(tenant, None)
            raise self._lost(tenant)
        keys = TenantKeys(
            tenant,
            [
                DataKey(one.serial, self._keyring.unwrap(one, tenant, self._vault.place))
                for one in wrapped
                if one.serial != ID_KEY
            ],
            lambda: self.keys(tenant),
        )
        if len(self._held) >= _MOST_TENANTS:
            self._held.clear()
        self._held[tenant] = (wrapped, keys)
        return keys

    def known(self, tenant: str) -> TenantKeys:
        """Return a tenant's keys as they were seen last in this process."""
        held = self._held.get(tenant)
        return self.keys(tenant) if held is None else held[1]

    def provide(self, tenant: str) -> None:
        """See to it that a tenant has a key, before something of it is written."""
        held = self._held.get(tenant)
        if (held is None or not held[1].serial) and not self._data_keys(tenant) and not self.dropped(tenant):
            # Another process may be faster; then its key counts.
            self._vault.add(tenant, self._keyring.wrap(secrets.token_bytes(KEY_BYTES), tenant, 1))
            # Whoever only reads it later need not write for it.
            self._id_key(tenant)

    def ids(self, tenant: str) -> IdKey:
        """Return what derives a tenant's ids; its key is made when it is first needed."""
        return self._id_key(tenant)[1]

    def id_key(self, tenant: str) -> bytes:
        """Return the key that a tenant's ids are derived by."""
        return self._id_key(tenant)[0]

    def adopt_ids(self, tenant: str, key: bytes) -> IdKey:
        """Derive a tenant's ids by a key of another store, unless it has one; returns the cipher of the key that was given."""
        if not any(one.serial == ID_KEY for one in self._vault.keys(tenant)):
            self._vault.add(tenant, self._keyring.wrap(key, tenant, ID_KEY))
        return IdKey(key)

    def _id_key(self, tenant: str) -> tuple[bytes, IdKey]:
        held = self._ids.get(tenant)
        if held is not None:
            return held
        wrapped = self._wrapped_id_key(tenant)
        if wrapped is None:
            # Another process may be faster; then its key counts.
            self._vault.add(tenant, self._keyring.wrap(secrets.token_bytes(KEY_BYTES), tenant, ID_KEY))
            wrapped = self._wrapped_id_key(tenant)
        if wrapped is None or not wrapped.key:
            raise self._lost(tenant)
        key = self._keyring.unwrap(wrapped, tenant, self._vault.place)
        if len(self._ids) >= _MOST_TENANTS:
            self._ids.clear()
        made = self._ids[tenant] = (key, IdKey(key))
        return made

    def _wrapped_id_key(self, tenant: str) -> Wrapped | None:
        """Return a tenant's id key as it is kept; of a tenant whose keys were dropped, one of those."""
        held = self._vault.keys(tenant)
        lost = (one for one in held if not one.key)
        return next((one for one in held if one.serial == ID_KEY), None) or next(lost, None)

    def _data_keys(self, tenant: str) -> tuple[Wrapped, ...]:
        return tuple(one for one in self._vault.keys(tenant) if one.serial != ID_KEY)

    def _lost(self, tenant: str) -> KeyMismatch:
        return KeyMismatch(
            f"the key of tenant {tenant!r} in {self._vault.place} was dropped; what it held cannot be read any more"
        )

    def dropped(self, tenant: str) -> bool:
        """Say whether a tenant's keys were dropped."""
        return any(not one.key for one in self._vault.keys(tenant))

    def rewrap(self) -> int:
        """Wrap every key by the current master key, all or none; returns how many were wrapped by another."""
        again: list[tuple[str, Wrapped]] = []
        for tenant in (_STORE, *self._vault.tenants()):
            for one in self._vault.keys(tenant):
                if one.key and one.master != self._keyring.current:
                    key = self._keyring.unwrap(one, tenant, self._vault.place)
                    again.append((tenant, self._keyring.wrap(key, tenant, one.serial)))
        if again:
            self._vault.replace(again)
        return len(again)

    def renew(self, tenant: str) -> int:
        """Give a tenant another key, which seals what is new from now on; returns its serial."""
        while True:
            serial = self.newest(tenant) + 1
            if self._vault.add(tenant, self._keyring.wrap(secrets.token_bytes(KEY_BYTES), tenant, serial)):
                return serial

    def newest(self, tenant: str) -> int:
        """Return the serial of the key that seals what is new, 0 for none."""
        return max((one.serial for one in self._vault.keys(tenant)), default=0)

    def retire(self, tenant: str, before: int) -> None:
        """Forget the keys of a tenant before a serial; the one that ids are derived by stays."""
        for one in self._data_keys(tenant):
            if one.serial < before:
                self._vault.remove(tenant, one.serial)

    def drop(self, tenant: str) -> bool:
        """Forget all keys of a tenant for ever; False when it had none."""
        self._held.pop(tenant, None)
        self._ids.pop(tenant, None)
        return self._vault.drop(tenant)


def _bytes(key: Key) -> bytes:
    """Return the 32 bytes of a key."""
    if callable(key):
        key = key()
    if isinstance(key, bytes | bytearray) and len(key) == KEY_BYTES:
        return bytes(key)
    if not isinstance(key, str | bytes | bytearray):  # pyright: ignore[reportUnnecessaryIsInstance] - callers may be untyped
        raise InvalidInput(f"a master key is bytes or text, not {type(key).__name__}")
    text = key if isinstance(key, str) else bytes(key).decode("ascii", "replace")
    found = _decoded(text.strip())
    if found is None or len(found) != KEY_BYTES:
        # The key itself is never shown, not even a wrong one.
        size = len(key) if found is None else len(found)
        what = "characters that are neither base64 nor hex" if found is None else "bytes"
        raise InvalidInput(
            f"a master key has {KEY_BYTES} bytes, as they are or as base64 or hex, but this one has {size} {what};"
            " make one with Keyring.new_key() or `rememo new-key`"
        )
    return found


def _decoded(text: str) -> bytes | None:
    try:
        if len(text) == _HEX_LETTERS:
            return bytes.fromhex(text)
        standard = text.replace("-", "+").replace("_", "/").rstrip("=")
        return b64decode(standard + "=" * (-len(standard) % 4), validate=True)
    except (ValueError, binascii.Error):
        return None


def _id(key: bytes) -> str:
    return derive(key, "id", 4).hex()


def _place(tenant: str, serial: int) -> bytes:
    return f"{tenant}\0{serial}".encode()


def _whose(tenant: str) -> str:
    return f"tenant {tenant!r}" if tenant else "the store"
