"""The export format of a workbench: one JSON value, written and read.

The value has a format and a version, the limits, and by section the records and values as they are now, without their
older versions. Ids and times are kept, so that what refers to a message still does.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, cast

from rememo.collections.base import check_choice, check_external_id, check_priority, value_id
from rememo.collections.limits import MessageLimits, read_limits
from rememo.collections.plan_item import STATUSES
from rememo.collections.thoughts import STEPS
from rememo.collections.working_limits import LIMITS, WorkingLimits
from rememo.engine.engine import Engine
from rememo.engine.view import View
from rememo.errors import InvalidInput
from rememo.model.check import check_json, check_label, dump_json
from rememo.model.derived_ids import DerivedId, is_derived
from rememo.model.derived_names import copy_name, external_name
from rememo.model.record import STATE, Record
from rememo.model.scope import LABELS, Scope
from rememo.model.times import to_utc
from rememo.working.context_values import CONTEXT, is_value

FORMAT = "rememo-working"
FORMAT_VERSION = 1
SECTIONS = {"messages": "message", "actions": "action", "thoughts": "thought", "todos": "task"}
_KINDS = (*SECTIONS.values(), STATE)
_TIMES = ("occurred_at", "valid_from", "valid_to", "expires_at")
_PLAIN: dict[str, Any] = {
    "data": {}, "metadata": {}, "pinned": False, "importance": None, "source": None, "trust": 1.0,
}  # fmt: skip
_ENTRY = {"id", "text", "created_at", "labels", *_TIMES, *_PLAIN}
_LINKS = ("reply_to", "parent")


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedRecord:
    """A record as an import wants it to be."""

    id: str
    kind: str
    scope: Scope
    created_at: datetime | None
    fields: dict[str, Any]
    """What `Engine.puts` takes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkingExport:
    """What an export asks for, checked."""

    records: tuple[ImportedRecord, ...]
    limits: WorkingLimits | None
    has_room_limits: bool
    """Whether it says anything of the room's limits."""
    room_limits: MessageLimits | None
    """None where the room has none."""


def workbench_records(view: View) -> list[Record]:
    """Return the records of a workbench in one read, oldest first."""
    engine = view.engine
    records = engine.store.read(view.filter(kind=_KINDS), engine.now())
    return [record for record in records if record.kind != STATE or is_value(record, view.scope)]


def export_workbench(view: View, records: Iterable[Record]) -> dict[str, Any]:
    """Return the JSON value of a workbench."""
    all_records = list(records)
    out: dict[str, Any] = {"format": FORMAT, "version": FORMAT_VERSION, "limits": None}
    for section, kind in SECTIONS.items():
        out[section] = [_entry(view.scope, record) for record in all_records if record.kind == kind]
    values: list[dict[str, Any]] = []
    for record in all_records:
        if record.kind != STATE:
            continue
        if record.data["use"] == LIMITS:
            out["limits"] = record.data["value"]
            continue
        labels = _inner(view.scope, record.scope)
        value = {"name": record.data["name"], "value": record.data["value"]}
        values.append(value | {"labels": labels} if labels else value)
    out["context"] = sorted(values, key=lambda value: (value["name"], dump_json(value.get("labels", {}))))
    return out


def _entry(scope: Scope, record: Record) -> dict[str, Any]:
    entry: dict[str, Any] = {"id": record.id, "text": record.text, "created_at": record.created_at.isoformat()}
    if labels := _inner(scope, record.scope):
        entry["labels"] = labels
    for name in _TIMES:
        at: datetime | None = getattr(record, name)
        if at is not None:
            entry[name] = at.isoformat()
    return entry | {name: getattr(record, name) for name, plain in _PLAIN.items() if getattr(record, name) != plain}


def _inner(outer: Scope, scope: Scope) -> dict[str, str]:
    """Return the labels that a record has beyond those of the view."""
    return {
        name: getattr(scope, name)
        for name in LABELS
        if getattr(outer, name) is None and getattr(scope, name) is not None
    }


# ---- reading


