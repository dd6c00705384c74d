"""Revisions: which earlier statements something later is held to have replaced, and how sure that is."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal

from rememo.engine.view import ViewHolder
from rememo.errors import InvalidInput, NotFound
from rememo.learn.messages import made_by, relearn
from rememo.learn.revisions import Decision, RevisionWrites, decisions_of
from rememo.model.check import check_label, check_limit, check_unit
from rememo.model.filters import Filter
from rememo.model.record import REVISION, Record
from rememo.model.revision import Revision, rejections_of, revisions_of

UNSURE: Final = 0.6
"""A revision below this confidence does not count by itself: it is shown with conflicts until somebody decides."""
_PAGE: Final = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Revised:
    """An earlier record with what is held to have replaced it."""

    id: str
    """The earlier record."""
    by: str
    """The record that holds now: the message that said so, or a fact."""
    wording: str
    """The statement of the earlier record that no longer holds."""
    text: str
    """What the record that holds now says."""
    reason: str
    """The sign of change, or a fact's predicate."""
    confidence: float
    """From 0 to 1."""
    at: datetime
    """When the later statement took effect."""
    decision: Literal["open", "confirmed", "rejected"]
    """Whether somebody has decided on it."""


class Revisions(ViewHolder):
    """What later statements made of earlier ones, in one scope."""

    def list(
        self, *, id: str | None = None, max_confidence: float = 1.0, decided: bool | None = None, limit: int = 100
    ) -> "list[Revised]":
        """Return the latest `limit` revisions of records that this view sees, oldest first.

        `id` is an earlier record. `max_confidence=0.6` gives those that do not count by themselves; `decided` those that
        somebody confirmed or rejected, or (false) the others.
        """
        check_unit(max_confidence, "max_confidence")
        most = check_limit(limit)
        checked_id = None if id is None else check_label(id, "id")
        self._view.wait_for_extraction()
        revisions: list[Revised] = []
        for record in self._records(checked_id):
            revisions += [
                revision
                for revision in self._revisions_of(record)
                if revision.confidence <= max_confidence and decided in (None, revision.decision != "open")
            ]
            if len(revisions) >= most:
                break
        return sorted(revisions[:most], key=lambda revision: (revision.at, revision.id))

    def confirm(self, id: str, by: str) -> Revised:
        """Confirm that the later record `by` replaced what the record `id` says: it is certain from now on."""
        return self._decide(id, by, "confirmed")

    def reject(self, id: str, by: str) -> Revised:
        """Reject that the later record `by` replaced what `id` says: it is current, and so are the facts learned from it."""
        return self._decide(id, by, "rejected")

    # ---- inside

    def _decide(self, id: str, by: str, decision: Decision) -> Revised:
        self._view.need_present()
        self._view.need_no_batch(f"revisions.{'confirm' if decision == 'confirmed' else 'reject'}()")
        self._view.wait_for_extraction()
        earlier, later = self._view.get(id), self._view.get(by)
        key = made_by(later.id)
        for record in self._records(earlier.id):
            by_facts = any(revision.by == later.id for revision in revisions_of(record).values())
            if key in record.data["revisions"] or key in rejections_of(record):
                self._write(record, key, decision, later.id)
                by_facts = decision == "rejected" and self._still_applies(earlier.id, later.id)
                if not by_facts:
                    return next(revision for revision in self.list(id=earlier.id) if revision.by == later.id)
                self._write(record, key, decisions_of(record).get(key), later.id)
            if by_facts:
                raise InvalidInput(
                    f"record {id!r} was revised because facts contradict each other; correct those by facts.update()"
                )
        raise NotFound(f"record {by!r} is not known to revise {id!r}; revisions.list() shows what does")

    def _write(self, record: Record, key: str, decision: Decision | None, later: str) -> None:
        engine, tenant = self._view.engine, self._view.scope.tenant
        writes = RevisionWrites(tenant)
        writes.decide(record, key, decision)
        writes.commit(engine)
        relearn(engine, tenant, later)

    def _still_applies(self, earlier: str, later: str) -> bool:
        return any(
            revision.by == later for record in self._records(earlier) for revision in revisions_of(record).values()
        )

    def _records(self, id: str | None) -> Iterator[Record]:
        """Yield the revision records within this view, newest first."""
        engine, tenant = self._view.engine, self._view.scope.tenant
        filter = self._view.filter(kind=REVISION)
        if id is not None:
            filter = filter.narrowed(ids=(engine.ids.revision(tenant, id),))
        offset = 0
        while page := engine.store.read(filter, engine.now(), limit=_PAGE, offset=offset):
            yield from reversed(page)
            offset += len(page)
            if len(page) < _PAGE:
                return

    def _revisions_of(self, record: Record) -> "list[Revised]":
        """Return the revisions of one record, one for each that made one and that this view sees."""
        revisions_by_key = {**revisions_of(record), **rejections_of(record)}
        decisions = decisions_of(record)
        by: dict[str, tuple[str, Revision]] = {}
        for key, revision in revisions_by_key.items():
            if revision.by not in by or key == made_by(revision.by):
                by[revision.by] = key, revision
        ids = (record.data["record"], *by)
        filter: Filter = self._view.filter(ids=ids)
        texts = {seen.id: seen.text for seen in self._view.engine.store.read(filter, self._view.engine.now())}
        earlier = record.data["record"]
        return [
            Revised(
                id=earlier,
                by=revision.by,
                wording=revision.wording or texts[earlier],
                text=texts[revision.by],
                reason=revision.reason,
                confidence=revision.confidence,
                at=revision.at,
                decision=decisions.get(key, "open"),
            )
            for key, revision in by.values()
            if earlier in texts and revision.by in texts
        ]
