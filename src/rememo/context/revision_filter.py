"""Filter revised statements out of turns and passages."""

import re
from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final

from rememo.context.excerpt import GAP
from rememo.engine.revisions import active_revisions, read_revisions, wholly_revised
from rememo.engine.view import View
from rememo.model.record import Record
from rememo.model.revision import Revision
from rememo.recall.tense import asks_about_past, asks_what_happened
from rememo.recall.time import find_times
from rememo.text.splitting import sentence_spans

_VALUE: Final = re.compile(r"[^\W\d_]*\d[\w:.,/-]*|(?<=\s)[A-Z][\w-]{2,}")
"""What a statement can be told by in an answer to it: figures and names."""


_SEVERAL: Final = 3
"""Sentences of a text of which one can be left out; fewer are about the same."""
_BEFORE: Final = re.compile(r"\b(?:last|ago|yesterday|past|since|(?:19|20)\d\d)\b", re.IGNORECASE)
"""What tells a time that is over from one that comes again: "last Saturday", not "Saturday"."""


def is_about_past(query: str, at: datetime) -> bool:
    """Return whether a question is about the past, so that what was revised since is shown too."""
    if asks_about_past(query) or asks_what_happened(query):
        return True
    return any(time.end <= at and _BEFORE.search(time.text) for time in find_times(query, at))


def drop_revised(
    view: View, records: Sequence[Record], at: datetime, *, query: str = "", outdated: Container[str] = ()
) -> list[Record]:
    """Return records without what was revised by a moment: whole ones are left out, of others the statement is cut.

    Those that the question showed to be `outdated` lose the statement that comes nearest to the `query`.
    An assistant's answer to a statement that was revised loses the sentences that repeat its figures and names.
    """
    revisions_by_id = read_revisions(
        view.engine, view.scope.tenant, [record.id for record in records], known_at=view.known_at
    )
    if not revisions_by_id and not any(record.id in outdated for record in records):
        return list(records)
    remaining: list[Record] = []
    repeated = frozenset[str]()
    for record in records:
        revisions = active_revisions(revisions_by_id.get(record.id, {}).values(), at)
        if revisions:
            repeated = _values(revisions)
            text = "" if wholly_revised(view.engine, record.text, revisions) else _cut(record.text, revisions)
        elif record.id in outdated and not record.data.get("tool_calls"):
            text = _without_nearest(record.text, view.engine.analyzer.terms, query)
            repeated = _named([record.text]) - _named([text])
        elif repeated and record.data.get("role") == "assistant":
            text = _without(record.text, repeated)
        else:
            repeated, text = frozenset[str](), record.text
        if text == record.text:
            remaining.append(record)
        elif text.strip(f" {GAP}\n") or record.data.get("tool_calls"):
            remaining.append(replace(record, text=text))
    return remaining


def drop_echoes(records: Sequence[Record], outdated: Iterable[str], holding: Iterable[str]) -> list[Record]:
    """Return records, assistants' answers without the sentences that repeat figures and names of what was revised.

    What is named in texts that hold is no sign of a repetition.
    """
    values = _named(outdated) - _named(holding)
    if not values:
        return list(records)
    remaining: list[Record] = []
    for record in records:
        answered = record.data.get("role") == "assistant"
        text = _without(record.text, values) if answered else record.text
        if text == record.text:
            remaining.append(record)
        elif text.strip():
            remaining.append(replace(record, text=text))
    return remaining


def _named(texts: Iterable[str]) -> frozenset[str]:
    return frozenset(value.casefold() for text in texts for value in _VALUE.findall(text))


def _values(revisions: Iterable[Revision]) -> frozenset[str]:
    return _named(revision.wording or "" for revision in revisions)


def _cut(text: str, revisions: Iterable[Revision]) -> str:
    """Return a text with a gap in place of each revised statement."""
    for revision in revisions:
        if revision.wording:
            text = text.replace(revision.wording, GAP)
    return text


def _without_nearest(text: str, terms_of: Callable[[str], Sequence[str]], query: str) -> str:
    """Return a text without the sentence that comes nearest to a question; nothing where little else is left."""
    query_terms = set(terms_of(query))
    spans = list(sentence_spans(text))
    if len(spans) < _SEVERAL:
        return ""
    begin, end = max(spans, key=lambda span: len(query_terms.intersection(terms_of(text[slice(*span)]))))
    rest = f"{text[:begin].rstrip()} {GAP} {text[end:].lstrip()}".strip()
    nearest, remaining = terms_of(text[begin:end]), terms_of(rest)
    return rest if query_terms.intersection(nearest) and query_terms.isdisjoint(remaining) else ""


def _without(text: str, values: frozenset[str]) -> str:
    """Return a text without the sentences that name one of some values."""
    remaining = [
        text[begin:end]
        for begin, end in sentence_spans(text)
        if not any(value in text[begin:end].casefold() for value in values)
    ]
    return " ".join(remaining)
