"""Documents: files and long texts, kept in chunks that can be found and put together again."""

import os
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from datetime import datetime
from hashlib import sha256
from pathlib import PurePath
from typing import Any, cast

from rememo.collections.base import Collection, check_not_blank, drop_none
from rememo.collections.document import Chunk, Document, DocumentReceipt, Passage
from rememo.engine.search import Mode, Query, search
from rememo.engine.view import View
from rememo.errors import AlreadyExists, InvalidInput, NotFound, VersionConflict
from rememo.model.check import check_label, check_limit, check_offset, check_text, check_unit, check_version
from rememo.model.derived_ids import DerivedId, is_derived
from rememo.model.derived_names import chunk_name, document_name
from rememo.model.filters import Condition, Filter
from rememo.model.receipt import Receipt
from rememo.model.record import Record
from rememo.runtime.retry import retry_on_conflict
from rememo.safety.guard import hold_whole_documents
from rememo.store.writes import Remove, Write
from rememo.summary.extractive import summarise
from rememo.text.document_readers import DocumentLimits, DocumentText
from rememo.text.documents import TEXT, extract, load, media_type_of, too_long
from rememo.text.splitting import TextChunk, find_headings, join_chunks, split_text

_MOST_TAGS = 64
_MOST_HITS = 1_000
_LONGEST_TITLE = 300
_LONGEST_SUMMARY = 2_000
_LONGEST_HEADING = 200
_PAGE = 1_000
_MOST_TRIES = 50
_PARTICULARS = ("media_type", "size", "hash", "characters", "source", "tags")
"""What a document's data holds of where it came from."""


