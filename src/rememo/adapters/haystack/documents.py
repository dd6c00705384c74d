"""Documents of Haystack as notes."""

import json
from dataclasses import replace
from hashlib import sha256
from typing import Any, Final, cast

from haystack import Document
from haystack.dataclasses import ByteStream, SparseEmbedding

from rememo.adapters.json_values import pack_json, storable_text, unpack_json
from rememo.adapters.memory_holder import derived_id
from rememo.adapters.retrieval import RetrievedRecord, strip_standing
from rememo.adapters.vector_index import FIELD, pack_vector, unpack_vector
from rememo.errors import InvalidInput
from rememo.memory import Memory
from rememo.model.check import check_object
from rememo.model.derived_ids import DerivedId
from rememo.model.record import Record

KIND: Final = "note"
UNFILTERABLE: Final = {"haystack": "meta that cannot be filtered by"}
"""The metadata of a document whose own cannot be filtered by and is stored in its data."""
_ID: Final = "haystack_id"
_BYTES: Final = 65_536
_DEPTH: Final = 15


def record_id(memory: Memory, id: str) -> DerivedId:
    """Return the id of the record that holds a document: the same document may stand in many indexes of a tenant."""
    scope = memory.bound
    key = json.dumps([scope.agent, scope.user, scope.room, id])
    return derived_id(memory, f"haystack-{sha256(key.encode()).hexdigest()[:40]}")


def note_fields(document: Document, id: str) -> dict[str, Any]:
    """Return the arguments of `Memory.add` for a document; what a note cannot hold as such is kept in its data."""
    text = storable_text(document.content or "")
    rest: dict[str, Any] = {}
    if document.content != text:
        rest["content"] = document.content
    meta = strip_standing(document.meta)
    metadata = _check_metadata(meta)
    if metadata is None:
        rest["meta"] = meta
    if document.blob is not None:
        rest["blob"] = document.blob.to_dict()
    if document.sparse_embedding is not None:
        rest["sparse_embedding"] = document.sparse_embedding.to_dict()
    if document.score is not None:
        rest["score"] = document.score
    data: dict[str, Any] = {_ID: storable_text(document.id)}
    if document.id != data[_ID]:
        rest["id"] = document.id
    if document.embedding is not None:
        data[FIELD] = pack_vector(document.embedding)
    if rest:
        data |= pack_json(rest)
    return {
        "text": text,
        "kind": KIND,
        "id": id,
        "metadata": UNFILTERABLE if metadata is None else metadata,
        "data": data,
    }


def read_document(record: Record, *, embedding: bool = True, score: float | None = None) -> Document:
    """Return the document that a note holds; a note of another origin is one too."""
    data = record.data
    rest = cast("dict[str, Any]", unpack_json(data)) if _ID in data and len(data) > 1 + (FIELD in data) else {}
    blob, sparse = rest.get("blob"), rest.get("sparse_embedding")
    vector = data.get(FIELD) if embedding else None
    return Document(
        id=str(rest.get("id", data.get(_ID, record.id))),
        content=rest.get("content", record.text),
        meta=rest.get("meta", record.metadata),
        blob=None if blob is None else ByteStream.from_dict(blob),
        sparse_embedding=None if sparse is None else SparseEmbedding.from_dict(sparse),
        embedding=None if vector is None else unpack_vector(vector),
        score=rest.get("score") if score is None else score,
    )


def retrieved_document(retrieved: RetrievedRecord, *, embedding: bool) -> Document:
    """Return the document of a retrieved note; a superseded one says so in its meta, under `rememo`."""
    document = read_document(retrieved.record, embedding=embedding, score=retrieved.score)
    return replace(document, meta={**document.meta, **retrieved.mark}) if retrieved.mark else document


def _check_metadata(meta: dict[str, Any]) -> dict[str, Any] | None:
    """Return the meta as a record's metadata, or None when it cannot be that."""
    try:
        return check_object(meta, "meta", max_bytes=_BYTES, max_depth=_DEPTH)
    except InvalidInput:
        return None
