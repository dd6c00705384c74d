"""Maintenance: expired data is reclaimed, then each retention policy is run, in short steps so that nobody waits long.

A run keeps no state of its own: each step is a write that stands by itself, and a run that was interrupted is done by the
next one.
"""

import logging
from collections.abc import Sequence
from contextlib import suppress
from datetime import timedelta

from rememo.engine.view import View, parts_of
from rememo.errors import ArchiveError, InvalidInput, MissingExtra, Unavailable
from rememo.keep.archive import is_important, open_archive, write_archive
from rememo.keep.batches import BatchPacer, BatchWriter, PolicyProgress
from rememo.keep.consistency import remove_duplicates, remove_orphans, repair_references
from rememo.keep.retention import Retention, removable_filter
from rememo.keep.retention_selection import BeforeRemoval, apply_removal, select_removals
from rememo.model.filters import Filter
from rememo.model.record import Record
from rememo.model.retention import Maintenance, PolicyRun, RetentionPolicy
from rememo.store.kv.protocol import KeyValueServer
from rememo.summary.compression import Compression
from rememo.summary.room_summaries import MAX_TOKENS

_log = logging.getLogger("rememo.keep")

_REPAIRS = {"duplicates": remove_duplicates, "references": repair_references, "orphans": remove_orphans}


def maintain(view: View, *, dry: bool = False) -> Maintenance:
    """Reclaim and run the policies of a view's scope and of narrower ones; dry, only tell what they would do."""
    pace = BatchPacer()
    reclaimed = 0 if dry else sweep(view, pace)
    runs = tuple(_run(view, policy, pace, dry=dry) for policy in Retention(view).list())
    engine = view.engine
    if engine.audit is not None and not dry and (reclaimed or any(run.done for run in runs)):
        counts = {f"{run.does}:{run.policy}": run.done for run in runs if run.done}
        engine.audit.record("maintain", view.scope, {"reclaimed": reclaimed, **counts})
    return Maintenance(dry_run=dry, reclaimed=reclaimed, runs=runs)


def sweep(view: View, pace: BatchPacer) -> int:
    """Reclaim what has expired in the whole store, and of this tenant on a server beside it; returns how much."""
    engine = view.engine
    now = engine.now()
    keys_before = now - timedelta(days=engine.settings.key_days)
    total = 0
    if isinstance(engine.plain_kv, KeyValueServer):
        with suppress(Unavailable):  # the next time will do, and the log has told of it
            total += engine.plain_kv.sweep(view.scope.tenant, now)
    while True:
        with pace.step():
            swept = engine.store.sweep(now, keys_before=keys_before, limit=pace.size)
        if not swept:
            return total
        total += swept


def _run(view: View, policy: RetentionPolicy, pace: BatchPacer, *, dry: bool) -> PolicyRun:
    progress = PolicyProgress()
    refused = failed = None
    if policy.does == "versions":
        _thin(view, policy, pace, progress, dry=dry)
    elif policy.does == "compress":
        _compress(view, policy, progress, dry=dry)
    else:
        writer = BatchWriter(view.engine, policy.scope.tenant, pace, dry=dry)
        if policy.does != "remove":
            _REPAIRS[policy.does](view.engine, policy, writer, progress)
        elif (refused := _removes_everything(view, policy)) is None:
            failed = _remove(view, policy, writer, progress)
    return PolicyRun(
        policy=policy.name,
        does=policy.does,
        scope=policy.scope,
        found=progress.found,
        done=progress.done,
        ids=tuple(progress.ids),
        batches=tuple(progress.batches),
        archives=tuple(progress.archives),
        refused=refused,
        failed=failed,
    )


def _remove(view: View, policy: RetentionPolicy, writer: BatchWriter, progress: PolicyProgress) -> str | None:
    """Remove what a policy does not keep; returns why it stopped where something could not be archived.

    Other policies have nothing to do with it: they go on, and the report tells what was done before.
    """
    try:
        apply_removal(view.engine, policy, writer, progress, _archive_before_removal(view, policy))
    except (ArchiveError, MissingExtra) as error:
        _log.error("the policy %s of tenant %s stopped: %s", policy.name, policy.scope.tenant, error)
        return str(error)
    return None


def _removes_everything(view: View, policy: RetentionPolicy) -> str | None:
    """Return why a policy is not run: nothing of the whole tenant would be left."""
    if policy.allow_all:
        return None
    engine = view.engine
    total = engine.store.count(removable_filter(view), engine.now())
    filter = Filter(scope=policy.scope, kinds=policy.kinds, quarantined=None)
    if policy.older_than is not None and policy.at_most is policy.max_bytes is None:
        filter = filter.narrowed(before=engine.now() - timedelta(seconds=policy.older_than))
    # Counting is cheap; looking at each is not, and only needed where the count leaves a doubt.
    if not total or engine.store.count(filter, engine.now()) < total:
        return None
    if sum(len(page) for page in select_removals(engine, policy)) < total:
        return None
    return f"it would remove all {total} records of the tenant; set it again with allow_all=True if that is meant"


def _archive_before_removal(view: View, policy: RetentionPolicy) -> BeforeRemoval | None:
    """Return what puts records away before they leave, where a policy asks for it."""
    if policy.archive is None:
        return None
    engine = view.engine
    try:
        store = open_archive(engine)
    except InvalidInput as error:  # no address here, or one that can be used no more
        raise ArchiveError(str(error)) from None

    def put(records: Sequence[Record], ids: Sequence[str]) -> list[str]:
        if policy.archive == "important":
            records = [record for record in records if is_important(record)]
            ids = [record.id for record in records] + [part.id for part in parts_of(engine, records)]
        return [write_archive(engine, store, policy, records, ids)] if records else []

    return put


def _compress(view: View, policy: RetentionPolicy, progress: PolicyProgress, *, dry: bool) -> None:
    """Replace old messages by summaries, room by room."""
    engine = view.engine
    before = engine.now() - timedelta(seconds=policy.older_than or 0)
    old = Filter(scope=policy.scope, kinds=("message",), before=before)
    rooms = engine.store.labels(old, "room", engine.now())
    for room in [*rooms, None] if policy.scope.room is None else rooms:
        within = old if room is None else old.narrowed(scope=policy.scope.narrow(room=room))
        compression = Compression(engine, within, room, MAX_TOKENS)
        if dry:
            progress.count(compression.would())
            continue
        receipts, removed = compression.run()
        progress.count([record.id for record in removed])
        progress.done += len(removed)
        progress.batches += [receipt.recorded_at for receipt in receipts if receipt.recorded_at is not None]


def _thin(view: View, policy: RetentionPolicy, pace: BatchPacer, progress: PolicyProgress, *, dry: bool) -> None:
    engine = view.engine
    now = engine.now()
    keep_from = None if policy.older_than is None else now - timedelta(seconds=policy.older_than)
    forget_before = None if policy.forget is None else now - timedelta(seconds=policy.forget)
    start, first = "", True
    while True:
        with pace.step():
            thinned = engine.store.thin(
                policy.scope, keep_from=keep_from, forget_before=forget_before, start=start, limit=pace.size,
                first=first, dry=dry,
            )  # fmt: skip
        progress.count(thinned.ids)
        progress.found += thinned.versions - len(thinned.ids)
        if not dry:
            progress.done += thinned.versions
            first = first and not thinned.versions
        if thinned.following is None:
            return
        start = thinned.following
