"""The page of a record: text, fields, versions, and the records learned from it."""

from typing import Any, Final

from rememo.engine.record_status import RecordStatus, record_statuses
from rememo.engine.view import view_of
from rememo.errors import NotFound
from rememo.model.filters import Condition
from rememo.model.record import Record
from rememo.serve.dashboard.display_text import cut_fields, part, parts
from rememo.serve.dashboard.visit import Visit

CORRECTABLE: Final = frozenset({"message", "note", "thought"})
"""The kinds whose text can be corrected; derived kinds follow their sources."""
NOT_DELETABLE: Final = frozenset({"chunk", "state"})
"""The kinds that cannot be deleted on their own: they are part of something else."""
_LONGEST_CORRECTED: Final = 10_000
_VERSIONS: Final = 20
_LEARNED: Final = 20


def record_page(visit: Visit) -> tuple[str, dict[str, Any]]:
    """Return the page of a record; a deleted one shows its history."""
    id = visit.query.get("id", "")
    memory = visit.memory
    versions = memory.history(id) if id else []
    if not versions:
        raise NotFound("no record id given")
    record, then = versions[-1], visit.time("known_at")
    # The time of a write may be a little ahead of the clock, where many come at once: a deleted record counts as deleted.
    ended = record.superseded_at is not None and (then is None or record.superseded_at <= then)
    current = not ended and (record.expires_at is None or record.expires_at > (then or visit.now))
    number = visit.number("version") if "version" in visit.query else record.version
    chosen = [version for version in versions if version.version == number]
    if not chosen:
        raise NotFound(f"record {id!r} has no version {number}")
    record, latest = chosen[0], record
    of = parts(record.text)
    number = min(visit.number("part", least=1), of)
    changes = current and record is latest and visit.may("write")
    return "record.html", {
        "record": record,
        "current": current,
        "latest": latest,
        "text": part(record.text, number),
        "part": number,
        "parts": of,
        "data": cut_fields(record.data),
        "metadata": cut_fields(record.metadata),
        "versions": list(reversed(versions))[:_VERSIONS],
        "version_count": len(versions),
        "learned": _learned_records(visit, record),
        "standing": _validity_status(visit, record) if current else None,
        "revisions": visit.memory.revisions.list(id=record.id, limit=_LEARNED) if current else [],
        "pins": changes,
        "corrects": changes and record.kind in CORRECTABLE and len(record.text) <= _LONGEST_CORRECTED,
        "deletes": changes and record.kind not in NOT_DELETABLE,
    }


def _validity_status(visit: Visit, record: Record) -> RecordStatus:
    """Return the validity status of a record."""
    view = view_of(visit.memory)
    view.wait_for_extraction()
    at = visit.time("known_at") or visit.now
    return record_statuses(view.engine, view.scope.tenant, [record], at, known_at=view.known_at)[record.id]


def _learned_records(visit: Visit, record: Record) -> list[Record]:
    memory = visit.memory
    condition = Condition("data", ("sources",), "$contains", record.id)
    view = view_of(memory)
    engine = view.engine
    filter = view.filter(kind=("fact", "relationship", "summary"), conditions=(condition,))
    return engine.store.read(filter, engine.now(), limit=_LEARNED)


def record_text(visit: Visit) -> str:
    """Return the whole text of a record as it is stored."""
    return visit.memory.get(visit.query.get("id", ""), known_at=visit.time("known_at")).text
