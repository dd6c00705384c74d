"""Vectors on their way to the server and back: as pgvector reads them, or encrypted."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rememo.store.postgres.codecs import PostgresCodec
from rememo.store.postgres.session import PostgresSession
from rememo.store.postgres.types import VectorBytes, to_floats

PUT_VECTOR = """INSERT INTO vectors (tenant, model, number, {column}) VALUES (%s, %s, %s, %s)
ON CONFLICT (tenant, model, number) DO UPDATE SET {column} = excluded.{column}"""
_COPY_VECTORS = "COPY vectors (tenant, model, number, {column}) FROM STDIN (FORMAT BINARY)"
_THOSE = """FROM unnest(%(targets)s::bigint[], %(ids)s::text[], %(versions)s::int[]) AS wanted (target, id, version)
JOIN records ON records.tenant = %(tenant)s AND records.id = wanted.id AND records.version = wanted.version
JOIN vectors ON vectors.tenant = %(tenant)s AND vectors.model = %(model)s AND vectors.number = records.number"""
_REPEAT = f"""INSERT INTO vectors (tenant, model, number, vector)
SELECT %(tenant)s, %(model)s, wanted.target, vectors.vector {_THOSE} RETURNING number"""
_SEALED = f"SELECT wanted.target, vectors.number, vectors.sealed {_THOSE}"


def column(codec: PostgresCodec) -> str:
    """Return the column that vectors are kept in."""
    return "sealed" if codec.encrypted else "vector"


def to_wire(vector: NDArray[np.float32], model: int, number: int, codec: PostgresCodec) -> bytes:
    """Return a vector as it is to be stored for a version."""
    return codec.encode_vector(vector.tobytes(), _place(model, number)) if codec.encrypted else VectorBytes(vector)


def from_wire(model: int, rows: Sequence[tuple[int, bytes]], codec: PostgresCodec) -> dict[int, bytes]:
    """Return the float32 bytes of vectors by the numbers of their versions."""
    if not rows:
        return {}
    numbers, kept = zip(*rows, strict=True)
    if not codec.encrypted:
        return {number: vector.tobytes() for number, vector in zip(numbers, to_floats(list(kept)), strict=True)}
    opened = codec.decode_vectors([_place(model, number) for number in numbers], kept)
    return {number: vector for number, vector in zip(numbers, opened, strict=True) if vector is not None}


def _place(model: int, number: int) -> int:
    return model << 40 | number


@dataclass(frozen=True, slots=True)
class VectorTable:
    """How the vectors of a tenant are stored."""

    model: int | None
    """Whose they are; None stores none."""
    vector_type: int
    """The type of those that are not encrypted."""
    codec: PostgresCodec

    @property
    def column(self) -> str:
        """The column they are kept in."""
        return column(self.codec)

    def to_wire(self, vector: NDArray[np.float32], number: int) -> bytes:
        """Return a vector as it is to be stored for a version."""
        return to_wire(vector, self.model or 0, number, self.codec)

    def load(self, session: PostgresSession, tenant: str, wires: Mapping[int, bytes]) -> None:
        """Store vectors by the numbers of their versions."""
        types = ("text", "int4", "int8", "bytea" if self.codec.encrypted else self.vector_type)
        rows = ((tenant, self.model, number, wire) for number, wire in wires.items())
        session.copy(_COPY_VECTORS.format(column=self.column), types, rows)

    def repeat(self, session: PostgresSession, tenant: str, copies: Sequence[tuple[int, str, int]]) -> set[int]:
        """Give versions (by number) the vectors of others (by id and version); returns the numbers of those that have one now."""
        targets, ids, versions = map(list, zip(*copies, strict=True))
        values: dict[str, Any] = {
            "tenant": tenant, "model": self.model, "targets": targets, "ids": ids, "versions": versions
        }  # fmt: skip
        if not self.codec.encrypted:
            return {number for (number,) in session.rows(_REPEAT, values)}
        # Each is encrypted for its place, so it has to be opened and encrypted again.
        wires: dict[int, bytes] = {}
        for target, number, kept in session.rows(_SEALED, values):
            opened = from_wire(self.model or 0, [(number, kept)], self.codec)[number]
            wires[target] = self.to_wire(np.frombuffer(opened, np.float32), target)
        self.load(session, tenant, wires)
        return set(wires)
