"""Reading whether statements still hold: what later statements made of a record, and until when a fact holds.

Searches, listed records and contexts all ask here.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final

from rememo.engine.engine import Engine
from rememo.model.filters import Filter
from rememo.model.record import REVISION, Record
from rememo.model.revision import SURE, Revision, is_revision, rejections_of, revisions_of
from rememo.model.scope import Scope

_WHOLE: Final = 0.6
"""The share of a text's terms that revised statements must cover for all of it to count as revised."""


def fact_holds(record: Record, at: datetime) -> bool:
    """Return whether a stored fact is held to be so at a moment, by its own status and validity."""
    return record.data.get("status") in ("current", "disputed") and (record.valid_to is None or record.valid_to > at)


def read_revisions(
    engine: Engine, tenant: str, ids: Sequence[str], *, known_at: datetime | None = None
) -> dict[str, dict[str, Revision]]:
    """Return what later statements made of some records, by record and by what made it; rejected ones without confidence."""
    if not ids:
        return {}
    record_ids: dict[str, str] = {engine.ids.revision(tenant, id): id for id in ids}
    filter = Filter(scope=Scope(tenant=tenant), kinds=(REVISION,), ids=tuple(record_ids), known_at=known_at)
    records = engine.store.read(filter, engine.now())
    # By its own id: what a caller wrote into its data makes it say nothing about another record.
    return {
        record_ids[record.id]: {
            **revisions_of(record),
            **{key: replace(revision, confidence=0.0) for key, revision in rejections_of(record).items()},
        }
        for record in records
        if is_revision(record)
    }


def active_revisions(revisions: Iterable[Revision], at: datetime) -> list[Revision]:
    """Return the revisions that are sure enough to count and had taken effect by a moment."""
    return [revision for revision in revisions if revision.confidence >= SURE and revision.at <= at]


def wholly_revised(engine: Engine, text: str, revisions: Sequence[Revision]) -> bool:
    """Whether what was revised is all that a text says, or nearly."""
    terms = engine.analyzer.terms
    text_terms = terms(text)
    if not text_terms or any(revision.wording is None for revision in revisions):
        return True
    revised = {term for revision in revisions for term in terms(revision.wording or "")}
    return sum(term in revised for term in text_terms) >= _WHOLE * len(text_terms)
