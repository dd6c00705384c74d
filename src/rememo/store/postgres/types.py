"""Values that cross the wire in Rememo's own way: vectors, and arrays of numbers and of texts."""

from collections.abc import Sequence
from struct import Struct
from typing import Any, Self

import numpy as np
import psycopg
from numpy.typing import NDArray
from psycopg.abc import Buffer
from psycopg.adapt import AdaptersMap, Dumper, Loader
from psycopg.pq import Format
from psycopg.types.numeric import Int8BinaryDumper, Int8Dumper

_HEADER = 4  # of a vector: its length and two bytes that are not used
_ARRAY_HEADER = 20  # of an array with one dimension
_ITEM = np.dtype([("length", ">i4"), ("value", ">i8")])
_LENGTH = Struct(">i").pack
_ARRAY = Struct(">iiiii").pack  # dimensions, whether one is null, the items' type, how many, the first one's number
_BIGINT_ARRAY = 1016
_TEXT = 25
_TEXT_ARRAY = 1009
_BYTEA = 17


class VectorBytes(bytes):
    """A vector on its way to the server."""

    __slots__ = ()

    def __new__(cls, vector: NDArray[np.float32]) -> Self:
        """Write it as pgvector reads it."""
        return super().__new__(cls, len(vector).to_bytes(2, "big") + b"\0\0" + vector.astype(">f4").tobytes())


class Texts(bytes):
    """Texts on their way to the server as one array. The driver looks at each item three times before it writes it."""

    __slots__ = ()

    def __new__(cls, texts: Sequence[str]) -> Self:
        """Write them as the server reads a text[]."""
        parts = [_ARRAY(1, 0, _TEXT, len(texts), 1)]
        for text in texts:
            raw = text.encode()
            parts += (_LENGTH(len(raw)), raw)
        return super().__new__(cls, b"".join(parts))


class _TextsDumper(Dumper):
    format = Format.BINARY
    oid = _TEXT_ARRAY

    def dump(self, obj: Any) -> bytes:
        return obj


def to_floats(blobs: list[bytes]) -> NDArray[np.float32]:
    """Return vectors of one length as rows of numbers."""
    rows = np.frombuffer(b"".join(blobs), np.uint8).reshape(len(blobs), -1)
    return np.ascontiguousarray(rows[:, _HEADER:]).view(">f4").astype(np.float32)


class _Bytes(Loader):
    format = Format.BINARY

    def load(self, data: Buffer) -> bytes:
        return bytes(data)


class _Numbers(Loader):
    """Numbers become an array at once: as Python's they would cost more than the search that found them."""

    format = Format.BINARY

    def load(self, data: Buffer) -> NDArray[np.int64]:
        raw = bytes(data)
        if len(raw) <= _ARRAY_HEADER:
            return np.zeros(0, np.int64)
        return np.frombuffer(raw, _ITEM, offset=_ARRAY_HEADER)["value"].astype(np.int64)


def adapters(vector_type: int) -> AdaptersMap:
    """Return how values are turned for a store whose vectors are of a type: pgvector's, or bytea where that is missing."""
    made = AdaptersMap(psycopg.adapters)
    # Else each number has the smallest type it fits in, and a statement is prepared anew for each mixture of them.
    made.register_dumper(int, Int8Dumper)
    made.register_dumper(int, Int8BinaryDumper)
    made.register_dumper(Texts, _TextsDumper)
    made.register_loader(_BIGINT_ARRAY, _Numbers)
    if vector_type != _BYTEA:

        class WireDumper(Dumper):
            format = Format.BINARY
            oid = vector_type

            def dump(self, obj: Any) -> bytes:
                return obj

        made.register_dumper(VectorBytes, WireDumper)
        made.register_loader(vector_type, _Bytes)
    return made
