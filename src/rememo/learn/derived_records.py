"""Derived records: which part of them was made by hand, and which was learned from sources.

Undo reverts what was made by hand; what was learned follows the messages it came from.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from rememo.engine.engine import Engine
from rememo.learn.facts import is_fact
from rememo.learn.relationships import relationship_fields
from rememo.learn.statements import Statement
from rememo.model.record import Record
from rememo.model.revision import is_revision
from rememo.store.writes import Remove, Revise, Write
from rememo.summary.stored import is_stored_summary

_BY_HAND: Final = ("metadata", "pinned", "expires_at", "quarantine")
"""Fields that learning never changes."""


def is_derived_record(record: Record) -> bool:
    """Return whether a record was learned, or may be changed by learning."""
    return _KINDS.get(record.kind, _NONE).is_kind(record)


def manually_changed(before: Record | None, after: Record | None) -> bool:
    """Return whether a derived record was changed by hand between two states, and not only by learning."""
    if before is None or after is None:
        # What nobody made by hand comes with its first source and goes with its last.
        record = before or after
        return record is not None and bool(_KINDS[record.kind].parts(record) or record.pinned or record.metadata)
    kind = _KINDS[after.kind]
    same = all(getattr(before, name) == getattr(after, name) for name in _BY_HAND)
    return not same or kind.grown(before, after) or kind.parts(before) != kind.parts(after)


def restore_manual_parts(engine: Engine, was: Record | None, now: Record | None) -> Write | None:
    """Return the write that reverts the part made by hand and keeps what was learned since; None when nothing changes."""
    record = was or now
    return None if record is None else _KINDS[record.kind].merge(engine, was, now)


# ---- facts


def _statements(record: Record | None, *, by_hand: bool) -> list[dict[str, Any]]:
    if record is None:
        return []
    return [
        statement
        for statement in record.data["statements"]
        if Statement.from_dict(statement, record.scope).by_hand == by_hand
    ]


def _merge_fact(engine: Engine, was: Record | None, now: Record | None) -> Write | None:
    statements = [*_statements(now, by_hand=False), *_statements(was, by_hand=True)]

    def fields(record: Record) -> dict[str, Any]:
        sources = list(dict.fromkeys(statement["source"] for statement in statements if "source" in statement))
        return {"data": {**record.data, "statements": statements, "sources": sources}}

    return _merged(engine, was, now, fields if statements else None)


# ---- relationships


def _is_link(record: Record) -> bool:
    return "own" in record.data and "match" in record.data


def _own(record: Record | None) -> dict[str, Any]:
    return {} if record is None else record.data["own"]


def _merge_link(engine: Engine, was: Record | None, now: Record | None) -> Write | None:
    own, learned = _own(was), None if now is None else now.data.get("learned")

    def fields(record: Record) -> dict[str, Any]:
        return relationship_fields({**record.data, "own": own, "learned": learned})

    return _merged(engine, was, now, fields if own or learned else None)


# ---- summaries


def _gained(before: Record, after: Record) -> bool:
    """Whether a summary stands for more than before: going back would lose what stands nowhere else."""
    return not set(after.data["sources"]) <= {*before.data["sources"], *before.data.get("left_out", ())}


def _merge_chapter(engine: Engine, was: Record | None, now: Record | None) -> Write | None:
    names = ("text", "data", "occurred_at", "importance", "trust")
    return _merged(engine, was, now, None if was is None else lambda _: {name: getattr(was, name) for name in names})


def _merged(
    engine: Engine, was: Record | None, now: Record | None, made: Callable[[Record], dict[str, Any]] | None
) -> Write | None:
    """Return the write of a record whose fields are made of what it holds now, else of what it held; without any it goes."""
    if made is None:
        return None if now is None else Remove(id=now.id, scope=now.scope, expected=now.version)
    record = now or was
    assert record is not None  # noqa: S101 - there is something of one of them
    # Importance may be set by hand or learned; what was learned is worked out anew.
    names = () if was is None else (*_BY_HAND, "importance")
    fields: dict[str, Any] = {name: getattr(was, name) for name in names}
    fields |= made(record)
    if now is not None and all(getattr(now, name) == value for name, value in fields.items()):
        return None
    draft = engine.drafts.redraft(record, fields)
    if now is None and was is not None:
        draft.created_at = was.created_at
    return Revise(draft=draft, expected=0 if now is None else now.version, outcome="restored")


@dataclass(frozen=True, slots=True)
class _Kind:
    """How the records of one kind are told apart and put together."""

    is_kind: Callable[[Record], bool]
    parts: Callable[[Record], Any]
    """What was made by hand."""
    merge: Callable[[Engine, Record | None, Record | None], Write | None]
    grown: Callable[[Record, Record], bool] = lambda _before, _after: False
    """Whether there is more in it that going back would lose."""


_NONE: Final = _Kind(lambda _: False, lambda _: None, lambda _own, _was, _now: None)
_KINDS: Final[Mapping[str, _Kind]] = {
    "fact": _Kind(is_fact, lambda record: _statements(record, by_hand=True), _merge_fact),
    "relationship": _Kind(_is_link, _own, _merge_link),
    "revision": _Kind(is_revision, lambda _: None, lambda _own, _was, _now: None),
    "summary": _Kind(is_stored_summary, lambda _: None, _merge_chapter, _gained),
}
