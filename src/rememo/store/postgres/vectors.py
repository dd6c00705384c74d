"""Vectors on their way to the server and back: as pgvector reads them, or sealed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rememo.store.postgres.safe import ServerContents
from rememo.store.postgres.session import Session
from rememo.store.postgres.types import Wire, to_floats

PUT_VECTOR = """INSERT INTO vectors (tenant, model, number, {column}) VALUES (%s, %s, %s, %s)
ON CONFLICT (tenant, model, number) DO UPDATE SET {column} = excluded.{column}"""
_COPY_VECTORS = "COPY vectors (tenant, model, number, {column}) FROM STDIN (FORMAT BINARY)"
_THOSE = """FROM unnest(%(targets)s::bigint[], %(ids)s::text[], %(versions)s::int[]) AS wanted (target, id, version)
JOIN records ON records.tenant = %(tenant)s AND records.id = wanted.id AND records.version = wanted.version
JOIN vectors ON vectors.tenant = %(tenant)s AND vectors.model = %(model)s AND vectors.number = records.number"""
_REPEAT = f"""INSERT INTO vectors (tenant, model, number, vector)
SELECT %(tenant)s, %(model)s, wanted.target, vectors.vector {_THOSE} RETURNING number"""
_SEALED = f"SELECT wanted.target, vectors.number, vectors.sealed {_THOSE}"


def column(contents: ServerContents) -> str:
    """Return the column that vectors are kept in."""
    return "sealed" if contents.sealed else "vector"


def to_wire(vector: NDArray[np.float32], model: int, number: int, contents: ServerContents) -> bytes:
    """Return a vector as it is to be stored for a version."""
    return contents.put_vector(vector.tobytes(), _place(model, number)) if contents.sealed else Wire(vector)


def from_wire(model: int, rows: Sequence[tuple[int, bytes]], contents: ServerContents) -> dict[int, bytes]:
    """Return the float32 bytes of vectors by the numbers of their versions."""
    if not rows:
        return {}
    numbers, kept = zip(*rows, strict=True)
    if not contents.sealed:
        return {number: one.tobytes() for number, one in zip(numbers, to_floats(list(kept)), strict=True)}
    opened = contents.get_vectors([_place(model, number) for number in numbers], kept)
    return {number: one for number, one in zip(numbers, opened, strict=True) if one is not None}


def _place(model: int, number: int) -> int:
    return model << 40 | number


@dataclass(frozen=True, slots=True)
class Vectors:
    """How the vectors of a tenant are stored."""

    model: int | None
    """Whose they are; None stores none."""
    vector_type: int
    """The type of those that are not sealed."""
    contents: ServerContents

    @property
    def column(self) -> str:
        """The column they are kept in."""
        return column(self.contents)

    def to_wire(self, vector: NDArray[np.float32], number: int) -> bytes:
        """Return a vector as it is to be stored for a version."""
        return to_wire(vector, self.model or 0, number, self.contents)

    def load(self, session: Session, tenant: str, wires: Mapping[int, bytes]) -> None:
        """Store vectors by the numbers of their versions."""
        types = ("text", "int4", "int8", "bytea" if self.contents.sealed else self.vector_type)
        rows = ((tenant, self.model, number, wire) for number, wire in wires.items())
        session.copy(_COPY_VECTORS.format(column=self.column), types, rows)

    def repeat(self, session: Session, tenant: str, copies: Sequence[tuple[int, str, int]]) -> set[int]:
        """Give versions (by number) the vectors of others (by id and version); returns the numbers of those that have one now."""
        targets, ids, versions = map(list, zip(*copies, strict=True))
        values: dict[str, Any] = {
            "tenant": tenant, "model": self.model, "targets": targets, "ids": ids, "versions": versions
        }  # fmt: skip
        if not self.contents.sealed:
            return {number for (number,) in session.rows(_REPEAT, values)}
        # Each is sealed for its place, so it has to be opened and sealed again.
        wires: dict[int, bytes] = {}
        for target, number, kept in session.rows(_SEALED, values):
            opened = from_wire(self.model or 0, [(number, kept)], self.contents)[number]
            wires[target] = self.to_wire(np.frombuffer(opened, np.float32), target)
        self.load(session, tenant, wires)
        return set(wires)
