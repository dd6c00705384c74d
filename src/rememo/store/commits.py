"""What a store keeps of a commit under its idempotency key, and of a version's content."""

import json
from hashlib import blake2b

from rememo.model.check import dump_json
from rememo.model.ids import new_id
from rememo.model.job import NewJob
from rememo.model.scope import Scope
from rememo.model.times import from_micros, to_micros
from rememo.store.cipher.codec import Encoded
from rememo.store.drafts import Analysis, Draft
from rememo.store.versions import StoredVersion
from rememo.store.writes import Commit, Written


def content_hash(kind: str, text: Encoded, data: Encoded) -> bytes:
    """Return what tells whether the content of a version is what was written: of what stands in the file, so no key is needed."""
    if isinstance(text, str) and isinstance(data, str):
        return blake2b(f"{kind}\0{text}\0{data}".encode(), digest_size=16).digest()
    # Bytes that became text, or text that became bytes, are not what was written.
    parts = [part.encode() if isinstance(part, str) else b"\xff" + part for part in (kind, text, data)]
    return blake2b(b"\0".join(parts), digest_size=16).digest()


def key_space(scope: Scope) -> str:
    """Return the namespace of a scope's idempotency keys."""
    return dump_json(_labels(scope))


def pack_commit(commit: Commit) -> str:
    """Return a commit as text."""
    return dump_json(
        {
            "written": [
                [written.id, written.version, written.outcome, written.kind, _labels(written.scope)]
                for written in commit.written
            ],
            "recorded_at": to_micros(commit.recorded_at),
            "jobs": list(commit.jobs),
        }
    )


def unpack_commit(text: str, tenant: str) -> Commit:
    """Return a commit that was kept, as one that is repeated."""
    kept = json.loads(text)
    return Commit(
        written=tuple(
            Written(id, version, outcome, kind, Scope(tenant=tenant, **labels))
            for id, version, outcome, kind, labels in kept["written"]
        ),
        recorded_at=from_micros(kept["recorded_at"]),
        jobs=tuple(kept["jobs"]),
        repeated=True,
    )


def jobs_with_embedding(draft: Draft, model: int | None) -> tuple[NewJob, ...]:
    """Return the jobs of a draft, with one for its vector where the store's model in use was not asked for it."""
    if model is None or draft.embedded_by == model or not draft.text.strip():
        return draft.jobs
    if any(job.task == "embed" for job in draft.jobs):
        return draft.jobs
    return (*draft.jobs, NewJob(id=new_id(), task="embed", payload={}))


def draft_of(stored: StoredVersion, analysis: Analysis, model: int | None) -> Draft:
    """Return the content of a version that comes from elsewhere."""
    record = stored.record
    terms = analysis.terms(record.text)
    return Draft(
        id=record.id,
        kind=record.kind,
        text=record.text,
        scope=record.scope,
        data=dump_json(record.data),
        metadata=dump_json(record.metadata),
        occurred_at=record.occurred_at,
        valid_from=record.valid_from,
        valid_to=record.valid_to,
        expires_at=record.expires_at,
        pinned=record.pinned,
        importance=record.importance,
        source=record.source,
        trust=record.trust,
        quarantine=record.quarantine,
        speaker=stored.speaker,
        terms=terms,
        fingerprint=analysis.fingerprint(terms),
        asks=analysis.asks(record.text),
        vector=stored.vector,
        embedded_by=model,
    )


def _labels(scope: Scope) -> dict[str, str | None]:
    return {"agent": scope.agent, "user": scope.user, "room": scope.room}