def read_export(view: View, value: object) -> WorkingExport:
    """Return what an export asks for, checked as a whole; what is foreign, damaged or newer raises `InvalidInput`."""
    if not isinstance(value, Mapping) or value.get("format") != FORMAT:  # pyright: ignore[reportUnknownMemberType] - a caller's
        raise InvalidInput(f"this is not the export of a workbench: it must be a mapping with format {FORMAT!r}")
    document = cast("Mapping[str, Any]", value)
    version = document.get("version")
    if isinstance(version, bool) or not isinstance(version, int) or version < 1:
        raise InvalidInput(f"this export of a workbench is damaged: its version is {version!r}; nothing was changed")
    if version > FORMAT_VERSION:
        raise InvalidInput(
            f"this export of a workbench has format {version}, this Rememo reads {FORMAT_VERSION};"
            " upgrade rememo, nothing was changed"
        )
    if unknown := set(document) - {"format", "version", "limits", "room_limits", "context", *SECTIONS}:
        raise InvalidInput(
            f"this export of a workbench has the unknown part {min(map(repr, unknown))}; nothing was changed"
        )
    records: list[ImportedRecord] = []
    for section, kind in SECTIONS.items():
        records += [_read(view, f"{section}[{index}]", kind, item) for index, item in _items(document, section)]
    records += [_read_value(view, f"context[{index}]", item) for index, item in _items(document, "context")]
    ids = Counter(record.id for record in records)
    if len(ids) != len(records):
        twice = next(id for id, count in ids.items() if count > 1)
        raise InvalidInput(f"this export of a workbench is damaged: it has {twice!r} twice; nothing was changed")
    limits, room = document.get("limits"), document.get("room_limits")
    try:
        return WorkingExport(
            records=tuple(records),
            limits=None if limits is None else WorkingLimits.read(limits),
            has_room_limits="room_limits" in document,
            room_limits=None if room is None else read_limits(room),
        )
    except InvalidInput as error:
        raise InvalidInput(f"the limits of this export cannot be imported: {error}; nothing was changed") from None


def _items(document: Mapping[str, Any], section: str) -> Iterable[tuple[int, Any]]:
    items = document.get(section)
    if not isinstance(items, list | tuple):
        raise InvalidInput(f"this export of a workbench is damaged: {section} is no list; nothing was changed")
    return enumerate(cast("list[Any]", items))


def _read(view: View, where: str, kind: str, value: object) -> ImportedRecord:
    try:
        entry = _mapping(value, _ENTRY, ("id", "text", "created_at"))
        fields: dict[str, Any] = {"kind": kind, "text": entry["text"]}
        fields |= {name: entry.get(name, plain) for name, plain in _PLAIN.items()}
        for name in _TIMES:
            fields[name] = None if entry.get(name) is None else to_utc(entry[name], name)
        if not isinstance(fields["data"], Mapping):
            raise InvalidInput("data must be a mapping")  # noqa: TRY301 - reported with its place below
        _CHECKS[kind](cast("Mapping[str, Any]", fields["data"]))
        imported = ImportedRecord(
            id=check_label(entry["id"], "id"),
            kind=kind,
            scope=_scope(view, entry),
            created_at=to_utc(entry["created_at"], "created_at"),
            fields=fields,
        )
        # A dry run of what is written later: a value that cannot be kept is found before anything is changed.
        view.engine.drafts.check_stored(_record(imported))
    except (InvalidInput, TypeError, KeyError) as error:
        raise InvalidInput(f"{where} of this export cannot be imported: {error}; nothing was changed") from None
    return imported


def _record(imported: ImportedRecord) -> Record:
    created = cast("datetime", imported.created_at)
    return Record(
        id=imported.id, version=1, scope=imported.scope, created_at=created, recorded_at=created, **imported.fields
    )


