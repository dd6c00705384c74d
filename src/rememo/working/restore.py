"""Restore a workbench from an export, in one transaction."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from rememo.engine.job_payloads import UNLEARN
from rememo.engine.view import View
from rememo.errors import AlreadyExists, NotFound, VersionConflict
from rememo.keep.versions import read_states
from rememo.model.derived_ids import DerivedId, is_derived
from rememo.model.ids import new_id
from rememo.model.job import NewJob
from rememo.model.receipt import Receipt
from rememo.model.record import Record
from rememo.model.scope import Scope
from rememo.runtime.retry import retry_on_conflict
from rememo.store.drafts import Draft
from rememo.store.writes import Put, Remove, Revise, Write
from rememo.working.export_format import (
    ImportedRecord,
    WorkingExport,
    copy_id,
    imported_limits,
    local_id,
    relink,
    workbench_records,
)

_MOST_TRIES = 20
_COMPARED = (
    "kind", "text", "data", "metadata", "occurred_at", "valid_from", "valid_to", "expires_at", "pinned", "importance",
    "source", "trust",
)  # fmt: skip


def restore_export(view: View, document: WorkingExport) -> Receipt:
    """Make the workbench of a view what an export says."""
    limits = [] if document.limits is None else [imported_limits(view.engine, view.scope, document.limits)]
    return restore(view, [*document.records, *limits])


def restore(view: View, imported: Sequence[ImportedRecord]) -> Receipt:
    """Make the workbench of a view hold the imported records and nothing else.

    What is so already is left alone, what ended is taken up again, what is not wanted ends. A record whose id belongs to
    another scope becomes a copy with an id of its own. What was learned from messages that end stays known.
    """
    view.need_present()
    view.need_no_batch("restoring a workbench")
    now = view.engine.now()
    # What has expired since the export is gone here too.
    alive = [record for record in imported if record.fields["expires_at"] is None or record.fields["expires_at"] > now]
    return retry_on_conflict(
        lambda: alive,
        lambda imported: view.engine.commit(view.scope, _plan_writes(view, imported)),
        "the workbench",
        attempts=_MOST_TRIES,
        conflicts=(AlreadyExists, NotFound, VersionConflict),
    )


def _plan_writes(view: View, imported: Sequence[ImportedRecord]) -> list[Write]:
    current = {record.id: record for record in workbench_records(view)}
    past: dict[str, Record] = {}
    ids = _resolve_ids(view, imported, current, past)
    kept_ids: set[str] = set()
    added: list[tuple[ImportedRecord, dict[str, Any]]] = []
    changed: list[Write] = []
    for target in imported:
        id, fields = ids[target.id], relink(target, ids)
        kept_ids.add(id)
        if id in current:
            record = current[id]
            if not _same(record, target, fields):
                draft = _redraft(view, record, target, fields)
                changed.append(Revise(draft=draft, expected=record.version))
        elif id in past:
            changed.append(Revise(draft=_redraft(view, past[id], target, fields), expected=0, outcome="restored"))
        else:
            added.append((target, fields | {"id": id}))
    removed = [
        Remove(id=record.id, scope=view.scope, expected=record.version)
        for record in current.values()
        if record.id not in kept_ids
    ]
    return [*removed, *changed, *_new_records(view, added)]


def _resolve_ids(
    view: View, imported: Sequence[ImportedRecord], current: Mapping[str, Record], past: dict[str, Record]
) -> dict[str, str]:
    """Return the local id of each imported record, and fill in those that were here before."""
    tenant_scope = Scope(tenant=view.scope.tenant)
    local_ids = {record.id: local_id(view, record) for record in imported}
    elsewhere = read_states(view.engine, tenant_scope, [id for id in local_ids.values() if id not in current], None)

    def fits(record: ImportedRecord, id: str, live: Record | None) -> bool:
        """Whether a record may have this id: nobody else has or had it."""
        if live is not None:
            return id in current and live.kind == record.kind and live.scope == record.scope
        versions = view.engine.store.history(tenant_scope, id)
        if versions and (versions[-1].kind != record.kind or versions[-1].scope != record.scope):
            return False
        if versions:
            past[id] = versions[-1]
        # A derived id that is new here could be claimed before what it is meant for.
        return bool(versions) or isinstance(id, DerivedId) or not is_derived(id)

    ids: dict[str, str] = {}
    for record in imported:
        id = local_ids[record.id]
        if not fits(record, id, current.get(id) or elsewhere.get(id)):
            id = copy_id(view, record.id)
            # Filled in where it was here before.
            fits(record, id, current.get(id) or _find_live(view, tenant_scope, id))
        ids[record.id] = id
    return ids


def _find_live(view: View, scope: Scope, id: str) -> Record | None:
    """Return a record wherever it is in the tenant."""
    return read_states(view.engine, scope, [id], None).get(id)


def _same(record: Record, imported: ImportedRecord, fields: Mapping[str, Any]) -> bool:
    created = imported.created_at in (None, record.created_at)
    return created and all(getattr(record, name) == fields[name] for name in _COMPARED)


def _redraft(view: View, record: Record, imported: ImportedRecord, fields: Mapping[str, Any]) -> Draft:
    draft = view.engine.drafts.redraft(record, view.attributed({**fields, "kind": record.kind}))
    draft.created_at = imported.created_at or record.created_at
    if record.kind == "message" and record.text != draft.text:
        # Other words than those that were learned from.
        draft.jobs = (*draft.jobs, NewJob(id=new_id(), task=UNLEARN, payload={}))
    return draft


def _new_records(view: View, added: Sequence[tuple[ImportedRecord, dict[str, Any]]]) -> list[Put]:
    """Return the writes of new records in the order given; those of one scope are embedded together."""
    by_scope: dict[Scope, list[int]] = {}
    for index, (record, _) in enumerate(added):
        by_scope.setdefault(record.scope, []).append(index)
    writes: dict[int, Put] = {}
    for scope, indices in by_scope.items():
        created = view.engine.drafts.puts(scope, [view.attributed(added[index][1]) for index in indices])
        for index, write in zip(indices, created, strict=True):
            write.draft.created_at = added[index][0].created_at
            writes[index] = replace(write, fresh=False)
    return [writes[index] for index in sorted(writes)]
