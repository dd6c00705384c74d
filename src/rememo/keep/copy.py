"""Copy: a whole store into another, tenant by tenant, streamed; what is there already is passed over.

An interrupted copy is therefore gone on with by doing it again. At the end both are read once more and compared.
"""

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from functools import partial

from rememo.engine.engine import Engine
from rememo.errors import AlreadyExists, StorageError
from rememo.keep.batches import iterate_jobs
from rememo.keep.export import Transferred
from rememo.keep.id_translation import IdTranslation, translation_between
from rememo.keep.import_file import chunks, load_versions
from rememo.model.check import dump_json
from rememo.model.filters import Filter
from rememo.model.job import Job
from rememo.model.scope import Scope
from rememo.store.versions import StoredVersion

Progress = Callable[[str, int], None]
"""Told the tenant and how many of its versions were looked at so far."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyReport:
    """What was new in the copy, and what it has now."""

    tenants: int
    new: Transferred
    versions: int
    """In both of them."""


def copy(source: Engine, target: Engine, progress: Progress | None = None) -> CopyReport:
    """Copy everything of a store into another: versions, vectors, snapshots, key-value entries and jobs of all tenants.

    Raises `AlreadyExists` when a record is there with another content, before its tenant is touched, and `StorageError`
    when the two are not alike at the end.
    """
    tenants = source.store.tenants()
    totals = Transferred()
    versions = 0
    for tenant in tenants:
        translation = translation_between(source, target, tenant)
        source_versions = partial(_read_versions, source, tenant, translation)
        _check_no_conflicts(source_versions, target, tenant)
        new = _copy_tenant(source, target, tenant, translation, progress)
        totals = Transferred(
            **{field.name: getattr(totals, field.name) + getattr(new, field.name) for field in fields(totals)}
        )
        versions += _check_equal(source_versions, source, target, tenant)
    return CopyReport(tenants=len(tenants), new=totals, versions=versions)


def _read_versions(source: Engine, tenant: str, translation: IdTranslation | None) -> Iterator[StoredVersion]:
    """Return the versions of a tenant with the ids that they have in the target."""
    dump = source.store.dump(Scope(tenant=tenant))
    return dump if translation is None else translation.translate_versions(dump)


def _check_no_conflicts(source_versions: Callable[[], Iterator[StoredVersion]], target: Engine, tenant: str) -> None:
    if not target.store.count(Filter(scope=Scope(tenant=tenant), quarantined=None), target.now()):
        return  # what is not there cannot contradict
    for chunk in chunks(source_versions()):
        if clashing := target.store.clashes(chunk):
            raise AlreadyExists(
                f"conflict: {len(clashing)} records of tenant {tenant!r} already exist in the target with other content, the first is"
                f" {clashing[0]!r}; copy into an empty store"
            )


def _copy_tenant(
    source: Engine, target: Engine, tenant: str, translation: IdTranslation | None, progress: Progress | None
) -> Transferred:
    scope, seen, new = Scope(tenant=tenant), 0, 0
    same = _same_model(source, target)
    for chunk in chunks(_read_versions(source, tenant, translation)):
        note = None if target.audit is None else target.audit.note("copy", scope)
        new += load_versions(target, chunk, note, same_model=same)
        seen += len(chunk)
        if progress is not None:
            progress(tenant, seen)
    snapshots = source.store.snapshots(tenant)
    jobs = iterate_jobs(source.store, tenant)
    entries = source.kv.dump(tenant, source.now())
    if translation is not None:
        jobs = map(translation.translate_job, jobs)
        entries = ((space, translation.translate_entry(entry)) for space, entry in entries)
    return Transferred(
        versions=new,
        snapshots=target.store.load_snapshots(tenant, snapshots) if snapshots else 0,
        keys=sum(target.kv.load(tenant, space, entry) for space, entry in entries),
        jobs=sum(target.store.load_jobs(list(map(_as_waiting, chunk))) for chunk in chunks(iter(jobs))),
    )


def _as_waiting(job: Job) -> Job:
    """Return a job as one that waits, where somebody is just doing it for the store that is copied."""
    return replace(job, state="waiting", leased_until=None) if job.state == "running" else job


def _check_equal(
    source_versions: Callable[[], Iterator[StoredVersion]], source: Engine, target: Engine, tenant: str
) -> int:
    """Return how many versions both have of a tenant; raises when what one says is not what the other does."""
    vectors = _same_model(source, target)
    expected, actual = (
        _checksum(versions, vectors=vectors)
        for versions in (source_versions(), target.store.dump(Scope(tenant=tenant)))
    )
    if expected != actual:
        raise StorageError(
            f"tenant {tenant!r} is not the same in both: {expected[0]:,} versions in the source, {actual[0]:,} in the target;"
            " something was written meanwhile, copy again while nobody writes"
        )
    return actual[0]


def _same_model(source: Engine, target: Engine) -> bool:
    embedder = target.embedder
    model = source.store.model()
    return embedder is not None and model is not None and model.identity == (embedder.name, embedder.dimension)


def _checksum(versions: Iterator[StoredVersion], *, vectors: bool) -> tuple[int, int]:
    """Return how many there are and a sum of their digests, which is the same in whatever order they come."""
    count = total = 0
    for version in versions:
        content = dump_json([version.record.to_dict(), version.speaker, vectors and version.vector is not None])
        total += int.from_bytes(hashlib.sha256(content.encode()).digest())
        count += 1
    return count, total % 2**256