class Documents(Collection):
    """The documents within a view."""

    kind = "document"

    def __init__(self, view: View, *, limits: DocumentLimits | None = None) -> None:
        super().__init__(view)
        self._limits = limits or DocumentLimits()

    # ---- writing

    def add(
        self,
        *,
        title: str | None = None,
        text: str | None = None,
        path: str | os.PathLike[str] | None = None,
        data: bytes | None = None,
        source: str | None = None,
        tags: Iterable[str] = (),
        media_type: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        key: str | None = None,
    ) -> DocumentReceipt:
        """Remember a document: one of `text`, `path` or `data` (a file's bytes). All of it is stored, or nothing.

        Text, Markdown, HTML, PDF and DOCX are read; what a file is, its content decides before its name, and
        `media_type` is needed only where both say nothing. The same content again in the same scope is not stored
        twice: the outcome is `ignored` and the id is that of the first; content that a document got by `update()` is not
        looked for. A file that is empty, damaged, encrypted, too large or not what it says raises `InvalidInput`. Without
        a `source` it is the file's name.
        """
        self._view.need_present()
        if (first := self._first_receipt(key)) is not None:
            return first
        wanted = None if media_type is None else media_type_of(media_type)
        filed = _check_tags(tags)
        source, title = _check_source_and_title(source, title)
        name, original = self._read_original(text, path, data, source)
        id, stored = self._find_id(sha256(original).hexdigest())
        if stored is not None:
            return _ignored_receipt(stored)
        content = self._read_content(name, original, text, wanted)
        if source is None and path is not None and name.isprintable():
            source = name
        particulars = {**content.particulars, **drop_none(source=source, tags=filed or None)}
        named = None if path is None else PurePath(path).stem
        titled, more = self._view.engine.redact(title or _title(content.extracted, named))
        items = self._make_items(id, titled, content.extracted.text, particulars, metadata)
        if self._view.engine.settings.redact:
            for place, item in enumerate(items):
                item["redacted"] = content.redacted + more if place == 0 else {}
        return self._put(id, items, key)

    def update(
        self,
        id: str,
        *,
        title: str | None = None,
        text: str | None = None,
        path: str | os.PathLike[str] | None = None,
        data: bytes | None = None,
        source: str | None = None,
        tags: Iterable[str] | None = None,
        media_type: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        expected_version: int | None = None,
        key: str | None = None,
    ) -> DocumentReceipt:
        """Change a document: one of `text`, `path` or `data` is read in the place of what was there, under the same id.

        It is split anew, and the document and all its chunks change in one transaction; `known_at` shows what was there,
        and `undo()` of the receipt brings it back. What is not given stays, but for a title: content that has one
        of its own gives the title. With `expected_version` a document that has moved on raises `VersionConflict`.
        """
        self._view.need_present()
        self._view.need_no_batch("documents.update()")
        if (first := self._first_receipt(key)) is not None:
            return first
        wanted = None if media_type is None else media_type_of(media_type)
        filed = None if tags is None else _check_tags(tags)
        source, title = _check_source_and_title(source, title)
        content: _Content | None = None
        if text is not None or path is not None or data is not None:
            name, original = self._read_original(text, path, data, source)
            content = self._read_content(name, original, text, wanted)
        elif title is source is filed is metadata is None:
            raise InvalidInput("update() was given nothing to change; give text=, path= or data=, a title or tags")

        def prepare() -> "list[Write]":
            record = self._record(id)
            if expected_version is not None and record.version != check_version(expected_version):
                raise VersionConflict(
                    f"document {id!r} is at version {record.version}, not {expected_version};"
                    " read it again and repeat the change"
                )
            particulars = {name: record.data[name] for name in _PARTICULARS if name in record.data}
            body, titled = "", title
            if content is None:
                body = self.text(id)
            else:
                body = content.extracted.text
                particulars |= content.particulars
                titled = title or _own_title(content.extracted)
            particulars |= drop_none(source=source) | ({} if filed is None else {"tags": filed})
            if not particulars.get("tags"):
                particulars.pop("tags", None)
            named, taken = self._view.engine.redact(titled or Document(record).title)
            taken += Counter() if content is None else content.redacted
            kept = record.metadata if metadata is None else metadata
            return self._update_writes(record, named, body, particulars, kept, redacted=taken)

        def write(writes: "list[Write]") -> DocumentReceipt:
            return _to_document_receipt(self._view.commit(writes, key))

        if expected_version is not None:
            return write(prepare())
        return retry_on_conflict(
            prepare, write, f"document {id!r}", attempts=_MOST_TRIES, conflicts=(NotFound, VersionConflict)
        )

    def delete(self, id: str, *, expected_version: int | None = None, key: str | None = None) -> Receipt:
        """End a document with all its chunks, in one transaction; `undo()` of the receipt brings all of it back."""
        self._view.need_present()
        if (first := self._first_receipt(key)) is not None:
            return first
        receipt = self._view.remove(self._record(id).id, expected_version, key)
        return receipt if receipt.status == "pending" else _to_document_receipt(receipt)

    # ---- reading

    def get(self, id: str, *, known_at: datetime | None = None) -> Document:
        """Return a document; one that is not in this scope raises `NotFound`."""
        return Document(self._record(id, known_at=known_at))

    def list(
        self,
        *,
        tags: Iterable[str] = (),
        source: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        limit: int = 100,
        offset: int = 0,
        known_at: datetime | None = None,
    ) -> "list[Document]":
        """Return the latest `limit` documents that have all the tags, oldest first; `offset` passes over the newest."""
        filter = self._filter_by("document", tags, source, metadata=metadata, known_at=known_at)
        return [Document(record) for record in self._read(filter, limit, offset)]

    def text(self, id: str, *, known_at: datetime | None = None) -> str:
        """Return the whole text of a document, exactly as it was read."""
        document = self.get(id, known_at=known_at)
        chunks = self._chunks(self._chunk_ids(document.id, document.chunks), known_at)
        text = join_chunks([(chunk.start, chunk.end, chunk.text) for chunk in chunks])
        if len(text) != document.characters:
            raise NotFound(f"document {id!r} lacks some of its chunks: they were deleted; add the document again")
        return text

    def chunks(
        self,
        id: str,
        *,
        relevant_to: str | None = None,
        limit: int | None = None,
        offset: int = 0,
        known_at: datetime | None = None,
    ) -> "list[Chunk]":
        """Return the chunks of a document in their order; with `relevant_to`, those that answer it, best first.

        Without a `limit` all come, or the ten best.
        """
        document = self.get(id, known_at=known_at)
        ids = self._chunk_ids(document.id, document.chunks)
        check_offset(offset)
        if relevant_to is None:
            end = len(ids) if limit is None else offset + check_limit(limit)
            return self._chunks(ids[offset:end], known_at)
        most = offset + (10 if limit is None else check_limit(limit, maximum=_MOST_HITS))
        filter = self._view.filter(kind="chunk", ids=ids, known_at=known_at)
        ranked = self._query(relevant_to, filter, min(most, _MOST_HITS))
        return [Chunk(hit.record) for hit in search(self._view.engine, ranked)][offset:]

    def search(
        self,
        query: str,
        *,
        limit: int = 10,
        tags: Iterable[str] = (),
        source: str | None = None,
        threshold: float = 0.0,
        mode: Mode = "hybrid",
        known_at: datetime | None = None,
        explain: bool = False,
    ) -> "list[Passage]":
        """Return the chunks of all documents that answer a question, each with its document, best first."""
        filter = self._filter_by("chunk", tags, source, known_at=known_at)
        wanted = self._query(query, filter, check_limit(limit, maximum=_MOST_HITS))
        wanted = replace(wanted, threshold=check_unit(threshold, "threshold"), mode=self._mode(mode), explain=explain)
        hits = search(self._view.engine, wanted)
        ids = sorted({str(hit.record.data.get("document")) for hit in hits})
        records = self._read(self._view.filter(kind="document", ids=ids, known_at=known_at), None)
        documents = {record.id: Document(record) for record in records}
        return [
            Passage(document=documents[chunk.document], chunk=chunk, score=hit.score, reasons=hit.reasons)
            for hit, chunk in ((hit, Chunk(hit.record)) for hit in hits)
            if chunk.document in documents
        ]

    def summary(self, id: str, *, sentences: int = 5) -> str:
        """Return the sentences of a document that say most, in their order, word for word."""
        return summarise(self.text(id), sentences=sentences, analyzer=self._view.engine.analyzer)

    # ---- parts

    def _first_receipt(self, key: str | None) -> DocumentReceipt | None:
        if key is None or self._view.batching is not None:  # a key inside a batch is refused by the view
            return None
        first = self._view.engine.first_receipt(self._view.scope, key)
        return None if first is None else _to_document_receipt(first)

    def _derive(self, name: str) -> DerivedId:
        return self._view.engine.ids.derive(self._view.scope.tenant, name)

    def _chunk_ids(self, document: str, count: int) -> "tuple[DerivedId, ...]":
        """Return the ids of a document's chunks, in order: known without a search."""
        if not is_derived(document):
            return ()  # a record of a caller's own, that only bears the kind
        name = self._view.engine.ids.name(self._view.scope.tenant, document)
        return tuple(self._derive(chunk_name(name, place)) for place in range(count))

    def _find_id(self, hash: str) -> "tuple[DerivedId, Record | None]":
        """Return the id that some content has or gets, and the document that has it already.

        A document that was changed keeps the id of what it was; that content, when it comes again, gets another.
        """
        name = document_name(self._view.scope, hash)
        while True:
            id = self._derive(name)
            stored = self._view.find(id, quarantined=None)
            if stored is None or stored.data.get("hash") == hash:
                return id, stored
            name = document_name(self._view.scope, f"{name} {hash}")

    def _read_content(self, name: str, original: bytes, text: str | None, media_type: str | None) -> "_Content":
        """Read what was given."""
        if text is not None and media_type in (None, TEXT):
            kind, extracted = TEXT, self._read_text(text, original)
        else:
            kind, extracted = extract(original, name, media_type, self._limits)
        # Before it is split: the places of its parts are counted in what is stored.
        clean, taken = self._view.engine.redact(extracted.text)
        hash = sha256(original).hexdigest()
        particulars = {"media_type": kind, "size": len(original), "hash": hash, "characters": len(clean)}
        return _Content(extracted=replace(extracted, text=clean), particulars=particulars, redacted=taken)

    def _update_writes(
        self,
        record: Record,
        title: str,
        text: str,
        particulars: dict[str, Any],
        metadata: Mapping[str, Any],
        *,
        redacted: Counter[str],
    ) -> "list[Write]":
        """Return the writes that make a document another; where a part of it is suspicious, all of it is held back."""
        engine = self._view.engine
        document, *chunks = self._make_items(record.id, title, text, particulars, metadata)
        own: dict[str, Any] = {"trust": record.trust, "expires_at": record.expires_at, "on_conflict": "replace"}
        changed = {name: document[name] for name in ("text", "data", "metadata", "source")}
        if engine.settings.redact:
            own["redacted"], changed["redacted"] = {}, redacted
        puts = engine.puts(record.scope, [{**chunk, **own} for chunk in chunks])
        revised = engine.revise(record, changed)
        hold_whole_documents([revised.draft, *(put.draft for put in puts)], [document, *chunks])
        engine.guard.count(puts, engine.now)
        ids = self._chunk_ids(record.id, Document(record).chunks)[len(chunks) :]
        filter = Filter(scope=record.scope, kinds=("chunk",), ids=ids, quarantined=None)
        rest = engine.store.read(filter, engine.now()) if ids else []
        return [revised, *puts, *(Remove(id=chunk.id, scope=chunk.scope, expected=chunk.version) for chunk in rest)]

    def _read_original(
        self, text: object, path: str | os.PathLike[str] | None, data: object, source: str | None
    ) -> tuple[str, bytes]:
        """Return the name of what was given and its bytes."""
        if sum(given is not None for given in (text, path, data)) != 1:
            raise InvalidInput("a document needs exactly one of text=, path= and data=")
        if path is not None:
            content = load(path, self._limits)
            return PurePath(path).name or str(path), content
        name = source or ("text" if data is None else "data")
        if text is not None:
            check_text(text, "text", max_bytes=self._limits.bytes)
            return name, str(text).encode()
        if not isinstance(data, bytes | bytearray):
            raise InvalidInput(f"data must be bytes, not {type(data).__name__}; use text= for text")
        return name, bytes(data)

    def _read_text(self, text: str, original: bytes) -> DocumentText:
        if not text.strip():
            raise InvalidInput(f"text has {len(original)} bytes and no word; there is nothing to remember")
        if len(text) > self._limits.characters:
            raise too_long("text", text, self._limits)
        return DocumentText(text)

    def _make_items(
        self, id: str, title: str, text: str, particulars: dict[str, Any], metadata: Mapping[str, Any] | None
    ) -> "list[dict[str, Any]]":
        """Return the fields of the document and of its chunks."""
        pieces = split_text(text)
        if len(pieces) > self._limits.chunks:
            raise InvalidInput(
                f"{title!r} makes {len(pieces):,} chunks, more than the {self._limits.chunks:,} allowed; split it into parts"
            )
        summary = _shorten(summarise(text, analyzer=self._view.engine.analyzer), _LONGEST_SUMMARY)
        source = particulars.get("source")
        document: dict[str, Any] = {
            "kind": "document",
            "id": id,
            "text": f"{title}\n\n{summary}",
            "data": {"title": title, "summary": summary, **particulars, "chunks": len(pieces)},
            "metadata": metadata,
            "source": source,
        }
        ids = self._chunk_ids(id, len(pieces))
        shared = drop_none(document=str(id), tags=particulars.get("tags"), source=source)
        chunks: list[dict[str, Any]] = [
            {
                "kind": "chunk",
                "id": ids[place],
                "text": text[piece.start : piece.end],
                "data": {**shared, **_chunk_data(place, piece)},
                "source": source,
            }
            for place, piece in enumerate(pieces)
        ]
        return [document, *chunks]

    def _put(self, id: str, items: "list[dict[str, Any]]", key: str | None) -> DocumentReceipt:
        batching = self._view.batching is not None
        # A document that somebody else adds meanwhile stops the whole transaction, so no chunks are mixed; chunks
        # alone, whose document was deleted as a plain record, are taken over.
        items[0]["on_conflict"] = "ignore" if batching else "error"
        for item in items[1:]:
            item["on_conflict"] = "ignore" if batching else "replace"
        try:
            return _to_document_receipt(self._view.put(items, key))
        except AlreadyExists:
            stored = self._view.find(id, quarantined=None)
            if stored is None:
                raise
            return _ignored_receipt(stored)

    def _chunks(self, ids: tuple[str, ...], known_at: datetime | None = None) -> "list[Chunk]":
        chunks: list[Chunk] = []
        for start in range(0, len(ids), _PAGE):
            filter = self._view.filter(kind="chunk", ids=ids[start : start + _PAGE], known_at=known_at)
            chunks += [Chunk(record) for record in self._read(filter, None)]
        return sorted(chunks, key=lambda chunk: chunk.place)

    def _filter_by(
        self,
        kind: str,
        tags: Iterable[str],
        source: str | None,
        *,
        metadata: Mapping[str, Any] | None = None,
        known_at: datetime | None = None,
    ) -> Filter:
        conditions = tuple(Condition("data", ("tags",), "$contains", tag) for tag in _check_tags(tags))
        if source is not None:
            conditions += (Condition("data", ("source",), "$eq", check_label(source, "source")),)
        return self._view.filter(kind=kind, metadata=metadata, known_at=known_at, conditions=conditions)

    def _query(self, text: str, filter: Filter, limit: int) -> Query:
        engine = self._view.engine
        check_not_blank(text, "query", most=engine.settings.max_text_bytes)
        return Query(
            text=text, filter=filter, limit=limit, threshold=0.0, mode="hybrid", at=engine.now(), explain=False
        )

    def _mode(self, mode: Mode) -> Mode:
        if mode not in ("hybrid", "words", "vector"):
            raise InvalidInput(f'mode must be "hybrid", "words" or "vector", not {mode!r}')
        if mode == "vector" and not self._view.engine.model.active.chosen:
            raise InvalidInput("mode='vector' needs an embedder, and this memory was opened with embedder=None")
        return mode


