"""Writes of revisions: which earlier records no longer hold, written in one transaction with what replaced them.

What a group of facts says about the messages it was learned from follows from the group alone, so it is recomputed with it: a
message that is taken back lets what it had ended hold again.
"""

from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal

from rememo.engine.engine import Engine
from rememo.errors import AlreadyExists, NotFound, VersionConflict
from rememo.learn.conflicts import ValidityPeriod
from rememo.learn.statements import Statement
from rememo.learn.visibility import FactPart
from rememo.model.filters import Filter
from rememo.model.record import REVISION, Record
from rememo.model.revision import REJECTED, Revision, is_revision, rejections_of, revisions_of
from rememo.model.scope import Scope
from rememo.runtime.retry import retry_on_conflict
from rememo.store.writes import Remove, Write

Decision = Literal["confirmed", "rejected"]
"""A user's decision on a revision."""
_CONFIRMED: Final = "confirmed"
_MOST_TRIES: Final = 100


def commit_revisions(engine: Engine, tenant: str, plan: Callable[[], list[Write]]) -> None:
    """Write what `plan` finds to be wanted; it plans again when others have written meanwhile."""

    def write(writes: list[Write]) -> None:
        if writes:
            engine.commit(Scope(tenant=tenant), writes)

    conflicts = (AlreadyExists, VersionConflict, NotFound)
    retry_on_conflict(plan, write, "what is known of revisions", attempts=_MOST_TRIES, conflicts=conflicts)


@dataclass(slots=True)
class RevisionWrites:
    """Revisions to be set or taken back, by the record they are about and by what makes them."""

    tenant: str
    scopes: dict[str, Scope] = field(default_factory=dict[str, Scope])
    wanted: dict[str, dict[str, Revision | None]] = field(default_factory=dict[str, dict[str, Revision | None]])
    decisions: dict[tuple[str, str], Decision | None] = field(default_factory=dict[tuple[str, str], Decision | None])
    """What somebody decides now."""

    def set(self, record_id: str, scope: Scope, key: str, revision: Revision | None) -> None:
        """Set the revision that `key` makes of a record; None removes it."""
        self.scopes[record_id] = scope
        self.wanted.setdefault(record_id, {})[key] = revision

    def clear(self, record: Record, keys: Container[str]) -> None:
        """Remove the revisions that some keys made in a revision record."""
        for key in (*record.data["revisions"], *rejections_of(record)):
            if key in keys:
                self.set(record.data["record"], record.scope, key, None)

    def decide(self, record: Record, key: str, decision: Decision | None) -> None:
        """Keep what somebody decided on a revision, whatever is learned later; None forgets the decision."""
        id = record.data["record"]
        self.scopes[id] = record.scope
        self.wanted.setdefault(id, {})[key] = {**revisions_of(record), **rejections_of(record)}[key]
        self.decisions[id, key] = decision

    def commit(self, engine: Engine) -> None:
        """Write what is wanted; others that write at the same time are waited for."""
        commit_revisions(engine, self.tenant, lambda: self.writes(engine))

    def writes(self, engine: Engine) -> list[Write]:
        """Return the writes that bring the revision records to what is wanted."""
        if not self.wanted:
            return []
        ids: dict[str, str] = {engine.ids.revision(self.tenant, id): id for id in self.wanted}
        filter = Filter(scope=Scope(tenant=self.tenant), kinds=(REVISION,), ids=tuple(ids))
        records = {ids[record.id]: record for record in engine.store.read(filter, engine.now())}
        writes: list[Write] = []
        for id, changes in self.wanted.items():
            writes += self._write(engine, id, changes, records.get(id))
        return writes

    def _write(
        self, engine: Engine, id: str, changes: Mapping[str, Revision | None], record: Record | None
    ) -> Sequence[Write]:
        own = record if record is not None and is_revision(record) else None  # what a caller made of it is written over
        decisions: dict[str, Decision | None] = {} if own is None else {**decisions_of(own)}
        decisions |= {key: self.decisions[id, key] for key in changes if (id, key) in self.decisions}
        revisions: dict[str, Revision] = {} if own is None else {**revisions_of(own), **rejections_of(own)}
        revisions = {key: revision for key, revision in revisions.items() if key not in changes}
        revisions |= {key: revision for key, revision in changes.items() if revision is not None}
        confirmed = [key for key in revisions if decisions.get(key) == "confirmed"]
        rejected = {key: revision.to_dict() for key, revision in revisions.items() if decisions.get(key) == "rejected"}
        after = {
            key: (replace(revision, confidence=1.0) if key in confirmed else revision).to_dict()
            for key, revision in revisions.items()
            if key not in rejected
        }
        # Named as sources, so that they leave with what they were made of.
        sources = [id, *dict.fromkeys(revision.by for revision in revisions.values() if revision.by)]
        data: dict[str, Any] = {"record": id, "revisions": after, "sources": sources}
        data |= {_CONFIRMED: confirmed} if confirmed else {}
        data |= {REJECTED: rejected} if rejected else {}
        if record is None:
            if not revisions:
                return []
            fields = {
                "text": "",
                "kind": REVISION,
                "id": engine.ids.revision(self.tenant, id),
                "data": data,
                "source": "learn",
            }
            return engine.drafts.puts(self.scopes[id], [fields])
        if not revisions:
            return [Remove(id=record.id, scope=record.scope, expected=record.version)]
        same = all(record.data.get(name) == data.get(name) for name in ("revisions", _CONFIRMED, REJECTED))
        return [] if same else [engine.drafts.revise(record, {"data": data})]


