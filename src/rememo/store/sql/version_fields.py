"""The fields of a version that are compressed or encrypted: read from its row, and written back for an id."""

from collections.abc import Mapping, Sequence
from typing import Any

from rememo.store.cipher.codec import FieldCodec
from rememo.store.commits import content_hash
from rememo.store.record_columns import FIELD_COLUMNS, stored_text
from rememo.store.sql.dialect import SqlDialect


def field_columns(dialect: SqlDialect) -> tuple[str, ...]:
    """Return the columns that `decode_fields` reads: those of the text first."""
    return (*dialect.text_columns, *FIELD_COLUMNS)


def update_fields(dialect: SqlDialect) -> str:
    """Return the assignments of an UPDATE whose values `encode_fields` makes."""
    return ", ".join(f"{name} = ?" for name in (*field_columns(dialect), "hash"))


def decode_fields(codec: FieldCodec, stored: Sequence[Any], id: str, version: int) -> dict[str, str | None]:
    """Return the plaintext of every field of a version by its name; what is not what was written raises `Corrupt`."""
    *text, data, metadata, source, quarantine = stored
    fields = zip(FIELD_COLUMNS, (data, metadata, source, quarantine), strict=True)
    return {
        "text": codec.decode_text_columns(text, id, version),
        **{name: codec.decode_optional(value, name, id, version) for name, value in fields},
    }


def encode_fields(
    codec: FieldCodec, kind: str, fields: Mapping[str, str | None], id: str, version: int
) -> tuple[Any, ...]:
    """Return the values of `update_fields` for a version, with the hash of its content."""
    text = codec.encode_text_columns(fields["text"] or "", id, version)
    rest = [codec.encode_optional(fields[name], name, id, version) for name in FIELD_COLUMNS]
    return (*text, *rest, content_hash(kind, stored_text(text), rest[0] or ""))
