"""What a document is: its particulars, its chunks, and what a search finds in it."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from rememo.model.data_schemas import matches_schema
from rememo.model.receipt import AsyncReceipt, Outcome, Receipt
from rememo.model.record import Record
from rememo.model.record_wrapper import RecordWrapper

# A caller may use these kinds for something of his own: what is not of our making reads as empty.


def own_text(record: Record, name: str) -> str:
    """Return a text of a document or a chunk."""
    return str(record.data[name]) if matches_schema(record.kind, record.data) else ""


def own_number(record: Record, name: str) -> int:
    """Return a number of a document or a chunk."""
    return int(record.data[name]) if matches_schema(record.kind, record.data) else 0


def own_texts(record: Record, name: str) -> tuple[str, ...]:
    """Return texts of a document or a chunk, where there are any."""
    return tuple(record.data.get(name, ())) if matches_schema(record.kind, record.data) else ()


@dataclass(frozen=True, slots=True)
class Document(RecordWrapper):
    """A document, read from its record; its text is in its chunks."""

    @property
    def id(self) -> str:
        """The record's id: the same for the same content in the same scope, and kept when it is updated."""
        return self.record.id

    @property
    def title(self) -> str:
        """What it is called."""
        return own_text(self.record, "title")

    @property
    def summary(self) -> str:
        """Some of its sentences."""
        return own_text(self.record, "summary")

    @property
    def media_type(self) -> str:
        """What it was, such as `application/pdf`."""
        return own_text(self.record, "media_type")

    @property
    def size(self) -> int:
        """The bytes of the original."""
        return own_number(self.record, "size")

    @property
    def hash(self) -> str:
        """The SHA-256 of the original, in hexadecimal digits."""
        return own_text(self.record, "hash")

    @property
    def characters(self) -> int:
        """How long its text is."""
        return own_number(self.record, "characters")

    @property
    def chunks(self) -> int:
        """How many chunks it has."""
        return own_number(self.record, "chunks")

    @property
    def tags(self) -> tuple[str, ...]:
        """The words it was filed under."""
        return own_texts(self.record, "tags")

    @property
    def source(self) -> str | None:
        """Where it came from."""
        return self.record.source

    @property
    def metadata(self) -> Mapping[str, Any]:
        """The caller's own fields."""
        return self.record.metadata


@dataclass(frozen=True, slots=True)
class Chunk(RecordWrapper):
    """A part of a document: the characters from `start` to `end` of its text."""

    @property
    def text(self) -> str:
        """The exact slice of the document's text."""
        return self.record.text

    @property
    def document(self) -> str:
        """The id of its document."""
        return own_text(self.record, "document")

    @property
    def place(self) -> int:
        """Its number among the chunks, from 0."""
        return own_number(self.record, "place")

    @property
    def start(self) -> int:
        """Where it begins in the document's text."""
        return own_number(self.record, "start")

    @property
    def end(self) -> int:
        """Where it ends; the next chunk may begin a little earlier."""
        return own_number(self.record, "end")

    @property
    def headings(self) -> tuple[str, ...]:
        """The headings it stands under, the widest first."""
        return own_texts(self.record, "headings")


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """A chunk that answers a question, with its document."""

    document: Document
    chunk: Chunk
    score: float
    """From 0 to 1, comparable within one search."""
    reasons: Mapping[str, float] = field(default_factory=dict[str, float])
    """What each part of recall contributed to the score."""

    @property
    def text(self) -> str:
        """The chunk's text."""
        return self.chunk.text


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentReceipt(Receipt):
    """Proof of a document's write: all its records stand in it, and `id`, `version` and `outcome` are the document's."""

    @property
    def id(self) -> str:
        """The document."""
        return self.ids[0]

    @property
    def version(self) -> int:
        """The document's version."""
        return self.versions[self.id]

    @property
    def outcome(self) -> Outcome:
        """What happened to the document: `added`, `updated`, or `ignored` when it was there already."""
        return self.outcomes[self.id]


class AsyncDocumentReceipt(AsyncReceipt, DocumentReceipt):  # pyright: ignore[reportIncompatibleMethodOverride] - what it is for
    """The receipt of a document of an `AsyncMemory`: the same, with a `wait()` to be awaited."""


def to_async_document_receipt(receipt: DocumentReceipt) -> AsyncDocumentReceipt:
    """Return the receipt of a document as that of an `AsyncMemory`."""
    return AsyncDocumentReceipt(**{part.name: getattr(receipt, part.name) for part in fields(receipt)})


def to_document_receipt(receipt: Receipt) -> DocumentReceipt:
    """Return a receipt as that of a document."""
    return DocumentReceipt(**{field.name: getattr(receipt, field.name) for field in fields(receipt)})


def ignored_receipt(stored: Record) -> DocumentReceipt:
    """Return the receipt of a document that was stored already."""
    return DocumentReceipt(ids=(stored.id,), versions={stored.id: stored.version}, outcomes={stored.id: "ignored"})
