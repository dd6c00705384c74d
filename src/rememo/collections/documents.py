"""Documents: files and long texts, kept in chunks that can be found and put together again."""

import os
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from hashlib import sha256
from pathlib import PurePath
from typing import Any

from rememo.collections.base import Collection, check_mode, check_not_blank, drop_none
from rememo.collections.document import Chunk, Document, DocumentReceipt, Passage, ignored_receipt, to_document_receipt
from rememo.collections.document_content import DocumentContent, read_content, read_original
from rememo.collections.document_fields import (
    check_source_and_title,
    check_tags,
    chunk_data,
    make_title,
    own_title,
    shorten,
)
from rememo.engine.search import Mode, Query, search
from rememo.engine.view import View
from rememo.errors import AlreadyExists, InvalidInput, NotFound, VersionConflict
from rememo.model.check import check_label, check_limit, check_offset, check_unit, check_version
from rememo.model.derived_ids import DerivedId, is_derived
from rememo.model.derived_names import chunk_name, document_name
from rememo.model.filters import Condition, Filter
from rememo.model.receipt import Receipt
from rememo.model.record import Record
from rememo.runtime.retry import retry_on_conflict
from rememo.safety.guard import hold_whole_documents
from rememo.store.writes import Remove, Write
from rememo.summary.extractive import summarise
from rememo.text.document_readers import DocumentLimits
from rememo.text.documents import media_type_of
from rememo.text.splitting import join_chunks, split_text

_MOST_HITS = 1_000
_LONGEST_SUMMARY = 2_000
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
        checked_media_type = None if media_type is None else media_type_of(media_type)
        checked_tags = check_tags(tags)
        source, title = check_source_and_title(source, title)
        name, original = read_original(self._limits, text, path, data, source)
        id, stored = self._find_id(sha256(original).hexdigest())
        if stored is not None:
            return ignored_receipt(stored)
        content = read_content(
            self._view.engine, self._limits, name, original, text=text, media_type=checked_media_type
        )
        if source is None and path is not None and name.isprintable():
            source = name
        particulars = {**content.particulars, **drop_none(source=source, tags=checked_tags or None)}
        named = None if path is None else PurePath(path).stem
        titled, more = self._view.engine.drafts.redact(title or make_title(content.extracted, named))
        items = self._make_items(id, titled, content.extracted.text, particulars, metadata)
        if self._view.engine.settings.redact:
            for index, item in enumerate(items):
                item["redacted"] = content.redacted + more if index == 0 else {}
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
        of its own gives the title. With `expected_version` a document with another version raises `VersionConflict`.
        """
        self._view.need_present()
        self._view.need_no_batch("documents.update()")
        if (first := self._first_receipt(key)) is not None:
            return first
        checked_media_type = None if media_type is None else media_type_of(media_type)
        checked_tags = None if tags is None else check_tags(tags)
        source, title = check_source_and_title(source, title)
        content: DocumentContent | None = None
        if text is not None or path is not None or data is not None:
            name, original = read_original(self._limits, text, path, data, source)
            content = read_content(
                self._view.engine, self._limits, name, original, text=text, media_type=checked_media_type
            )
        elif title is source is checked_tags is metadata is None:
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
                titled = title or own_title(content.extracted)
            particulars |= drop_none(source=source) | ({} if checked_tags is None else {"tags": checked_tags})
            if not particulars.get("tags"):
                particulars.pop("tags", None)
            named, redacted = self._view.engine.drafts.redact(titled or Document(record).title)
            redacted += Counter() if content is None else content.redacted
            new_metadata = record.metadata if metadata is None else metadata
            return self._update_writes(record, named, body, particulars, new_metadata, redacted=redacted)

        def write(writes: "list[Write]") -> DocumentReceipt:
            return to_document_receipt(self._view.commit(writes, key))

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
        return receipt if receipt.status == "pending" else to_document_receipt(receipt)

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
        search_query = self._query(query, filter, check_limit(limit, maximum=_MOST_HITS))
        search_query = replace(
            search_query,
            threshold=check_unit(threshold, "threshold"),
            mode=check_mode(self._view.engine, mode),
            explain=explain,
        )
        hits = search(self._view.engine, search_query)
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
        return None if first is None else to_document_receipt(first)

    def _derive(self, name: str) -> DerivedId:
        return self._view.engine.ids.derive(self._view.scope.tenant, name)

    def _chunk_ids(self, document: str, count: int) -> "tuple[DerivedId, ...]":
        """Return the ids of a document's chunks, in order: known without a search."""
        if not is_derived(document):
            return ()  # a record of a caller's own, that only bears the kind
        name = self._view.engine.ids.name(self._view.scope.tenant, document)
        return tuple(self._derive(chunk_name(name, index)) for index in range(count))

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
        fields: dict[str, Any] = {"trust": record.trust, "expires_at": record.expires_at, "on_conflict": "replace"}
        changed = {name: document[name] for name in ("text", "data", "metadata", "source")}
        if engine.settings.redact:
            fields["redacted"], changed["redacted"] = {}, redacted
        puts = engine.drafts.puts(record.scope, [{**chunk, **fields} for chunk in chunks])
        revised = engine.drafts.revise(record, changed)
        hold_whole_documents([revised.draft, *(put.draft for put in puts)], [document, *chunks])
        engine.guard.count(puts, engine.now)
        ids = self._chunk_ids(record.id, Document(record).chunks)[len(chunks) :]
        filter = Filter(scope=record.scope, kinds=("chunk",), ids=ids, quarantined=None)
        rest = engine.store.read(filter, engine.now()) if ids else []
        return [revised, *puts, *(Remove(id=chunk.id, scope=chunk.scope, expected=chunk.version) for chunk in rest)]

    def _make_items(
        self, id: str, title: str, text: str, particulars: dict[str, Any], metadata: Mapping[str, Any] | None
    ) -> "list[dict[str, Any]]":
        """Return the fields of the document and of its chunks."""
        pieces = split_text(text)
        if len(pieces) > self._limits.chunks:
            raise InvalidInput(
                f"{title!r} makes {len(pieces):,} chunks, more than the {self._limits.chunks:,} allowed; split it into parts"
            )
        summary = shorten(summarise(text, analyzer=self._view.engine.analyzer), _LONGEST_SUMMARY)
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
                "id": ids[index],
                "text": text[piece.start : piece.end],
                "data": {**shared, **chunk_data(index, piece)},
                "source": source,
            }
            for index, piece in enumerate(pieces)
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
            return to_document_receipt(self._view.put(items, key))
        except AlreadyExists:
            stored = self._view.find(id, quarantined=None)
            if stored is None:
                raise
            return ignored_receipt(stored)

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
        conditions = tuple(Condition("data", ("tags",), "$contains", tag) for tag in check_tags(tags))
        if source is not None:
            conditions += (Condition("data", ("source",), "$eq", check_label(source, "source")),)
        return self._view.filter(kind=kind, metadata=metadata, known_at=known_at, conditions=conditions)

    def _query(self, text: str, filter: Filter, limit: int) -> Query:
        engine = self._view.engine
        check_not_blank(text, "query", most=engine.settings.max_text_bytes)
        return Query(
            text=text, filter=filter, limit=limit, threshold=0.0, mode="hybrid", at=engine.now(), explain=False
        )
