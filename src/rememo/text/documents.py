"""Files to text: what a file is, by its content before its name, and reading it within limits."""

import codecs
import json
import os
import re
import subprocess
import sys
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import PurePath
from typing import Any, Final

from rememo.errors import InvalidInput, MissingExtra
from rememo.files import read_regular_file
from rememo.text import document_readers as readers
from rememo.text.document_readers import DocumentLimits, DocumentText, UnreadableDocument, read_html

TEXT: Final = "text/plain"
MARKDOWN: Final = "text/markdown"
HTML: Final = "text/html"
PDF: Final = "application/pdf"
DOCX: Final = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"

_SHORT = {"text": TEXT, "markdown": MARKDOWN, "html": HTML, "pdf": PDF, "docx": DOCX}
_NAMES = {media_type: name for name, media_type in _SHORT.items()}
_ALIKE = {"application/xhtml+xml": HTML, "text/x-markdown": MARKDOWN}
_ENDINGS = {
    ".txt": TEXT, ".text": TEXT, ".log": TEXT, ".md": MARKDOWN, ".markdown": MARKDOWN, ".html": HTML, ".htm": HTML,
    ".xhtml": HTML, ".pdf": PDF, ".docx": DOCX,
}  # fmt: skip
_PACKAGES = {PDF: "pypdf", DOCX: "docx"}
_OTHER = (
    (b"\xd0\xcf\x11\xe0", "an old or password-protected Office file; save it as an unprotected .docx"),
    (b"\x89PNG", "a PNG picture; read its text first"),
    (b"\xff\xd8\xff", "a JPEG picture; read its text first"),
    (b"GIF8", "a GIF picture; read its text first"),
    (b"\x1f\x8b", "a gzip archive; unpack it first"),
    (b"{\\rtf", "an RTF file; save it as .docx"),
)
_BOMS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
_HTML_START = re.compile(
    r"\s*(?:<\?xml[^>]{0,200}>\s*)?(?:<!--.{0,500}?-->\s*)?<(?:!doctype\s+html|html|head|body)[\s>]",
    re.IGNORECASE | re.DOTALL,
)
_CHARSET = re.compile(rb"""<meta[^>]{0,200}?charset\s*=\s*["']?\s*([A-Za-z0-9_:.-]{1,40})""", re.IGNORECASE)
_ENCODINGS = ("utf-8", "utf-16", "ascii", "iso8859", "cp", "koi8", "mac", "shift_jis", "euc", "gb", "big5", "iso2022")
_LOOKED_AT = 4_096
_INLINE = 8_192
"""A page up to here is parsed in this process: even made to be slow it cannot take long there."""


def media_type_of(value: object) -> str:
    """Return a media type that can be read; short names such as "pdf" are taken too."""
    name = value.split(";")[0].strip().lower() if isinstance(value, str) else ""
    name = _ALIKE.get(name, _SHORT.get(name, name))
    if name not in _NAMES:
        raise InvalidInput(f"media_type {value!r} cannot be read; it must be one of {', '.join(_NAMES)}")
    return name


def load(path: str | os.PathLike[str], limits: DocumentLimits) -> bytes:
    """Return the content of a regular file that is not too large."""
    if not isinstance(path, str | os.PathLike):  # pyright: ignore[reportUnnecessaryIsInstance] - callers may be untyped
        raise InvalidInput(f"path must be the path of a file, not {type(path).__name__}; use data= for its bytes")
    return read_regular_file(path, "path", max_bytes=limits.bytes)


def too_large(name: str, size: int, limits: DocumentLimits) -> InvalidInput:
    """Return the error for a file beyond the limit."""
    return InvalidInput(f"{name!r} has {size:,} bytes, more than the {limits.bytes:,} allowed; split it into parts")


def too_long(name: str, text: str, limits: DocumentLimits) -> InvalidInput:
    """Return the error for a text beyond the limit."""
    return InvalidInput(
        f"{name!r} has {len(text):,} characters, more than the {limits.characters:,} allowed; split it into parts"
    )


def extract(data: bytes, name: str, media_type: str | None, limits: DocumentLimits) -> tuple[str, DocumentText]:
    """Return what a file is and the text in it; whatever stands in the way is `InvalidInput` and names the file."""
    if len(data) > limits.bytes:
        raise too_large(name, len(data), limits)
    if not data:
        raise InvalidInput(f"{name!r} has zero bytes; there is nothing to remember")
    detected, text = sniff(data, name, media_type)
    try:
        extracted = _read(data, text, detected, limits)
    except UnreadableDocument as error:
        raise InvalidInput(f"{name!r} {error}") from None
    if len(extracted.text) > limits.characters:
        raise too_long(name, extracted.text, limits)
    if not extracted.text.strip():
        hint = "; if its pages are pictures, read their text first" if detected == PDF else ""
        raise InvalidInput(f"{name!r} has no text in it{hint}")
    return detected, extracted


