"""The columns of the table `records`: one list, from which every statement over whole rows is made.

A column that is added to the table is added here, to `version_row`, and to a migration of each store.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple

from rememo.model.times import to_micros
from rememo.store.cipher.codec import FieldCodec
from rememo.store.commits import content_hash
from rememo.store.drafts import Draft


class Column(NamedTuple):
    """One column."""

    name: str
    type: str
    """Its type on PostgreSQL, for copying rows in binary."""
    read: bool = False
    """Whether a `Record` is made of it, in this order (see `rows.make_record`)."""
    field: bool = False
    """Whether it is a field that the codec compresses and encrypts; the text itself is one too."""


_COLUMNS = (
    Column("tenant", "text"),
    Column("number", "int8"),
    Column("at", "int8"),
    Column("arrival", "int8"),
    Column("id", "text", read=True),
    Column("version", "int4", read=True),
    Column("kind", "text", read=True),
    Column("agent", "text", read=True),
    Column('"user"', "text", read=True),
    Column("room", "text", read=True),
    Column("created_at", "int8", read=True),
    Column("recorded_at", "int8", read=True),
    Column("superseded_at", "int8", read=True),
    Column("occurred_at", "int8", read=True),
    Column("valid_from", "int8", read=True),
    Column("valid_to", "int8", read=True),
    Column("expires_at", "int8", read=True),
    Column("deleted", "bool", read=True),
    Column("pinned", "bool", read=True),
    Column("importance", "float8", read=True),
    Column("source", "text", read=True, field=True),
    Column("trust", "float8", read=True),
    Column("quarantine", "text", read=True, field=True),
    Column("speaker", "text"),
    Column("length", "int4"),
    Column("asks", "bool"),
    Column("fingerprint", "int8"),
    Column("hash", "bytea"),
    Column("data", "text", read=True, field=True),
    Column("metadata", "text", read=True, field=True),
    Column("text", "text", read=True),
)
PACKED = Column("packed", "bytea", read=True)
"""Where a store keeps a text that is compressed or encrypted, if it has a column of its own for it."""

FIELD_COLUMNS = ("data", "metadata", "source", "quarantine")
"""The columns that are fields, but for the text, in the order in which they are re-encrypted."""
if set(FIELD_COLUMNS) != {column.name for column in _COLUMNS if column.field}:
    raise AssertionError("the fields are not those of the columns")


def insert_columns(*more: Column) -> tuple[Column, ...]:
    """Return the columns of a new row in the order of `version_row`."""
    return (*_COLUMNS, *more)


def read_columns(*more: Column) -> str:
    """Return the columns that a record is made of, as a statement names them."""
    return ", ".join(column.name for column in (*_COLUMNS, *more) if column.read)


class VersionTimes(NamedTuple):
    """The system times of a version in microseconds, and where it stands among others."""

    created_at: int
    recorded_at: int
    superseded_at: int | None = None
    deleted: bool = False
    arrival: int | None = None
    """The number of the record's first version; None for the first one itself."""


def version_row(draft: Draft, number: int, version: int, times: VersionTimes, codec: FieldCodec) -> tuple[Any, ...]:
    """Return the row of a version in the order of `insert_columns`, with the columns of its text last."""
    created_at, recorded_at, superseded_at, deleted, arrival = times
    scope, id, encode, optional = draft.scope, draft.id, codec.encode, codec.encode_optional
    data = encode(draft.data, "data", id, version)
    text = codec.encode_text_columns(draft.text, id, version)
    occurred_at = _micros(draft.occurred_at)
    return (
        scope.tenant,
        number,
        created_at if occurred_at is None else occurred_at,
        number if arrival is None else arrival,
        id,
        version,
        draft.kind,
        scope.agent,
        scope.user,
        scope.room,
        created_at,
        recorded_at,
        superseded_at,
        occurred_at,
        _micros(draft.valid_from),
        _micros(draft.valid_to),
        _micros(draft.expires_at),
        deleted,
        draft.pinned,
        draft.importance,
        optional(draft.source, "source", id, version),
        draft.trust,
        optional(draft.quarantine, "quarantine", id, version),
        codec.encode_name(draft.speaker),
        len(draft.terms),
        draft.asks,
        codec.blind_fingerprint(draft.fingerprint),
        content_hash(draft.kind, stored_text(text), data),
        data,
        encode(draft.metadata, "metadata", id, version),
        *text,
    )


def stored_text(text: Sequence[Any]) -> Any:
    """Return the text of a version as it is stored: the last of its columns that holds anything."""
    return text[0] if text[-1] is None else text[-1]


def _micros(value: datetime | None) -> int | None:
    return None if value is None else to_micros(value)
