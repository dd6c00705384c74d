"""The fields of documents and their chunks: titles, tags, headings and places."""

from collections.abc import Iterable
from typing import Any, cast

from rememo.collections.base import check_not_blank, drop_none
from rememo.errors import InvalidInput
from rememo.model.check import check_label
from rememo.text.document_readers import DocumentText
from rememo.text.splitting import TextChunk, find_headings

_MOST_TAGS = 64
_LONGEST_TITLE = 300
_LONGEST_HEADING = 200


def check_source_and_title(source: str | None, title: str | None) -> tuple[str | None, str | None]:
    """Return a source and a title, checked; None stays None."""
    if source is not None:
        check_label(source, "source")
    return source, None if title is None else check_not_blank(title, "title", most=_LONGEST_TITLE * 4)


def check_tags(tags: object) -> tuple[str, ...]:
    """Return tags, checked, each once."""
    if isinstance(tags, str) or not isinstance(tags, Iterable):
        raise InvalidInput("tags must be a collection of words; write tags=[…] for one")
    unique = tuple(dict.fromkeys(check_label(tag, "a tag") for tag in cast("Iterable[object]", tags)))
    if len(unique) > _MOST_TAGS:
        raise InvalidInput(f"there are {len(unique)} tags, more than the {_MOST_TAGS} allowed")
    return unique


def make_title(extracted: DocumentText, named: str | None) -> str:
    """Return a title for a document without one: what it calls itself, else its file's name, else its first line."""
    first = extracted.text.strip().split("\n", 1)[0]
    return own_title(extracted) or _first_title(named, first) or "untitled"


def own_title(extracted: DocumentText) -> str | None:
    """Return what a document calls itself."""
    headings = find_headings(extracted.text)
    return _first_title(extracted.title, headings[0].title if headings else None)


def _first_title(*candidates: str | None) -> str | None:
    for candidate in candidates:
        title = "" if candidate is None else " ".join(candidate.split())
        if title and title.isprintable():
            return shorten(title, _LONGEST_TITLE)
    return None


def shorten(text: str, most: int) -> str:
    """Return a text cut at a word to at most so many characters."""
    if len(text) <= most:
        return text
    cut = text[: most - 1]
    return f"{cut.rsplit(maxsplit=1)[0] if ' ' in cut else cut}…"


def chunk_data(index: int, piece: TextChunk) -> dict[str, Any]:
    """Return what a chunk's data says of where it is in its document."""
    headings = [shorten(heading, _LONGEST_HEADING) for heading in piece.headings]
    return drop_none(place=index, start=piece.start, end=piece.end, headings=headings or None)
