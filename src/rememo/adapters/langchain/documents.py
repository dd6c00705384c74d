"""LangChain's documents as records, and records as its documents."""

from collections.abc import Mapping
from typing import Any, Final

from langchain_core.documents import Document

from rememo.adapters.finding import Found, filterable, without_mark
from rememo.adapters.verbatim import given, kept, plain
from rememo.errors import InvalidInput
from rememo.model.record import Record

KIND: Final = "note"
OURS: Final[Mapping[str, Any]] = {"langchain": "document"}
"""What documents have in their metadata."""


def fields_of(text: str, metadata: Mapping[str, Any], id: str | None) -> dict[str, Any]:
    """Return a document as `add_many` takes it; it comes back as it was, whatever a record can hold."""
    if not isinstance(text, str):  # pyright: ignore[reportUnnecessaryIsInstance] - callers may be untyped
        raise InvalidInput(f"the text of a document must be text, not {type(text).__name__}")
    said, metadata = plain(text), without_mark(metadata)
    whole = {"id": id, "metadata": dict(metadata), "text": None if said == text else text}
    return {"text": said, "kind": KIND, "data": kept(whole), "metadata": {**filterable(metadata), **OURS}}


def document_of(record: Record) -> Document:
    """Return the document that a record holds; of any other record, its text and its metadata."""
    if record.metadata.get("langchain") != OURS["langchain"]:
        return Document(id=record.id, page_content=record.text, metadata=record.metadata)
    whole = given(record.data)
    text = record.text if whole["text"] is None else whole["text"]
    return Document(id=whole["id"] or record.id, page_content=text, metadata=whole["metadata"])


def found_document(found: Found) -> Document:
    """Return the document of a record that was found; one that was superseded says so in its metadata, under `rememo`."""
    document = document_of(found.record)
    return document if not found.mark else document.model_copy(update={"metadata": {**document.metadata, **found.mark}})