def _read_value(view: View, where: str, value: object) -> ImportedRecord:
    settings = view.engine.settings
    try:
        entry = _mapping(value, {"name", "value", "labels"}, ("name", "value"))
        name, scope = check_label(entry["name"], "name"), _scope(view, entry)
        checked_value = check_json(
            entry["value"], "value", max_bytes=settings.max_data_bytes, depth=settings.max_depth - 1
        )
    except InvalidInput as error:
        raise InvalidInput(f"{where} of this export cannot be imported: {error}; nothing was changed") from None
    return imported_value(view.engine, scope, CONTEXT, name, checked_value)


def imported_value(engine: Engine, scope: Scope, use: str, name: str, value: Any) -> ImportedRecord:
    """Return the record of a value that is wanted."""
    fields = _PLAIN | dict.fromkeys(_TIMES) | {"kind": STATE, "text": ""}
    fields["data"] = {"use": use, "name": name, "value": value}
    return ImportedRecord(
        id=value_id(engine, scope, use, name), kind=STATE, scope=scope, created_at=None, fields=fields
    )


def imported_limits(engine: Engine, scope: Scope, limits: WorkingLimits) -> ImportedRecord:
    """Return the record of limits that are wanted."""
    return imported_value(engine, scope, LIMITS, LIMITS, limits.to_json())


def _mapping(value: object, allowed: set[str], required: tuple[str, ...]) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise InvalidInput(f"it must be a mapping, not {type(value).__name__}")
    entry = cast("Mapping[str, Any]", value)
    if unknown := set(entry) - allowed:
        raise InvalidInput(f"there is no field {min(map(repr, unknown))}")
    for name in required:
        if name not in entry:
            raise InvalidInput(f"it has no {name}")
    return entry


def _scope(view: View, entry: Mapping[str, Any]) -> Scope:
    labels = _mapping(entry.get("labels", {}), set(LABELS), ())
    return view.scope.narrow(**{name: check_label(label, name) for name, label in labels.items() if label is not None})


def _check_message(data: Mapping[str, Any]) -> None:
    check_label(data.get("role"), "role")
    calls: object = data.get("tool_calls", [])
    if not isinstance(calls, list):
        raise InvalidInput("tool_calls must be a list")


def _check_action(data: Mapping[str, Any]) -> None:
    check_label(data.get("tool"), "tool")
    if not isinstance(data.get("success"), bool) or not isinstance(data.get("parameters", {}), dict):
        raise InvalidInput("success must be true or false, and parameters a mapping")
    time = data.get("duration", 0.0)
    if isinstance(time, bool) or not isinstance(time, int | float):
        raise InvalidInput("duration must be seconds")


def _check_thought(data: Mapping[str, Any]) -> None:
    check_choice(data.get("step"), "step", STEPS)


def _check_task(data: Mapping[str, Any]) -> None:
    check_choice(data.get("status"), "status", STATUSES)
    check_priority(data.get("priority", 0))
    for name in ("due", "first", "done_at"):
        if data.get(name) is not None:
            to_utc(data[name], name)


_CHECKS = {"message": _check_message, "action": _check_action, "thought": _check_thought, "task": _check_task}


def local_id(view: View, imported: ImportedRecord) -> str:
    """Return the id that a wanted record has in this memory, whatever memory it comes from.

    Only what is derived here creates a record under a derived id: of a platform's message, its ids tell which that is.
    """
    parts = imported.fields["data"].get("external_id")
    if imported.kind != "message" or parts is None or not is_derived(imported.id):
        return imported.id
    return view.engine.ids.derive(view.scope.tenant, external_name(imported.kind, check_external_id(parts)))


def copy_id(view: View, id: str) -> DerivedId:
    """Return the id of a copy, for a record whose own id it cannot have here; the same at every import."""
    tenant = view.scope.tenant
    return view.engine.ids.derive(tenant, copy_name(view.scope, view.engine.ids.name(tenant, id)))


def relink(imported: ImportedRecord, ids: Mapping[str, str]) -> dict[str, Any]:
    """Return the fields of a record with what it refers to by other ids."""
    data = dict(imported.fields["data"])
    for name in _LINKS:
        if imported.kind != STATE and isinstance(data.get(name), str):
            data[name] = ids.get(data[name], data[name])
    return imported.fields | {"data": data}
