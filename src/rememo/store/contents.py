"""Contents as a store keeps them: plain, compressed when they are long, and sealed where there is a key.

Plain content is text. What was compressed or sealed is bytes, and its first byte says which.
"""

import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import cast

from rememo.errors import Corrupt
from rememo.store.seal import Keys

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

Kept = str | bytes
"""A content in the store."""

_RAW, _PACKED, SEALED = 0, 1, 2
_SEALED_BYTE = bytes([SEALED])
EMPTY = "{}"  # JSON without content is kept as it is: there is nothing to hide in it
_MOST_BYTES = 1 << 30
_SHOWN = "sealed:"


class Contents:
    """How the contents of one tenant are kept, by the keys it has now."""

    __slots__ = ("_above", "_keys", "_tenant", "veil", "veils")

    def __init__(self, tenant: str, keys: Keys | None, above: int) -> None:
        self._tenant = tenant
        self._keys = keys
        self._above = above or sys.maxsize
        self.veils: Callable[[str], tuple[str, ...]] | None = None if keys is None else keys.veils
        """What a term may be indexed by, newest first; None: by itself."""
        self.veil: Callable[[str], str] | None = None if keys is None else lambda term: keys.veils(term)[0]
        """What a term is indexed by from now on."""

    @property
    def sealed(self) -> bool:
        """Whether contents are sealed."""
        return self._keys is not None

    @property
    def serial(self) -> int:
        """The serial of the key that seals what is new; 0 where nothing is sealed."""
        return 0 if self._keys is None else self._keys.serial

    @property
    def changing(self) -> bool:
        """Whether some of them may still be sealed by an older key."""
        return self._keys is not None and len(self._keys.names("")) > 1

    # ---- texts

    def put(self, text: str, field: str, id: str, version: int) -> Kept:
        """Return a text as it is to be stored."""
        keys = self._keys
        if keys is None:
            if len(text) <= self._above:
                return text
            content = self._packed(text)
            return content if content[0] == _PACKED else text
        if text == EMPTY:
            return text
        return keys.seal(self._packed(text), self._identity(field, id, version))

    def get(self, kept: Kept, field: str, id: str, version: int) -> str:
        """Return the text of what was stored; what is not what was written raises `Corrupt`."""
        keys, sealed = self._keys, not isinstance(kept, str) and kept[:1] == _SEALED_BYTE
        if keys is None:
            if isinstance(kept, str):
                return kept
            if sealed:
                raise Corrupt(f"the {field} of {id} is sealed, though this store is not")
        elif kept == EMPTY:
            return EMPTY
        elif isinstance(kept, str) or not sealed:
            raise Corrupt(
                f"the {field} of {self._tenant}/{id} is not sealed, though this store is: it was put there by others"
            )
        else:
            kept = keys.open(kept, self._identity(field, id, version))
        return _unpacked(kept, f"the {field} of {id}")

    def put_optional(self, text: str | None, field: str, id: str, version: int) -> Kept | None:
        """Return a text that may be missing as it is to be stored."""
        return None if text is None else self.put(text, field, id, version)

    def get_optional(self, kept: Kept | None, field: str, id: str, version: int) -> str | None:
        """Return a text that may be missing."""
        return None if kept is None else self.get(kept, field, id, version)

    def _packed(self, text: str) -> bytes:
        raw = text.encode()
        if len(text) > self._above:
            packed = zstd.compress(raw)
            if len(packed) < len(raw):
                return bytes([_PACKED]) + packed
        return b"\0" + raw

    def _identity(self, field: str, id: str, version: int) -> bytes:
        return f"{field}\0{self._tenant}\0{id}\0{version}".encode()

    # ---- names: found again by being equal

    def names(self, name: str) -> tuple[Kept, ...]:
        """Return every form that a name may be stored in, that of the newest key first."""
        return (name,) if self._keys is None else self._keys.names(name)

    def put_name(self, name: str | None) -> Kept | None:
        """Return a name as it is to be stored."""
        return name if name is None or self._keys is None else self._keys.names(name)[0]

    def get_name(self, kept: Kept | None) -> str | None:
        """Return a name that was stored."""
        if kept is None or (self._keys is None and isinstance(kept, str)):
            return kept
        if self._keys is None or isinstance(kept, str):
            raise Corrupt(f"a name of tenant {self._tenant!r} is not kept as this store keeps names")
        return self._keys.name(kept)

    def shown(self, name: str) -> str:
        """Return a name as others may read it where it is only mentioned: sealed, if names are."""
        return name if self._keys is None else _SHOWN + self._keys.names(name)[0].hex()

    def named(self, shown: str) -> str:
        """Return the name that is meant; one whose key is gone stays as it is shown."""
        if self._keys is not None and shown.startswith(_SHOWN):
            with suppress(Corrupt, ValueError):
                return self._keys.name(bytes.fromhex(shown.removeprefix(_SHOWN)))
        return shown

    # ---- vectors and marks

    def put_vector(self, vector: bytes, place: int) -> bytes:
        """Return a vector as it is to be stored at its place."""
        return vector if self._keys is None else self._keys.seal_vector(vector, place)

    def get_vectors(self, places: Sequence[int], kept: Sequence[bytes | None]) -> Sequence[bytes | None]:
        """Return vectors that were stored."""
        return kept if self._keys is None else self._keys.open_vectors(places, kept)

    def get_vector(self, place: int, kept: bytes | None) -> bytes | None:
        """Return one vector that was stored."""
        return self.get_vectors((place,), (kept,))[0]

    def mark(self, fingerprint: int) -> int:
        """Return a fingerprint as it is to be stored."""
        return fingerprint if self._keys is None else self._keys.mark(fingerprint)


def _unpacked(content: bytes, what: str) -> str:
    try:
        if content[0] == _PACKED:
            size = cast("int | None", zstd.get_frame_info(content[1:]).decompressed_size)
            if size is None or size > _MOST_BYTES:
                raise Corrupt(f"{what} says to be {size} bytes long, which cannot be")
            return zstd.decompress(content[1:]).decode()
        if content[0] == _RAW:
            return content[1:].decode()
    except (zstd.ZstdError, UnicodeDecodeError, IndexError) as error:
        raise Corrupt(f"{what} is damaged ({error}); run `rememo repair` to save what can be read") from None
    raise Corrupt(f"{what} was kept in a way that this Rememo does not know; upgrade rememo")
