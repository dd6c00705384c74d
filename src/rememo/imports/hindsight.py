"""Hindsight: the archive that `export_bank` or `export_documents` returned, or what `list_memories` did, as JSON.

An archive holds a file for each document: the text that was retained, and the facts that were made of it. Beside them stand
observations, mental models and directives. Facts that were taken back, settings, logs and hooks stay where they are. A fact
is known by its id there, in either form.
"""

from collections.abc import Iterator
from typing import Final

from rememo.errors import InvalidInput
from rememo.imports.folder import Folder, folder_of
from rememo.imports.item import (
    Found,
    Item,
    Json,
    Left,
    as_list,
    as_object,
    as_text,
    digest,
    label,
    moment,
    plain,
    short,
)
from rememo.imports.source_path import Place, entries, whole

_SOURCE: Final = "hindsight"
_LARGEST: Final = 256 * 1024 * 1024
_TIMES: Final = ("occurred_start", "mentioned_at", "date", "event_date", "created_at")
_DETAILS: Final = ("fact_type", "context", "tags", "occurred_end", "document_id")
_EMPTY: Final = "a fact without words"
_INVALID: Final = "a fact that was taken back"
_OFF: Final = "a directive that is switched off"


def read(place: Place) -> Iterator[Found]:
    """Give facts, observations and mental models as notes, directives as pinned ones, and what was retained as documents."""
    with folder_of(place) as folder:
        if not folder.single:
            yield from _archive(folder, place)
            return
    with place.opened() as file:
        for one in entries(file, str(place.path), "items"):
            pages = as_list(as_object(one).get("items")) or [one]
            for row in pages:
                yield _fact(as_object(row))


def _archive(folder: Folder, place: Place) -> Iterator[Found]:
    if "manifest.json" not in folder.names:
        raise InvalidInput(f"{place.path} has no manifest.json; name the archive that Hindsight's export_bank returned")
    for name in folder.names:
        where = f"{place.path}: {name}"
        if name.startswith("documents/") and name.endswith(".json"):
            if folder.size(name) > _LARGEST:
                raise InvalidInput(f"{where} is larger than any document: {folder.size(name):,} bytes")
            with folder.opened(name) as file:
                yield from _document(as_object(whole(file, where)))
        elif name in _ROWS:
            with folder.opened(name) as file:
                for row in entries(file, where):
                    yield _ROWS[name](as_object(row))


def _document(values: Json) -> Iterator[Found]:
    """Give what was retained, and the facts in it."""
    id, text = label(values.get("id")) or digest(values)[:32], as_text(values.get("original_text"))
    if text.strip():
        yield Item(
            kind="document", origin=(_SOURCE, f"document:{id}"), title=short(id), text=text,
            at=moment(values.get("created_at")), metadata=plain({"document_id": id, "tags": values.get("tags")}),
        )  # fmt: skip
    for row in as_list(values.get("facts")):
        yield _fact({"document_id": id} | as_object(row))


def _fact(row: Json) -> Found:
    """Return a fact, as an archive or a list has it."""
    text = as_text(row.get("text"))
    if row.get("state") == "invalidated":
        return Left(_INVALID)
    if not text.strip():
        return Left(_EMPTY)
    id = label(row.get("source_id")) or label(row.get("id")) or digest(row)[:32]
    names = row.get("entities")
    entities = [one.strip() for one in names.split(",")] if isinstance(names, str) else as_list(names)
    details: Json = {name: row.get(name) for name in _DETAILS} | {"entities": [one for one in entities if one]}
    times = (moment(row.get(name)) for name in _TIMES)
    return Item(
        kind="note", origin=(_SOURCE, id), text=text, at=next(filter(None, times), None),
        metadata=plain(as_object(row.get("metadata")) | details),
    )  # fmt: skip


def _observation(row: Json) -> Found:
    return _fact({"fact_type": "observation"} | row)


def _model(row: Json) -> Found:
    """Return a mental model, or the one that holds the text of a knowledge page."""
    known = {"source_id": row.get("id"), "text": row.get("content"), "tags": row.get("tags")}
    times = {"created_at": row.get("last_refreshed_at") or row.get("created_at")}
    return _fact(known | times | {"metadata": {"mental_model": row.get("name"), "question": row.get("source_query")}})


def _directive(row: Json) -> Found:
    text = as_text(row.get("content"))
    if row.get("is_active") is False:
        return Left(_OFF)
    if not text.strip():
        return Left(_EMPTY)
    return Item(
        kind="note", origin=(_SOURCE, label(row.get("id")) or digest(row)[:32]), text=text, pinned=True,
        at=moment(row.get("created_at")), metadata=plain({"directive": row.get("name"), "tags": row.get("tags")}),
    )  # fmt: skip


def _invalid(_: Json) -> Found:
    return Left(_INVALID)


_ROWS: Final = {
    "observations.json": _observation,
    "mental_models.json": _model,
    "directives.json": _directive,
    "data/invalidated_memory_units.json": _invalid,
}
