"""Batched maintenance: read records in pages, write in small batches, and adapt the batch size to how long writes take."""

import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime

from rememo.engine.engine import Engine
from rememo.errors import NotFound, VersionConflict
from rememo.model.filters import Filter
from rememo.model.job import Job
from rememo.model.record import Record
from rememo.model.scope import Scope
from rememo.store.protocol.jobs import JobQueue
from rememo.store.writes import Remove, Revise

PAGE = 500
OPERATION = "retention"
"""What the audit trail calls it."""
_MAX_LISTED = 10
_LEAST, _FIRST, _MOST = 4, 32, 500
_WORK, _LITTLE = 0.006, 0.003
"""Seconds of work in one write: above the one the next is smaller, below the other it is larger."""
_LONG = 0.025
"""Seconds that a write may take with all its waiting, for the disk and for others; small ones are not made smaller for it."""
_REST = 0.25
"""How long to stand back after a write, as a share of what it took: others write and read meanwhile."""

BatchChange = Remove | Revise


def iterate_pages(engine: Engine, filter: Filter) -> Iterator[list[Record]]:
    """Yield the records of a filter in pages, kind by kind and oldest first; they may be removed meanwhile.

    Memory is that of a page, unless very many have the same moment.
    """
    for kind in filter.kinds:
        yield from _iterate_kind(engine, filter.narrowed(kinds=(kind,)))


def _iterate_kind(engine: Engine, filter: Filter) -> Iterator[list[Record]]:
    after, size = filter.after, PAGE
    seen: set[str] = set()
    while True:
        limit = size + len(seen)
        page = engine.store.read(filter.narrowed(after=after), engine.now(), limit=limit, oldest=True)
        fresh = [record for record in page if record.id not in seen]
        if fresh:
            yield fresh
        if len(page) < limit:
            return
        last = page[-1].at
        if last == after:
            seen.update(record.id for record in page)
            size *= 2  # all of one moment: larger steps, or what was seen would be read again and again
        else:
            after, seen, size = last, {record.id for record in page if record.at == last}, PAGE


def iterate_jobs(store: JobQueue, tenant: str) -> Iterator[Job]:
    """Yield the jobs of a tenant, the latest page first; memory is that of a page. They may be removed meanwhile."""
    before: str | None = None
    while page := store.latest_jobs(tenant, limit=PAGE, before=before):
        yield from page
        before = page[0].id


class BatchPacer:
    """The batch size, adapted so that no write takes long."""

    def __init__(self) -> None:
        self.size = _FIRST

    @contextmanager
    def step(self) -> Generator[None]:
        """Time a write, adapt the batch size, and pause."""
        began, working = time.perf_counter(), time.thread_time()
        yield
        self.learn_from(time.perf_counter() - began, time.thread_time() - working)

    def learn_from(self, seconds: float, work: float) -> None:
        """Adapt the batch size to what a write took."""
        if work > _WORK:
            self.size = max(_LEAST, self.size * 2 // 3)
        elif seconds > _LONG:
            self.size = min(self.size, max(_FIRST, self.size * 2 // 3))
        elif work < _LITTLE:
            self.size = min(_MOST, self.size * 5 // 4 + 1)
        time.sleep(min(seconds * _REST, _LONG))


class PolicyProgress:
    """What a policy has done so far."""

    def __init__(self) -> None:
        self.found = 0
        self.done = 0
        self.ids: list[str] = []
        self.batches: list[datetime] = []
        self.archives: list[str] = []

    def count(self, ids: Sequence[str]) -> None:
        """Count what a policy is about."""
        self.found += len(ids)
        self.ids += ids[: _MAX_LISTED - len(self.ids)] if len(self.ids) < _MAX_LISTED else []


class BatchWriter:
    """Writes changes in small batches, each in its own transaction; a dry run only counts them."""

    def __init__(self, engine: Engine, tenant: str, pace: BatchPacer, *, dry: bool) -> None:
        self.engine = engine
        self._scope = Scope(tenant=tenant)
        self._pace = pace
        self.dry = dry

    def write(self, changes: Sequence[BatchChange], progress: PolicyProgress) -> None:
        """Make changes; one whose record moved on meanwhile is left out."""
        progress.count([_record_id(change) for change in changes])
        if self.dry:
            return
        offset = 0
        while offset < len(changes):
            batch = changes[offset : offset + self._pace.size]
            offset += len(batch)
            self._commit(batch, progress)

    def _commit(self, batch: Sequence[BatchChange], progress: PolicyProgress) -> None:
        try:
            with self._pace.step():
                receipt = self.engine.commit(self._scope, batch, operation=OPERATION)
        except (NotFound, VersionConflict):
            if len(batch) == 1:
                return  # somebody changed or removed it: it is looked at again by the next run
            half = len(batch) // 2
            self._commit(batch[:half], progress)
            self._commit(batch[half:], progress)
            return
        progress.done += len(receipt.ids)
        if receipt.recorded_at is not None:
            progress.batches.append(receipt.recorded_at)


def make_removal(record: Record) -> Remove:
    """Return the write that ends a record as it is now."""
    return Remove(id=record.id, scope=record.scope, expected=record.version)


def _record_id(change: BatchChange) -> str:
    return change.id if isinstance(change, Remove) else change.draft.id
