"""Status of records outside of a search: whether they still hold, and which record superseded them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from rememo.engine.engine import Engine
from rememo.engine.revisions import active_revisions, fact_holds, read_revisions, wholly_revised
from rememo.model.fact import source_ids
from rememo.model.filters import Filter
from rememo.model.record import Record
from rememo.model.revision import HitStatus, Revision
from rememo.model.scope import Scope


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordStatus:
    """Whether a record still holds."""

    status: HitStatus = "unknown"
    """As in a hit: `current`, `superseded` or `unknown`."""
    superseded_by: str | None = None
    """The id of the record that holds now, where this one was superseded."""

    def to_dict(self) -> dict[str, str | None]:
        """Return it as JSON values."""
        return {"status": self.status, "superseded_by": self.superseded_by}


def record_statuses(
    engine: Engine, tenant: str, records: Sequence[Record], at: datetime, *, known_at: datetime | None = None
) -> dict[str, RecordStatus]:
    """Return the status of records at a time, by id.

    A record of which only a part was revised is not superseded. A fact is, where its own validity has ended or everything
    that it was learned from is superseded: as in a search, but for what depends on the question.
    """
    sources = {id for record in records for id in source_ids(record)}
    ids = list(dict.fromkeys((*(record.id for record in records), *sources)))
    revisions = {
        id: list(by_origin.values()) for id, by_origin in read_revisions(engine, tenant, ids, known_at=known_at).items()
    }
    # Facts that hold by themselves, of which every source was revised: the texts of these tell whether wholly.
    revised_sources = {
        id
        for record in records
        if fact_holds(record, at) and revisions.keys() >= set(source_ids(record))
        for id in source_ids(record)
    }
    filter = Filter(scope=Scope(tenant=tenant), ids=tuple(revised_sources), known_at=known_at)
    source_records = (
        {record.id: record for record in engine.store.read(filter, engine.now())} if revised_sources else {}
    )
    statuses = {
        id: _status_of_statement(engine, record, revisions.get(id, ()), at)
        for id, record in ({record.id: record for record in records if record.kind != "fact"} | source_records).items()
    }
    for record in records:
        if record.kind == "fact":
            statuses[record.id] = _status_of_fact(record, revisions, statuses, at)
    return {record.id: statuses[record.id] for record in records}


def _status_of_statement(engine: Engine, record: Record, revisions: Sequence[Revision], at: datetime) -> RecordStatus:
    active = active_revisions(revisions, max(at, record.at))
    if active and wholly_revised(engine, record.text, active):
        return RecordStatus(status="superseded", superseded_by=_newest(active))
    return RecordStatus()


def _status_of_fact(
    record: Record, revisions: Mapping[str, Sequence[Revision]], statuses: Mapping[str, RecordStatus], at: datetime
) -> RecordStatus:
    """Return the status of a fact: as its validity says, but superseded where everything it was learned from is."""
    sources = source_ids(record)
    if fact_holds(record, at):
        if sources and all(statuses.get(id, RecordStatus()).status == "superseded" for id in sources):
            replacement = statuses[sources[-1]].superseded_by
            if replacement not in (None, record.id):
                return RecordStatus(status="superseded", superseded_by=replacement)
        return RecordStatus(status="current")
    others = [revision for id in sources for revision in revisions.get(id, ()) if revision.by != record.id]
    return RecordStatus(status="superseded", superseded_by=_newest(active_revisions(others, at)))


def _newest(revisions: Iterable[Revision]) -> str | None:
    newest = max(revisions, key=lambda revision: revision.at, default=None)
    return None if newest is None else newest.by or None
