"""Health check: the state of a store and of what it depends on, and how to repair it. It changes nothing."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Final, Literal

from rememo.engine.engine import Engine
from rememo.keep.missing_vectors import count_missing
from rememo.model.filters import Filter
from rememo.model.scope import Scope

Level = Literal["ok", "note", "bad"]

_LOW_DISK: Final = 1_000_000_000
_LONG_LOG: Final = 1_000_000_000
_LATE: Final = timedelta(minutes=10)
_MAX_LISTED: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckResult:
    """The result of one check."""

    what: str
    level: Level
    said: str
    mend: str | None = None
    """What to do about it."""


def check_health(engine: Engine, tenant: str, *, deep: bool = False) -> Iterator[CheckResult]:
    """Yield results as checks are made; `deep` also reads the whole store and compares its parts."""
    yield from _check_store(engine)
    yield from _check_jobs(engine, tenant)
    yield from _check_vectors(engine, tenant)
    yield from _check_servers(engine)
    yield from _check_quarantine(engine, tenant)
    if deep:
        yield from _check_contents(engine)


def _check_store(engine: Engine) -> Iterator[CheckResult]:
    now = engine.store.health()
    yield CheckResult(what="store", level="ok", said=f"answers; {now.engine}, {_format_size(now.file_bytes)}")
    for what, mend in now.lacks.items():
        yield CheckResult(what="store", level="note", said=what, mend=mend)
    if now.disk_bytes is not None:
        low = now.disk_bytes < max(_LOW_DISK, now.file_bytes // 10)
        yield CheckResult(
            what="disk", level="bad" if low else "ok", said=f"{_format_size(now.disk_bytes)} are free",
            mend="make room: a full disk refuses writes; `rememo maintain` removes what policies do not keep" if low else None,
        )  # fmt: skip
    if now.log_bytes > _LONG_LOG:
        yield CheckResult(
            what="log", level="bad", said=f"the log of writes has {_format_size(now.log_bytes)}",
            mend="a reader has been open for very long: close or restart the processes that hold the file",
        )  # fmt: skip


def _check_jobs(engine: Engine, tenant: str) -> Iterator[CheckResult]:
    counts = engine.store.health().jobs
    dead, open_jobs = counts.get("dead", 0), counts.get("waiting", 0) + counts.get("running", 0)
    if dead:
        reasons = dict.fromkeys(str(job.error) for job in engine.store.jobs(tenant, state="dead"))
        message = f"{dead:,} are dead" + "".join(f"; {reason}" for reason in list(reasons)[:_MAX_LISTED])
        yield CheckResult(what="jobs", level="bad", said=message, mend="mend the cause, then `rememo jobs --retry`")
    waiting = engine.store.jobs(tenant, state="waiting")
    late = [job for job in waiting if not job.attempts and job.created_at < engine.now() - _LATE]
    if late:
        yield CheckResult(
            what="jobs", level="bad", said=f"{len(late):,} have waited for more than ten minutes",
            mend="no worker is running: start `rememo worker`, or open the memory with worker=True",
        )  # fmt: skip
    elif not dead:
        yield CheckResult(what="jobs", level="ok", said=f"{open_jobs:,} are open, none is dead")


def _check_vectors(engine: Engine, tenant: str) -> Iterator[CheckResult]:
    model = engine.store.model()
    if model is None:
        yield CheckResult(what="embedder", level="note", said="no vectors are kept: search goes by words alone")
        return
    active = engine.model.follow()
    if active.words_only is not None:
        yield CheckResult(
            what="embedder", level="bad", said=active.words_only,
            mend=f"open it with {model.name}, or change the store's model by `rememo reembed`",
        )  # fmt: skip
    missing = count_missing(engine, tenant)
    if missing.lost:
        yield CheckResult(
            what="vectors", level="bad",
            said=f"{missing.lost:,} versions have no vector and no job will make it, such as {missing.example}",
            mend=f"`rememo reembed` with {model.name} makes them",
        )  # fmt: skip
    if active.words_only is not None:
        return
    stats = engine.store.stats(tenant, engine.now())
    owed = [job for job in engine.store.jobs(tenant, state="waiting") if job.task == "embed"]
    failed = next((job.error for job in reversed(owed) if job.error), None)
    summary = f"{model.name}, {stats.vectors:,} vectors for {stats.versions:,} versions"
    if failed is not None:
        yield CheckResult(
            what="embedder", level="note", said=f"{summary}; {len(owed):,} are owed, and the last try said: {failed}",
            mend="mend that; a worker goes on trying, and until then search finds these by words",
        )  # fmt: skip
    elif owed:
        mend = "start `rememo worker`: they are made by it"
        yield CheckResult(what="embedder", level="note", said=f"{summary}; {len(owed):,} are owed", mend=mend)
    else:
        yield CheckResult(what="embedder", level="ok", said=summary)


def _check_servers(engine: Engine) -> Iterator[CheckResult]:
    for server in engine.health():
        yield CheckResult(
            what=server.name, level="ok" if server.ok else "bad", said=f"{server.place} {'answers' if server.ok else server.says}",
            mend=None if server.ok else "start that server, or change the setting that names it",
        )  # fmt: skip


def _check_quarantine(engine: Engine, tenant: str) -> Iterator[CheckResult]:
    quarantined = engine.store.count(Filter(scope=Scope(tenant=tenant), quarantined=True), engine.now())
    if quarantined:
        yield CheckResult(
            what="quarantine", level="note", said=f"{quarantined:,} records are held back",
            mend="look at them: `rememo quarantine list`, and release or delete them",
        )  # fmt: skip


def _check_contents(engine: Engine) -> Iterator[CheckResult]:
    check = engine.store.verify()
    for fault in check.faults:
        mend = "restore a backup, or save what can be read by `rememo repair`"
        yield CheckResult(what="verify", level="bad", said=fault, mend=mend)
    for what in check.unchecked:
        yield CheckResult(what="verify", level="note", said=f"not checked: {what}")
    if check.ok:
        counts = ", ".join(f"{count:,} {name}" for name, count in check.checked.items())
        yield CheckResult(what="verify", level="ok", said=f"sound: {counts}")


def _format_size(count: int) -> str:
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= size:
            return f"{count / size:.1f} {unit}"
    return f"{count} bytes"