@dataclass(frozen=True, slots=True, kw_only=True)
class _Content:
    """What was read of a document."""

    extracted: DocumentText
    particulars: dict[str, Any]
    redacted: Counter[str]


def _check_source_and_title(source: str | None, title: str | None) -> tuple[str | None, str | None]:
    if source is not None:
        check_label(source, "source")
    return source, None if title is None else check_not_blank(title, "title", most=_LONGEST_TITLE * 4)


def _check_tags(tags: object) -> tuple[str, ...]:
    if isinstance(tags, str) or not isinstance(tags, Iterable):
        raise InvalidInput("tags must be a collection of words; write tags=[…] for one")
    unique = tuple(dict.fromkeys(check_label(tag, "a tag") for tag in cast("Iterable[object]", tags)))
    if len(unique) > _MOST_TAGS:
        raise InvalidInput(f"there are {len(unique)} tags, more than the {_MOST_TAGS} allowed")
    return unique


def _title(extracted: DocumentText, named: str | None) -> str:
    """Return a title for a document without one: what it calls itself, else its file's name, else its first line."""
    first = extracted.text.strip().split("\n", 1)[0]
    return _own_title(extracted) or _first_title(named, first) or "untitled"


def _own_title(extracted: DocumentText) -> str | None:
    """Return what a document calls itself."""
    headings = find_headings(extracted.text)
    return _first_title(extracted.title, headings[0].title if headings else None)


def _first_title(*candidates: str | None) -> str | None:
    for candidate in candidates:
        title = "" if candidate is None else " ".join(candidate.split())
        if title and title.isprintable():
            return _shorten(title, _LONGEST_TITLE)
    return None


def _shorten(text: str, most: int) -> str:
    if len(text) <= most:
        return text
    cut = text[: most - 1]
    return f"{cut.rsplit(maxsplit=1)[0] if ' ' in cut else cut}…"


def _chunk_data(place: int, piece: TextChunk) -> dict[str, Any]:
    headings = [_shorten(heading, _LONGEST_HEADING) for heading in piece.headings]
    return drop_none(place=place, start=piece.start, end=piece.end, headings=headings or None)


def _to_document_receipt(receipt: Receipt) -> DocumentReceipt:
    return DocumentReceipt(**{field.name: getattr(receipt, field.name) for field in fields(receipt)})


def _ignored_receipt(stored: Record) -> DocumentReceipt:
    return DocumentReceipt(ids=(stored.id,), versions={stored.id: stored.version}, outcomes={stored.id: "ignored"})
