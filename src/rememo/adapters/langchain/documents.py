"""LangChain's documents as records, and records as its documents."""

from collections.abc import Mapping
from typing import Any, Final

from langchain_core.documents import Document

from rememo.adapters.json_values import pack_json, storable_text, unpack_json
from rememo.adapters.retrieval import RetrievedRecord, filterable_metadata, strip_standing
from rememo.errors import InvalidInput
from rememo.model.record import Record

KIND: Final = "note"
DOCUMENT_MARK: Final[Mapping[str, Any]] = {"langchain": "document"}
"""The metadata that marks a document's record."""


def note_fields(text: str, metadata: Mapping[str, Any], id: str | None) -> dict[str, Any]:
    """Return a document as an item for `add_many`; it reads back unchanged, whatever a record can store."""
    if not isinstance(text, str):  # pyright: ignore[reportUnnecessaryIsInstance] - callers may be untyped
        raise InvalidInput(f"the text of a document must be text, not {type(text).__name__}")
    stored, metadata = storable_text(text), strip_standing(metadata)
    original = {"id": id, "metadata": dict(metadata), "text": None if stored == text else text}
    return {
        "text": stored,
        "kind": KIND,
        "data": pack_json(original),
        "metadata": {**filterable_metadata(metadata), **DOCUMENT_MARK},
    }


def read_document(record: Record) -> Document:
    """Return the document that a record holds; of any other record, its text and its metadata."""
    if record.metadata.get("langchain") != DOCUMENT_MARK["langchain"]:
        return Document(id=record.id, page_content=record.text, metadata=record.metadata)
    original = unpack_json(record.data)
    text = record.text if original["text"] is None else original["text"]
    return Document(id=original["id"] or record.id, page_content=text, metadata=original["metadata"])


def retrieved_document(retrieved: RetrievedRecord) -> Document:
    """Return the document of a retrieved record; a superseded one says so in its metadata, under `rememo`."""
    document = read_document(retrieved.record)
    return (
        document
        if not retrieved.mark
        else document.model_copy(update={"metadata": {**document.metadata, **retrieved.mark}})
    )
