"""Data keys: what encrypts the contents of one tenant, and the names, words and marks it is found by; and its id key.

Each purpose has a key of its own, derived from the data key. An encrypted content begins with the serial of its key, so that
several can be in use while contents are moved from one to the next. The id key of a tenant never changes.
"""

import os
from base64 import b32encode
from collections.abc import Callable, Sequence
from hashlib import blake2b
from importlib import import_module
from typing import TYPE_CHECKING, Generic, TypeVar

from rememo.errors import Corrupt, MissingExtra
from rememo.store.cipher.codec import ENCRYPTED

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

T = TypeVar("T")

KEY_BYTES = 32
_HEAD, _NONCE = 3, 12
_BODY = _HEAD + _NONCE
_MAX_CACHED = 100_000
_BLIND_INDEX_LETTERS = 12  # 60 bits: two of a million words share one with a chance of one in two millions


def need_cryptography() -> None:
    """Raise `MissingExtra` with the command that installs what encryption needs."""
    try:
        import_module("cryptography")
    except ImportError as error:
        raise MissingExtra(
            f'encryption needs the package cryptography, which cannot be imported ({error}): pip install "rememo[encrypt]"'
        ) from error


def derive_key(key: bytes, purpose: str, length: int = KEY_BYTES) -> bytes:
    """Return the key for one purpose."""
    from cryptography.hazmat.primitives.hashes import SHA256  # noqa: PLC0415
    from cryptography.hazmat.primitives.kdf.hkdf import HKDF  # noqa: PLC0415

    return HKDF(SHA256(), length, salt=None, info=f"rememo {purpose}".encode()).derive(key)


def make_cipher(key: bytes, purpose: str) -> "AESGCM":
    """Return the cipher for one purpose."""
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # noqa: PLC0415

    return AESGCM(derive_key(key, purpose))


class DataKey:
    """One data key with everything that is derived from it."""

    def __init__(self, serial: int, key: bytes) -> None:
        from cryptography.hazmat.primitives.ciphers.aead import AESSIV  # noqa: PLC0415

        self.serial = serial
        self.head = bytes([ENCRYPTED]) + serial.to_bytes(_HEAD - 1, "big")
        self.contents = make_cipher(key, "contents")
        self.vectors = make_cipher(key, "vectors")
        self.names = AESSIV(derive_key(key, "names", 2 * KEY_BYTES))
        self._words = derive_key(key, "words")
        self._fingerprints = derive_key(key, "fingerprints")

    def blind_index(self, term: str) -> str:
        """Return the hash of a term."""
        digest = blake2b(term.encode(), key=self._words, digest_size=10).digest()
        return b32encode(digest)[:_BLIND_INDEX_LETTERS].decode().lower()

    def blind_fingerprint(self, fingerprint: int) -> int:
        """Return a number that stands for a fingerprint."""
        digest = blake2b(fingerprint.to_bytes(8, "big", signed=True), key=self._fingerprints, digest_size=8).digest()
        return int.from_bytes(digest, "big", signed=True) or 1


class IdKey:
    """The id cipher of one tenant: one block of AES, so that ids are as short as digests and can be translated."""

    def __init__(self, key: bytes) -> None:
        from cryptography.hazmat.primitives.ciphers import Cipher  # noqa: PLC0415
        from cryptography.hazmat.primitives.ciphers.algorithms import AES  # noqa: PLC0415
        from cryptography.hazmat.primitives.ciphers.modes import ECB  # noqa: PLC0415

        # One block is all that is ever encrypted, and it is a digest: there is nothing a mode could chain or repeat.
        self._cipher = Cipher(AES(derive_key(key, "ids")), ECB())  # noqa: S305

    def encrypt(self, block: bytes) -> bytes:
        """Return the 16 bytes of an id for the 16 bytes of a digest."""
        return self._cipher.encryptor().update(block)

    def decrypt(self, block: bytes) -> bytes:
        """Return the digest for the bytes of an id."""
        return self._cipher.decryptor().update(block)