def decisions_of(record: Record) -> dict[str, Decision]:
    """Return what was decided on the revisions of a record, by what made them."""
    decisions = dict[str, Decision]()
    for key in record.data.get(_CONFIRMED, ()):
        decisions[key] = "confirmed"
    for key in record.data.get(REJECTED, ()):
        decisions[key] = "rejected"
    return decisions


def group_revisions(
    parts: Sequence[FactPart], predicate: str, fact_of: Callable[[ValidityPeriod, Statement], str]
) -> dict[str, tuple[Scope, Revision | None]]:
    """Return what a group says about the records that it stands on, by record with its scope; None for one that holds.

    Each is judged by what those with its maker's sight see; `fact_of` names the fact that a statement of a period is in.
    """
    holding = {
        (part.scope, statement.source.id)
        for part in parts
        if _holds(part.period)
        for statement in part.statements
        if statement.asserts and statement.source is not None
    }
    revisions: dict[str, tuple[Scope, Revision | None]] = {id: (scope, None) for scope, id in holding}
    for part in parts:
        if _holds(part.period):
            continue
        for statement in part.statements:
            if statement.asserts and statement.source is not None and (part.scope, statement.source.id) not in holding:
                revision = _revision(part, statement, predicate, fact_of)
                if revision is not None or statement.source.id not in revisions:
                    revisions[statement.source.id] = part.scope, revision
    return revisions


def _revised_by(scope: Scope, saying: Statement, fact: str) -> str:
    """Return the record that a revision names to those who see `scope`: a fact only where they may see it too.

    The id of a fact follows from what it says, so it could be found by guessing; that of a message tells nothing.
    """
    if scope.contains(saying.scope):
        return fact
    return "" if saying.source is None else saying.source.id


def _holds(period: ValidityPeriod) -> bool:
    return period.status in ("current", "disputed") and bool(period.asserted)


def _revision(
    part: FactPart, statement: Statement, predicate: str, fact_of: Callable[[ValidityPeriod, Statement], str]
) -> Revision | None:
    """Return what took the place of a statement that holds no more: the fact that holds now, else what ended it."""
    period, periods = part.period, part.seen.periods
    after = [other for other in periods if _holds(other) and other.object != period.object]
    if after and (period.status == "retracted" or period.valid_to is not None):
        newest = max(after, key=lambda other: max(statement.said for statement in other.asserted))
        saying = max(newest.asserted, key=lambda statement: (statement.said, statement.known))
        return Revision(
            by=_revised_by(part.scope, saying, fact_of(newest, saying)),
            reason=predicate,
            confidence=min(1.0, saying.confidence),
            at=period.valid_to or saying.said,
            wording=statement.wording,
        )
    statements = (
        *period.statements,
        *(statement for statement in part.seen.against if statement.about == period.object or statement.ends_all),
    )
    ending = [
        (statement.said, statement.known, statement.source.id, statement)
        for statement in statements
        if not statement.asserts and statement.source
    ]
    if not ending:
        return None
    *_, source, last = max(ending, key=lambda statement: statement[:3])
    return Revision(by=source, reason=predicate, confidence=last.confidence, at=last.ending, wording=statement.wording)
