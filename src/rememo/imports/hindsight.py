"""Hindsight: the archive that `export_bank` or `export_documents` returned, or what `list_memories` did, as JSON.

An archive holds a file for each document: the text that was retained, and the facts that were made of it. Beside them stand
observations, mental models and directives. Facts that were taken back, settings, logs and hooks stay where they are. A fact
is known by its id there, in either form.
"""

from collections.abc import Iterator
from typing import Final

from rememo.errors import InvalidInput
from rememo.imports.folder import Folder, open_folder
from rememo.imports.item import ImportItem, ReadResult, Skipped
from rememo.imports.json_values import Json, as_label, as_list, as_object, as_text, as_title, digest, drop_empty
from rememo.imports.message_times import parse_time
from rememo.imports.source_path import SourcePath, iter_entries, read_json

_SOURCE: Final = "hindsight"
_MAX_DOCUMENT: Final = 256 * 1024 * 1024
_TIMES: Final = ("occurred_start", "mentioned_at", "date", "event_date", "created_at")
_DETAILS: Final = ("fact_type", "context", "tags", "occurred_end", "document_id")
_EMPTY: Final = "a fact without words"
_INVALID: Final = "a fact that was taken back"
_OFF: Final = "a directive that is switched off"


def read(source: SourcePath) -> Iterator[ReadResult]:
    """Yield facts, observations and mental models as notes, directives as pinned ones, and what was retained as documents."""
    with open_folder(source) as folder:
        if not folder.is_single_file:
            yield from _archive(folder, source)
            return
    with source.open() as file:
        for entry in iter_entries(file, str(source.path), "items"):
            pages = as_list(as_object(entry).get("items")) or [entry]
            for row in pages:
                yield _fact(as_object(row))


def _archive(folder: Folder, source: SourcePath) -> Iterator[ReadResult]:
    if "manifest.json" not in folder.names:
        raise InvalidInput(
            f"{source.path} has no manifest.json; name the archive that Hindsight's export_bank returned"
        )
    for name in folder.names:
        where = f"{source.path}: {name}"
        if name.startswith("documents/") and name.endswith(".json"):
            if folder.size(name) > _MAX_DOCUMENT:
                raise InvalidInput(f"{where} is larger than any document: {folder.size(name):,} bytes")
            with folder.open(name) as file:
                yield from _document(as_object(read_json(file, where)))
        elif name in _ROW_READERS:
            with folder.open(name) as file:
                for row in iter_entries(file, where):
                    yield _ROW_READERS[name](as_object(row))


def _document(values: Json) -> Iterator[ReadResult]:
    """Yield what was retained, and the facts in it."""
    id, text = as_label(values.get("id")) or digest(values)[:32], as_text(values.get("original_text"))
    if text.strip():
        yield ImportItem(
            kind="document", origin=(_SOURCE, f"document:{id}"), title=as_title(id), text=text,
            at=parse_time(values.get("created_at")), metadata=drop_empty({"document_id": id, "tags": values.get("tags")}),
        )  # fmt: skip
    for row in as_list(values.get("facts")):
        yield _fact({"document_id": id} | as_object(row))


def _fact(row: Json) -> ReadResult:
    """Return a fact, as an archive or a list has it."""
    text = as_text(row.get("text"))
    if row.get("state") == "invalidated":
        return Skipped(_INVALID)
    if not text.strip():
        return Skipped(_EMPTY)
    id = as_label(row.get("source_id")) or as_label(row.get("id")) or digest(row)[:32]
    names = row.get("entities")
    entities = [name.strip() for name in names.split(",")] if isinstance(names, str) else as_list(names)
    details: Json = {name: row.get(name) for name in _DETAILS} | {"entities": [entity for entity in entities if entity]}
    times = (parse_time(row.get(name)) for name in _TIMES)
    return ImportItem(
        kind="note", origin=(_SOURCE, id), text=text, at=next(filter(None, times), None),
        metadata=drop_empty(as_object(row.get("metadata")) | details),
    )  # fmt: skip


def _observation(row: Json) -> ReadResult:
    return _fact({"fact_type": "observation"} | row)


def _model(row: Json) -> ReadResult:
    """Return a mental model, or the one that holds the text of a knowledge page."""
    fields = {"source_id": row.get("id"), "text": row.get("content"), "tags": row.get("tags")}
    times = {"created_at": row.get("last_refreshed_at") or row.get("created_at")}
    return _fact(fields | times | {"metadata": {"mental_model": row.get("name"), "question": row.get("source_query")}})


def _directive(row: Json) -> ReadResult:
    text = as_text(row.get("content"))
    if row.get("is_active") is False:
        return Skipped(_OFF)
    if not text.strip():
        return Skipped(_EMPTY)
    return ImportItem(
        kind="note", origin=(_SOURCE, as_label(row.get("id")) or digest(row)[:32]), text=text, pinned=True,
        at=parse_time(row.get("created_at")), metadata=drop_empty({"directive": row.get("name"), "tags": row.get("tags")}),
    )  # fmt: skip


def _invalid(_: Json) -> ReadResult:
    return Skipped(_INVALID)


_ROW_READERS: Final = {
    "observations.json": _observation,
    "mental_models.json": _model,
    "directives.json": _directive,
    "data/invalidated_memory_units.json": _invalid,
}