class TenantKeys:
    """The `TenantCipher` of one tenant: the newest key encrypts, every one decrypts."""

    def __init__(self, tenant: str, keys: Sequence[DataKey], newer: Callable[[], "TenantKeys"]) -> None:
        """Use a tenant's keys, oldest first; `newer` returns them with those that other processes have added since."""
        from cryptography.exceptions import InvalidTag  # noqa: PLC0415

        self._invalid_tag = InvalidTag
        self._tenant = tenant
        self._keys = tuple(reversed(keys))
        self._by_head = _ByHead(keys, newer)
        self._names = _Cache(self._new_names)
        self._blind_indexes = _Cache(self._new_blind_indexes)
        self._read: dict[bytes, str] = {}

    @property
    def serial(self) -> int:
        """The serial of the key that encrypts what is new; 0 for none."""
        return self._keys[0].serial if self._keys else 0

    @property
    def all(self) -> tuple[DataKey, ...]:
        """The keys, newest first."""
        return self._keys

    def encrypt(self, plaintext: bytes, identity: bytes) -> bytes:
        """Encrypt a content; it decrypts under the same identity only."""
        key, nonce = self._keys[0], os.urandom(_NONCE)
        return key.head + nonce + key.contents.encrypt(nonce, plaintext, identity)

    def decrypt(self, ciphertext: bytes, identity: bytes) -> bytes:
        """Decrypt a content; one that was changed or moved raises `Corrupt`."""
        try:
            return self._by_head[ciphertext[:_HEAD]].contents.decrypt(
                ciphertext[_HEAD:_BODY], ciphertext[_BODY:], identity
            )
        except (self._invalid_tag, KeyError, ValueError):
            field, tenant, *rest = identity.decode().split("\0")
            raise Corrupt(
                f"the {field} of {tenant}/{' '.join(rest)} does not open: it was changed, or moved here from elsewhere"
            ) from None

    def encrypt_vector(self, vector: bytes, place: int) -> bytes:
        """Encrypt a vector for one place."""
        key, nonce = self._keys[0], os.urandom(_NONCE)
        return key.head + nonce + key.vectors.encrypt(nonce, vector, place.to_bytes(8, "big"))

    def decrypt_vectors(self, places: Sequence[int], ciphertexts: Sequence[bytes | None]) -> list[bytes | None]:
        """Decrypt vectors; None stays None."""
        keys, place = self._by_head, 0
        opened: list[bytes | None] = []
        try:
            for place, ciphertext in zip(places, ciphertexts, strict=True):
                opened.append(
                    None
                    if ciphertext is None
                    else keys[ciphertext[:_HEAD]].vectors.decrypt(
                        ciphertext[_HEAD:_BODY], ciphertext[_BODY:], place.to_bytes(8, "big")
                    )
                )
        except (self._invalid_tag, KeyError, ValueError):
            raise Corrupt(
                f"a vector of tenant {self._tenant!r} (place {place}) does not open: it was changed, or moved here"
                " from elsewhere"
            ) from None
        return opened

    def name_forms(self, name: str) -> tuple[bytes, ...]:
        """Return every form that a name may be stored in, that of the newest key first."""
        return self._names[name]

    def _new_names(self, name: str) -> tuple[bytes, ...]:
        # A name without letters cannot be encrypted this way; with one in front every name has some.
        content = b"=" + name.encode()
        return tuple(key.head + key.names.encrypt(content, [b"name"]) for key in self._keys)

    def decrypt_name(self, ciphertext: bytes) -> str:
        """Return the name that a form stands for."""
        cached = self._read.get(ciphertext)
        if cached is None:
            try:
                cached = self._by_head[ciphertext[:_HEAD]].names.decrypt(ciphertext[_HEAD:], [b"name"])[1:].decode()
            except (self._invalid_tag, KeyError, ValueError):
                raise Corrupt(f"a name of tenant {self._tenant!r} does not open: it was changed or moved") from None
            if len(self._read) >= _MAX_CACHED:
                self._read.clear()
            self._read[ciphertext] = cached
        return cached

    def blind_indexes(self, term: str) -> tuple[str, ...]:
        """Return every hash that a term may be indexed by, that of the newest key first."""
        return self._blind_indexes[term]

    def _new_blind_indexes(self, term: str) -> tuple[str, ...]:
        return tuple(key.blind_index(term) for key in self._keys)

    def blind_fingerprint(self, fingerprint: int) -> int:
        """Return a number that is equal for equal fingerprints and tells nothing else; 0 stays 0."""
        return self._keys[0].blind_fingerprint(fingerprint) if fingerprint else 0


class _ByHead(dict[bytes, DataKey]):
    """Keys by the head of what they encrypted; one that is not known yet is looked for among the newer ones."""

    def __init__(self, keys: Sequence[DataKey], newer: Callable[[], TenantKeys]) -> None:
        super().__init__({key.head: key for key in keys})
        self._newer = newer

    def __missing__(self, head: bytes) -> DataKey:
        for key in self._newer().all:
            if key.head == head:
                return key
        raise KeyError(head)


class _Cache(dict[str, T], Generic[T]):
    """What was worked out for a text, kept until there is too much of it."""

    def __init__(self, make: Callable[[str], T]) -> None:
        super().__init__()
        self._make = make

    def __missing__(self, text: str) -> T:
        if len(self) >= _MAX_CACHED:
            self.clear()
        name = self[text] = self._make(text)
        return name
