"""Tasks: what jobs do, by name."""

from collections.abc import Callable, Mapping, Sequence

from rememo.engine.drafting import EMBED
from rememo.engine.engine import Engine
from rememo.engine.job_payloads import ABSTRACT, EXTRACT, LEARN, SUMMARISE, UNLEARN, WRITE_AGAIN, check_payload
from rememo.engine.remote_embedding import EmbeddingCache, fetch_vectors
from rememo.errors import Closed, EmbeddingFailed, InvalidInput, ModelChanged, RememoError
from rememo.keep.rotation import REENCRYPT, reencrypt
from rememo.learn.messages import learn
from rememo.llm.embedding import booked_embedding
from rememo.model.job import Job
from rememo.model.scope import LABELS, Scope
from rememo.recall.embed.protocol import RemoteEmbedder, Vector
from rememo.summary.room_summaries import RoomSummaries

TASKS = (LEARN, UNLEARN, EMBED, SUMMARISE, REENCRYPT)
PASSED_ON = {LEARN: EXTRACT, UNLEARN: EXTRACT, SUMMARISE: ABSTRACT}

LEARNING = (LEARN, UNLEARN, EXTRACT)
"""What must be done before a message is learned from."""
OUTCOME, ENDED = "outcome", "deleted"
"""What the payload of an `unlearn` job says of the write that caused it; jobs of earlier releases lack it."""

UNLEARNED_OUTCOMES = {
    "message": ("deleted", "updated", "replaced", "restored"),
    "note": ("deleted", "updated", "replaced", "restored"),
    "fact": ("deleted", "restored"),
    "summary": ("deleted", "restored"),
}
"""By kind of record: the writes after which what was learned from it is brought in line."""

Errors = dict[tuple[str, str], Exception | str]


class ImpossibleJob(Exception):
    """A job that can never be done, however often it is tried."""


def do_all(engine: Engine, jobs: Sequence[Job]) -> Errors:
    """Run jobs of any tenants and tasks, and return the errors by tenant and job."""
    groups: dict[tuple[str, str], list[Job]] = {}
    errors: Errors = {}
    for job in jobs:
        try:
            check_payload(job.task, job.payload)
        except InvalidInput as error:
            errors[job.tenant, job.id] = ImpossibleJob(str(error))
        else:
            groups.setdefault((job.tenant, LEARN if job.task == UNLEARN else job.task), []).append(job)
    # What a message says is learned before the message may leave into a summary.
    for (tenant, task), group in sorted(groups.items(), key=lambda entry: _DOING.index(entry[0][1])):
        errors |= _guarded(_DOERS[task], engine, tenant, group)
    return errors


def _guarded(
    run: Callable[[Engine, str, Sequence[Job]], Mapping[str, Exception]],
    engine: Engine,
    tenant: str,
    jobs: Sequence[Job],
) -> Errors:
    """Run a group of jobs; when all of it fails for a reason that may be one job's, each is run by itself."""
    try:
        return {(tenant, id): error for id, error in run(engine, tenant, jobs).items()}
    except Closed:
        raise
    except Exception as error:  # noqa: BLE001 - whatever a job raises is its own end, kept and shown
        if len(jobs) == 1 or isinstance(error, RememoError):
            return {(tenant, job.id): error for job in jobs}
    errors: Errors = {}
    for job in jobs:
        errors |= _guarded(run, engine, tenant, [job])
    return errors


def _learn(engine: Engine, tenant: str, jobs: Sequence[Job]) -> dict[str, Exception]:
    """Learn by rules, and write summaries of what changed anew, unless a model is to do that."""
    # A record may have left meanwhile while what was learned from it stays: only the job of its end takes that along.
    ended = {job.payload["record"] for job in jobs if job.task == UNLEARN and job.payload.get(OUTCOME, ENDED) == ENDED}
    failed = learn(engine, tenant, [job.payload["record"] for job in jobs], _reaches(tenant, jobs), ended=ended)
    errors = {job.id: failed[job.payload["record"]] for job in jobs if job.payload["record"] in failed}
    return errors if engine.models is not None else errors | _renew(engine, tenant, jobs)


def _reaches(tenant: str, jobs: Sequence[Job]) -> dict[str, set[Scope]]:
    """Return how far the change of each record may go, where all who changed it were bound to labels."""
    reaches: dict[str, set[Scope]] = {}
    unbound: set[str] = set()
    for job in jobs:
        if job.task != UNLEARN:
            continue
        record, labels = job.payload["record"], job.payload.get("reach")
        if labels:
            reach = Scope(tenant=tenant, **{name: labels[name] for name in LABELS if name in labels})
            reaches.setdefault(record, set()).add(reach)
        else:
            unbound.add(record)
    return {record: reach for record, reach in reaches.items() if record not in unbound}


