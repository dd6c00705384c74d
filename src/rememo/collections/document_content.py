"""Read what was given as a document: its bytes, its text and its particulars."""

import os
from collections import Counter
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import PurePath
from typing import Any

from rememo.engine.engine import Engine
from rememo.errors import InvalidInput
from rememo.model.check import check_text
from rememo.text.document_readers import DocumentLimits, DocumentText
from rememo.text.documents import TEXT, extract, load, too_long


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentContent:
    """What was read of a document."""

    extracted: DocumentText
    particulars: dict[str, Any]
    redacted: Counter[str]


def read_content(
    engine: Engine, limits: DocumentLimits, name: str, original: bytes, *, text: str | None, media_type: str | None
) -> DocumentContent:
    """Return the text of an original, redacted, with its particulars."""
    if text is not None and media_type in (None, TEXT):
        kind, extracted = TEXT, _read_text(text, original, limits)
    else:
        kind, extracted = extract(original, name, media_type, limits)
    # Before it is split: the places of its parts are counted in what is stored.
    clean, redacted = engine.drafts.redact(extracted.text)
    hash = sha256(original).hexdigest()
    particulars = {"media_type": kind, "size": len(original), "hash": hash, "characters": len(clean)}
    return DocumentContent(extracted=replace(extracted, text=clean), particulars=particulars, redacted=redacted)


def read_original(
    limits: DocumentLimits, text: object, path: str | os.PathLike[str] | None, data: object, source: str | None
) -> tuple[str, bytes]:
    """Return the name of what was given and its bytes."""
    if sum(source is not None for source in (text, path, data)) != 1:
        raise InvalidInput("a document needs exactly one of text=, path= and data=")
    if path is not None:
        content = load(path, limits)
        return PurePath(path).name or str(path), content
    name = source or ("text" if data is None else "data")
    if text is not None:
        check_text(text, "text", max_bytes=limits.bytes)
        return name, str(text).encode()
    if not isinstance(data, bytes | bytearray):
        raise InvalidInput(f"data must be bytes, not {type(data).__name__}; use text= for text")
    return name, bytes(data)


def _read_text(text: str, original: bytes, limits: DocumentLimits) -> DocumentText:
    if not text.strip():
        raise InvalidInput(f"text has {len(original)} bytes and no word; there is nothing to remember")
    if len(text) > limits.characters:
        raise too_long("text", text, limits)
    return DocumentText(text)
