"""How a field of a row is stored: as plain text, compressed when it is long, and encrypted where there is a key.

Plain text is stored as text. What was compressed or encrypted is bytes, and its first byte says which.
"""

import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import cast

from rememo.errors import Corrupt
from rememo.store.cipher.protocol import TenantCipher

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

Encoded = str | bytes
"""A field as the store holds it."""

_RAW, _COMPRESSED, ENCRYPTED = 0, 1, 2
_ENCRYPTED_BYTE = bytes([ENCRYPTED])
EMPTY = "{}"  # empty JSON is stored as it is: there is nothing to hide in it
_MOST_BYTES = 1 << 30
_MASK = "sealed:"


class FieldCodec:
    """Encodes and decodes the fields of one tenant, by the keys it has now."""

    __slots__ = ("_above", "_cipher", "_tenant", "blind_index", "blind_indexes")

    def __init__(self, tenant: str, cipher: TenantCipher | None, above: int) -> None:
        self._tenant = tenant
        self._cipher = cipher
        self._above = above or sys.maxsize
        self.blind_indexes: Callable[[str], tuple[str, ...]] | None = None if cipher is None else cipher.blind_indexes
        """Returns every hash that a term may be indexed by, newest key first; None: terms are indexed as they are."""
        self.blind_index: Callable[[str], str] | None = (
            None if cipher is None else lambda term: cipher.blind_indexes(term)[0]
        )
        """Returns the hash that a term is indexed by from now on."""

    @property
    def encrypted(self) -> bool:
        """Whether fields are encrypted."""
        return self._cipher is not None

    @property
    def serial(self) -> int:
        """The serial of the key that encrypts new data; 0 where nothing is encrypted."""
        return 0 if self._cipher is None else self._cipher.serial

    @property
    def rotating(self) -> bool:
        """Whether some fields may still be encrypted with an older key."""
        return self._cipher is not None and len(self._cipher.name_forms("")) > 1

    # ---- fields

    def encode(self, text: str, field: str, id: str, version: int) -> Encoded:
        """Return a field as it is to be stored."""
        cipher = self._cipher
        if cipher is None:
            if len(text) <= self._above:
                return text
            content = self._compress(text)
            return content if content[0] == _COMPRESSED else text
        if text == EMPTY:
            return text
        return cipher.encrypt(self._compress(text), self._identity(field, id, version))

    def decode(self, encoded: Encoded, field: str, id: str, version: int) -> str:
        """Return the text of a stored field; what is not what was written raises `Corrupt`."""
        cipher, encrypted = self._cipher, not isinstance(encoded, str) and encoded[:1] == _ENCRYPTED_BYTE
        if cipher is None:
            if isinstance(encoded, str):
                return encoded
            if encrypted:
                raise Corrupt(f"the {field} of {id} is encrypted, though this store is not")
        elif encoded == EMPTY:
            return EMPTY
        elif isinstance(encoded, str) or not encrypted:
            raise Corrupt(
                f"the {field} of {self._tenant}/{id} is not encrypted, though this store is: it was put there by others"
            )
        else:
            encoded = cipher.decrypt(encoded, self._identity(field, id, version))
        return _decompress(encoded, f"the {field} of {id}")

    def encode_optional(self, text: str | None, field: str, id: str, version: int) -> Encoded | None:
        """Return a field that may be missing as it is to be stored."""
        return None if text is None else self.encode(text, field, id, version)

    def decode_optional(self, encoded: Encoded | None, field: str, id: str, version: int) -> str | None:
        """Return the text of a stored field that may be missing."""
        return None if encoded is None else self.decode(encoded, field, id, version)

    def encode_text_columns(self, text: str, id: str, version: int) -> tuple[Encoded | None, ...]:
        """Return a record's text as the columns hold it that the store has for it."""
        return (self.encode(text, "text", id, version),)

    def decode_text_columns(self, stored: Sequence[Encoded | None], id: str, version: int) -> str:
        """Return a record's text from the columns that the store has for it."""
        return self.decode(stored[0] or "", "text", id, version)

    def _compress(self, text: str) -> bytes:
        raw = text.encode()
        if len(text) > self._above:
            compressed = zstd.compress(raw)
            if len(compressed) < len(raw):
                return bytes([_COMPRESSED]) + compressed
        return b"\0" + raw

    def _identity(self, field: str, id: str, version: int) -> bytes:
        return f"{field}\0{self._tenant}\0{id}\0{version}".encode()

    # ---- names: found again by being equal

    def name_forms(self, name: str) -> tuple[Encoded, ...]:
        """Return every form that a name may be stored in, that of the newest key first."""
        return (name,) if self._cipher is None else self._cipher.name_forms(name)

    def encode_name(self, name: str | None) -> Encoded | None:
        """Return a name as it is to be stored."""
        return name if name is None or self._cipher is None else self._cipher.name_forms(name)[0]

    def decode_name(self, encoded: Encoded | None) -> str | None:
        """Return a name that was stored."""
        if encoded is None or (self._cipher is None and isinstance(encoded, str)):
            return encoded
        if self._cipher is None or isinstance(encoded, str):
            raise Corrupt(f"a name of tenant {self._tenant!r} is not stored as this store stores names")
        return self._cipher.decrypt_name(encoded)

    def mask_name(self, name: str) -> str:
        """Return a name as others may read it where it is only mentioned: encrypted, if names are."""
        return name if self._cipher is None else _MASK + self._cipher.name_forms(name)[0].hex()

    def unmask_name(self, masked: str) -> str:
        """Return the name behind a mask; one whose key is gone stays masked."""
        if self._cipher is not None and masked.startswith(_MASK):
            with suppress(Corrupt, ValueError):
                return self._cipher.decrypt_name(bytes.fromhex(masked.removeprefix(_MASK)))
        return masked

    # ---- vectors and fingerprints

    def encode_vector(self, vector: bytes, place: int) -> bytes:
        """Return a vector as it is to be stored at its place."""
        return vector if self._cipher is None else self._cipher.encrypt_vector(vector, place)

    def decode_vectors(self, places: Sequence[int], encoded: Sequence[bytes | None]) -> Sequence[bytes | None]:
        """Return vectors that were stored."""
        return encoded if self._cipher is None else self._cipher.decrypt_vectors(places, encoded)

    def decode_vector(self, place: int, encoded: bytes | None) -> bytes | None:
        """Return one vector that was stored."""
        return self.decode_vectors((place,), (encoded,))[0]

    def blind_fingerprint(self, fingerprint: int) -> int:
        """Return a fingerprint as it is to be stored."""
        return fingerprint if self._cipher is None else self._cipher.blind_fingerprint(fingerprint)


def _decompress(content: bytes, what: str) -> str:
    try:
        if content[0] == _COMPRESSED:
            size = cast("int | None", zstd.get_frame_info(content[1:]).decompressed_size)
            if size is None or size > _MOST_BYTES:
                raise Corrupt(f"{what} says to be {size} bytes long, which cannot be")
            return zstd.decompress(content[1:]).decode()
        if content[0] == _RAW:
            return content[1:].decode()
    except (zstd.ZstdError, UnicodeDecodeError, IndexError) as error:
        raise Corrupt(f"{what} is damaged ({error}); run `rememo repair` to save what can be read") from None
    raise Corrupt(f"{what} is stored in a way that this Rememo does not know; upgrade rememo")
