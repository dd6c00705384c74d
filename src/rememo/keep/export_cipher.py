"""The lines of an encrypted export: encrypted one by one, each for its place in the file."""

import os
import secrets
from base64 import b64decode, b64encode
from typing import Any, Self

from rememo.errors import InvalidInput
from rememo.keep.data_keys import KEY_BYTES, make_cipher
from rememo.store.cipher.protocol import MasterKeys, WrappedKey

_EXPORT_TENANT = "\0export"  # no tenant can be called so
_NONCE = 12


class ExportCipher:
    """Encrypts and decrypts the lines of one export with a key of its own."""

    def __init__(self, wrapped: WrappedKey, key: bytes) -> None:
        self._wrapped = wrapped
        self._cipher = make_cipher(key, "export")

    @classmethod
    def new(cls, encryption: MasterKeys) -> Self:
        """Make a key for a new export."""
        key = secrets.token_bytes(KEY_BYTES)
        return cls(encryption.wrap(key, _EXPORT_TENANT, 1), key)

    @classmethod
    def read(cls, header: Any, encryption: MasterKeys, where: str) -> Self:
        """Take the key from an export's header; one wrapped by another master key raises `KeyMismatch`."""
        try:
            wrapped = WrappedKey(1, str(header["master"]), b64decode(header["key"], validate=True))
        except (KeyError, TypeError, ValueError):
            raise InvalidInput(f"{where} is damaged: its header names no key; nothing was imported") from None
        return cls(wrapped, encryption.unwrap(wrapped, _EXPORT_TENANT, where))

    def header(self) -> dict[str, str]:
        """Return what the header of the export says of its key."""
        return {"master": self._wrapped.master, "key": b64encode(self._wrapped.key).decode()}

    def encrypt(self, text: str, number: int) -> str:
        """Return the ciphertext of a line, bound to its line number."""
        nonce = os.urandom(_NONCE)
        return b64encode(nonce + self._cipher.encrypt(nonce, text.encode(), _identity(number))).decode()

    def decrypt(self, ciphertext: object, number: int) -> str | None:
        """Return the plaintext of a line; None when it was changed or moved."""
        from cryptography.exceptions import InvalidTag  # noqa: PLC0415 - only those who encrypt need it

        try:
            content = b64decode(str(ciphertext), validate=True)
            return self._cipher.decrypt(content[:_NONCE], content[_NONCE:], _identity(number)).decode()
        except (InvalidTag, ValueError):
            return None


def _identity(number: int) -> bytes:
    return f"line {number}".encode()