def _renew(engine: Engine, tenant: str, jobs: Sequence[Job]) -> dict[str, Exception]:
    """Write the summaries of messages that changed or are gone anew; only the jobs of these name a room."""
    rooms: dict[str, list[Job]] = {}
    for job in jobs:
        if job.payload.get("room") is not None:
            rooms.setdefault(job.payload["room"], []).append(job)
    errors: dict[str, Exception] = {}
    for room, group in rooms.items():
        summaries, changed = RoomSummaries(engine, tenant, room), [job.payload["record"] for job in group]
        errors |= _each(group, lambda summaries=summaries, changed=changed: summaries.renew(changed))
    return errors


def _summarise(engine: Engine, tenant: str, jobs: Sequence[Job]) -> dict[str, Exception]:
    rooms: dict[str, list[Job]] = {}
    errors: dict[str, Exception] = {}
    for job in jobs:
        if job.payload.get(WRITE_AGAIN):
            room, id = job.payload.get("room"), str(job.payload["record"])
            errors |= _each([job], lambda room=room, id=id: RoomSummaries(engine, tenant, room).write_again(id))
        else:
            rooms.setdefault(job.payload["room"], []).append(job)
    for room, group in rooms.items():
        errors |= _each(group, RoomSummaries(engine, tenant, room).gather_by_policy)
    return errors


def _each(jobs: Sequence[Job], run: Callable[[], object]) -> dict[str, Exception]:
    """Run several jobs as one; when it fails, each of them has failed, and no others."""
    try:
        run()
    except Closed:
        raise
    except Exception as error:  # noqa: BLE001 - whatever a job raises is its own end, kept and shown
        return {job.id: error for job in jobs}
    return {}


def _embed(engine: Engine, tenant: str, jobs: Sequence[Job]) -> dict[str, Exception]:
    """Embed the versions that wait for their vectors; one that is gone needs none."""
    active = engine.model.follow()
    embedder, model = active.embedder, active.number
    if embedder is None or model is None:
        raise ModelChanged(active.words_only or "this process was opened with embedder=None and cannot embed")
    scope = Scope(tenant=tenant)
    owed: list[tuple[Job, str]] = []
    for job in jobs:
        versions = engine.store.history(scope, job.payload["record"])
        owed += [(job, version.text) for version in versions if version.version == job.payload["version"]]
    texts = [text for _, text in owed]
    if isinstance(embedder, RemoteEmbedder):
        days, now = engine.settings.embed_cache_days, engine.now()
        paid = EmbeddingCache(engine.plain_kv, embedder, tenant=tenant, days=days, moment=now)
        vectors = fetch_vectors(texts, booked_embedding(engine, tenant, embedder), paid)
    else:
        vectors = fetch_vectors(texts, embedder.embed, None)
    errors: dict[str, Exception] = {}
    embedded: list[tuple[str, int, Vector]] = []
    for (job, _), vector in zip(owed, vectors, strict=True):
        if isinstance(vector, EmbeddingFailed):
            errors[job.id] = vector
        elif vector is not None:
            embedded.append((job.payload["record"], job.payload["version"], vector))
    if embedded:
        engine.store.set_vectors(tenant, embedded, model=model)
    return errors


def _extract(engine: Engine, tenant: str, jobs: Sequence[Job]) -> dict[str, Exception]:
    """Learn by the memory's model, and write summaries of what changed anew; what rules found stands already."""
    # Only now: it needs pydantic, which those without a model have no use for.
    from rememo.learn.model_learning import learn_by_model  # noqa: PLC0415

    records = {job.id: str(job.payload["record"]) for job in jobs}
    failed = learn_by_model(engine, tenant, list(records.values()))
    errors = {job: failed[record] for job, record in records.items() if record in failed}
    return errors | _renew(engine, tenant, jobs)


_DOERS: Mapping[str, Callable[[Engine, str, Sequence[Job]], Mapping[str, Exception]]] = {
    LEARN: _learn,
    EMBED: _embed,
    SUMMARISE: _summarise,
    REENCRYPT: reencrypt,
    EXTRACT: _extract,
    ABSTRACT: _summarise,
}
_DOING = tuple(_DOERS)
