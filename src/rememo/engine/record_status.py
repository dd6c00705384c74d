"""Status of records outside of a search: whether they still hold, and which record superseded them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from rememo.engine.engine import Engine
from rememo.engine.resolve import active_revisions, read_revisions, wholly_revised
from rememo.model.record import Record
from rememo.model.revision import HitStatus, Revision


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
    engine: Engine, tenant: str, records: Sequence[Record], moment: datetime, *, known_at: datetime | None = None
) -> dict[str, RecordStatus]:
    """Return the status of records at a time, by id.

    A record of which only a part was revised is not superseded. A fact has the status that its own validity implies.
    """
    sources = {id for record in records if record.kind == "fact" for id in _sources(record)}
    ids = list(dict.fromkeys((*(record.id for record in records), *sources)))
    revisions = read_revisions(engine, tenant, ids, known_at=known_at)
    return {record.id: _standing(engine, record, revisions, moment) for record in records}


def _standing(
    engine: Engine, record: Record, revisions: dict[str, dict[str, Revision]], moment: datetime
) -> RecordStatus:
    if record.kind == "fact":
        status = record.data.get("status")
        if status in ("current", "disputed") and (record.valid_to is None or record.valid_to > moment):
            return RecordStatus(status="current")
        about = [revision for id in _sources(record) for revision in revisions.get(id, {}).values()]
        return RecordStatus(
            status="superseded", superseded_by=_newest(revision for revision in about if revision.by != record.id)
        )
    active = active_revisions(revisions.get(record.id, {}).values(), max(moment, record.at))
    if active and wholly_revised(engine, record.text, active):
        return RecordStatus(status="superseded", superseded_by=_newest(active))
    return RecordStatus()


def _sources(record: Record) -> Sequence[str]:
    return record.data.get("sources") or ()


def _newest(revisions: Iterable[Revision]) -> str | None:
    newest = max(revisions, key=lambda revision: revision.at, default=None)
    return None if newest is None else newest.by