def sniff(data: bytes, name: str, media_type: str | None) -> tuple[str, str]:
    """Return what a file is and, for one of characters, the text of it; one that lies about its type is refused."""
    declared = None if media_type is None else media_type_of(media_type)
    named = _ENDINGS.get(PurePath(name).suffix.lower())
    claimed, by = (declared, "media_type") if declared else (named, "its name")
    head = data[:1_024]
    if data[:4] == b"PK\x03\x04":
        detected = DOCX  # the reader looks inside
    elif head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"%PDF-"):
        detected = PDF
    else:
        detected = None
        for magic, what in _OTHER:
            if head.startswith(magic):
                raise InvalidInput(f"{name!r} is {what}")
    if detected is not None:
        if claimed not in (detected, None):
            raise _lie(name, claimed, by, detected)
        return detected, ""
    text = _decode(data, name, html=claimed == HTML)
    looks = HTML if _HTML_START.match(text[:_LOOKED_AT]) else None
    if claimed in (PDF, DOCX):
        raise _lie(name, claimed, by, looks or TEXT)
    return declared or looks or named or TEXT, text


def _lie(name: str, claimed: str | None, by: str, detected: str) -> InvalidInput:
    return InvalidInput(
        f"{name!r} is {_NAMES[claimed or TEXT]} by {by} and {_NAMES[detected]} by its content;"
        f" rename it, or give media_type={detected!r} if that is what it should be read as"
    )


def _decode(data: bytes, name: str, *, html: bool) -> str:
    encoding = "utf-8"
    for mark, bom_encoding in _BOMS:
        if data.startswith(mark):
            data, encoding = data[len(mark) :], bom_encoding
            break
    else:
        head = data[:_LOOKED_AT]
        meta = _CHARSET.search(head) if html or _HTML_START.match(head.decode("latin-1")) else None
        if meta is not None:
            encoding = _known_encoding(meta[1].decode(), name)
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        raise InvalidInput(
            f"{name!r} is no document that can be read: neither PDF nor DOCX, nor text in {encoding} (byte {error.start:,});"
            " if it is text, save it as UTF-8"
        ) from None
    if "\x00" in text:
        raise InvalidInput(f"{name!r} is no document that can be read: it has NUL characters, so it is not text")
    return text


def _known_encoding(encoding: str, name: str) -> str:
    """Return the encoding a page says it has; those that no page has, some of them slow on purpose, are refused."""
    try:
        canonical = codecs.lookup(encoding).name
    except LookupError:
        canonical = ""
    if not canonical.startswith(_ENCODINGS):
        raise InvalidInput(f"{name!r} says it is written in {encoding!r}, which is unknown; save it as UTF-8")
    return "utf-8" if canonical.startswith("utf-16") else canonical  # who can read that in the page does not have it


def _read(data: bytes, text: str, media_type: str, limits: DocumentLimits) -> DocumentText:
    if media_type in (TEXT, MARKDOWN):
        return DocumentText(text)
    if media_type == HTML and len(text) <= _INLINE:
        return read_html(text, limits)
    package = _PACKAGES.get(media_type)
    if package is not None and find_spec(package) is None:
        raise MissingExtra(
            f"reading {_NAMES[media_type].upper()} needs the package {package}, which is not installed:"
            ' pip install "rememo[documents]"'
        )
    return _read_apart(text.encode() if media_type == HTML else data, _NAMES[media_type], limits)


def _read_apart(data: bytes, kind: str, limits: DocumentLimits) -> DocumentText:
    """Read in a process of its own, whose memory and time are limited: no file can take this one down."""
    request = json.dumps({"kind": kind, "limits": asdict(limits)})
    command = [sys.executable, "-P", "-W", "ignore", readers.__file__, request]
    try:
        process = subprocess.run(command, input=data, capture_output=True, timeout=limits.seconds, check=False)  # noqa: S603 - our own program
    except subprocess.TimeoutExpired:
        raise UnreadableDocument(f"takes more than {limits.seconds:g} seconds to read; split it into parts") from None
    except OSError as error:
        raise UnreadableDocument(f"cannot be read: no reader could be started ({error.strerror})") from None
    try:
        answer: dict[str, Any] = json.loads(process.stdout)
    except ValueError:
        raise UnreadableDocument("needs more memory or time to read than is allowed; split it into parts") from None
    if "refused" in answer:
        raise UnreadableDocument(answer["refused"])
    return DocumentText(**answer)
