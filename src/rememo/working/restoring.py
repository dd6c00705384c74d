"""Restoring: making a workbench what an export says, in one transaction."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from rememo.engine.job_payloads import UNLEARN
from rememo.engine.view import View
from rememo.errors import AlreadyExists, NotFound, VersionConflict
from rememo.keep.versions import states
from rememo.model.derived_ids import DerivedId, is_derived
from rememo.model.ids import new_id
from rememo.model.job import NewJob
from rememo.model.receipt import Receipt
from rememo.model.record import Record
from rememo.model.scope import Scope
from rememo.store.drafts import Draft
from rememo.store.writes import Put, Remove, Revise, Write
from rememo.working.transfer import Exported, Wanted, copied_id, held, own_id, relinked, wanted_limits

_MOST_TRIES = 20
_COMPARED = (
    "kind", "text", "data", "metadata", "occurred_at", "valid_from", "valid_to", "expires_at", "pinned", "importance",
    "source", "trust",
)  # fmt: skip


def restore_export(view: View, given: Exported) -> Receipt:
    """Make the workbench of a view what an export says."""
    limits = [] if given.limits is None else [wanted_limits(view.engine, view.scope, given.limits)]
    return restore(view, [*given.records, *limits])


def restore(view: View, wanted: Sequence[Wanted]) -> Receipt:
    """Make the workbench of a view hold what is wanted and nothing else.

    What is so already is left alone, what ended is taken up again, what is not wanted ends. A record whose id belongs to
    another scope becomes a copy with an id of its own. What was learned from messages that end stays known.
    """
    view.need_present()
    view.need_no_batch("restoring a workbench")
    now = view.engine.now()
    # What has expired since the export is gone here too.
    alive = [one for one in wanted if one.fields["expires_at"] is None or one.fields["expires_at"] > now]
    for _ in range(_MOST_TRIES):
        try:
            return view.engine.commit(view.scope, _writes(view, alive))
        except (AlreadyExists, NotFound, VersionConflict):
            continue  # another was faster with one of them: look again
    raise VersionConflict(f"the workbench changed {_MOST_TRIES} times while it was being restored; try again later")


def _writes(view: View, wanted: Sequence[Wanted]) -> list[Write]:
    current = {record.id: record for record in held(view)}
    past: dict[str, Record] = {}
    ids = _ids(view, wanted, current, past)
    kept: set[str] = set()
    added: list[tuple[Wanted, dict[str, Any]]] = []
    changed: list[Write] = []
    for one in wanted:
        id, fields = ids[one.id], relinked(one, ids)
        kept.add(id)
        if id in current:
            record = current[id]
            if not _same(record, one, fields):
                draft = _redraft(view, record, one, fields)
                changed.append(Revise(draft=draft, expected=record.version))
        elif id in past:
            changed.append(Revise(draft=_redraft(view, past[id], one, fields), expected=0, outcome="restored"))
        else:
            added.append((one, fields | {"id": id}))
    gone = [record for record in current.values() if record.id not in kept]
    removed = [Remove(id=record.id, scope=view.scope, expected=record.version) for record in gone]
    return [*removed, *changed, *_puts(view, added)]


def _ids(
    view: View, wanted: Sequence[Wanted], current: Mapping[str, Record], past: dict[str, Record]
) -> dict[str, str]:
    """Return the id that each wanted record has here, and fill in those that were here before."""
    whole = Scope(tenant=view.scope.tenant)
    own = {one.id: own_id(view, one) for one in wanted}
    elsewhere = states(view.engine, whole, [id for id in own.values() if id not in current], None)

    def fits(one: Wanted, id: str, live: Record | None) -> bool:
        """Whether a record may have this id: nobody else has or had it."""
        if live is not None:
            return id in current and live.kind == one.kind and live.scope == one.scope
        versions = view.engine.store.history(whole, id)
        if versions and (versions[-1].kind != one.kind or versions[-1].scope != one.scope):
            return False
        if versions:
            past[id] = versions[-1]
        # A derived id that is new here could be claimed before what it is meant for.
        return bool(versions) or isinstance(id, DerivedId) or not is_derived(id)

    ids: dict[str, str] = {}
    for one in wanted:
        id = own[one.id]
        if not fits(one, id, current.get(id) or elsewhere.get(id)):
            id = copied_id(view, one.id)
            # Filled in where it was here before.
            fits(one, id, current.get(id) or _live(view, whole, id))
        ids[one.id] = id
    return ids


def _live(view: View, scope: Scope, id: str) -> Record | None:
    """Return a record wherever it is in the tenant."""
    return states(view.engine, scope, [id], None).get(id)


def _same(record: Record, wanted: Wanted, fields: Mapping[str, Any]) -> bool:
    created = wanted.created_at in (None, record.created_at)
    return created and all(getattr(record, name) == fields[name] for name in _COMPARED)


def _redraft(view: View, record: Record, wanted: Wanted, fields: Mapping[str, Any]) -> Draft:
    draft = view.engine.redraft(record, view.attributed({**fields, "kind": record.kind}))
    draft.created_at = wanted.created_at or record.created_at
    if record.kind == "message" and record.text != draft.text:
        # Other words than those that were learned from.
        draft.jobs = (*draft.jobs, NewJob(id=new_id(), task=UNLEARN, payload={}))
    return draft


def _puts(view: View, added: Sequence[tuple[Wanted, dict[str, Any]]]) -> list[Put]:
    """Return the writes of new records in the order given; those of one scope are embedded together."""
    by_scope: dict[Scope, list[int]] = {}
    for place, (one, _) in enumerate(added):
        by_scope.setdefault(one.scope, []).append(place)
    writes: dict[int, Put] = {}
    for scope, places in by_scope.items():
        made = view.engine.puts(scope, [view.attributed(added[place][1]) for place in places])
        for place, write in zip(places, made, strict=True):
            write.draft.created_at = added[place][0].created_at
            writes[place] = replace(write, fresh=False)
    return [writes[place] for place in sorted(writes)]
