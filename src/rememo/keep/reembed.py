"""Changing the embedding model: built beside the old one, swapped in when complete, searches going on all the while."""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from rememo.engine.drafting import EMBED
from rememo.engine.engine import Engine
from rememo.engine.remote_embedding import EmbeddingCache, fetch_vectors
from rememo.errors import EmbeddingFailed, StorageError
from rememo.keep.missing_vectors import find_lost
from rememo.model.ids import new_id
from rememo.model.job import Job
from rememo.recall.embed.protocol import Embedder, RemoteEmbedder
from rememo.store.embedding_models import Unembedded

_CHUNK = 256
_REMOTE_CHUNK = 512
"""A model that is asked over a network answers several requests at once."""
_MOST_TRIES = 10_000

NumberedVectors = list[tuple[int, NDArray[np.float32] | None]]


def reembed(engine: Engine, embedder: Embedder, progress: Callable[[int, int], None] | None = None) -> int:
    """Embed every version anew and put the new model into use; returns how many versions were embedded.

    With the model that is in use already, only versions without a vector are embedded. An interrupted run is resumed by
    the next; texts that were paid for once are not paid for again. A text that an endpoint refuses stays without a
    vector, and a dead job says why. `progress` is called with the number done and the number in all.
    """
    store = engine.store
    if (stored_model := store.model()) is not None and stored_model.identity == (embedder.name, embedder.dimension):
        engine.model.use(embedder)
        return _embed_missing(engine, embedder, progress)
    # Before the store changes models, so that searches of this process find the new one at once.
    engine.model.expect(embedder)
    model, count = store.begin_model(embedder.name, embedder.dimension), 0
    chunk = _REMOTE_CHUNK if isinstance(embedder, RemoteEmbedder) else _CHUNK
    for _ in range(_MOST_TRIES):
        while True:
            remaining, versions = store.unembedded(model, chunk)
            if not versions:
                break
            store.put_vectors(model, _embed_versions(engine, embedder, versions))
            count += len(versions)
            if progress is not None:
                progress(count, count + remaining - len(versions))
        # Others may have written in between; what they wrote is embedded first.
        if store.swap_model(model):
            engine.model.use(embedder)
            while store.drop_models(_CHUNK * 4) == _CHUNK * 4:
                pass
            return count
    raise StorageError(f"{embedder.name} never caught up with the writers; run it again when less is written")


def _embed_missing(engine: Engine, embedder: Embedder, progress: Callable[[int, int], None] | None) -> int:
    """Embed versions that have no vector of the model in use and no job for it; returns how many."""
    count, model = 0, engine.store.use_model(embedder.name, embedder.dimension)
    for tenant in engine.store.tenants():
        unembedded = [Unembedded(index, tenant, version.id, version.version, version.text)
                for index, version in enumerate(find_lost(engine, tenant))]  # fmt: skip
        for first in range(0, len(unembedded), _CHUNK):
            part = unembedded[first : first + _CHUNK]
            vectors = dict(_embed_versions(engine, embedder, part))
            embedded = [
                (version.id, version.version, vector)
                for version in part
                if (vector := vectors[version.number]) is not None
            ]
            count += engine.store.set_vectors(tenant, embedded, model=model) if embedded else 0
            if progress is not None:
                progress(count, count + len(unembedded) - first - len(part))
    return count


def _embed_versions(engine: Engine, embedder: Embedder, versions: Sequence[Unembedded]) -> NumberedVectors:
    if not isinstance(embedder, RemoteEmbedder):
        vectors = embedder.embed([version.text for version in versions])
        return [(version.number, vector) for version, vector in zip(versions, vectors, strict=True)]
    tenants: dict[str, list[Unembedded]] = {}
    for version in versions:
        tenants.setdefault(version.tenant, []).append(version)
    by_number: dict[int, NDArray[np.float32] | None] = {}
    for tenant, group in tenants.items():
        days, now = engine.settings.embed_cache_days, engine.now()
        paid = EmbeddingCache(engine.plain_kv, embedder, tenant=tenant, days=days, moment=now)
        refused: list[Job] = []
        for version, vector in zip(
            group, fetch_vectors([version.text for version in group], embedder.embed, paid), strict=True
        ):
            if isinstance(vector, EmbeddingFailed):
                refused.append(_dead_job(engine, version, vector))
            else:
                by_number[version.number] = vector
        if len(refused) == len(group) > 1:
            # Not one text but the endpoint is the matter: a bad key, a model that is not there.
            raise EmbeddingFailed(f"the endpoint refuses every text: {refused[0].error}")
        if refused:
            engine.store.load_jobs(refused)
    return [(version.number, by_number.get(version.number)) for version in versions]


def _dead_job(engine: Engine, version: Unembedded, error: EmbeddingFailed) -> Job:
    now = engine.now()
    return Job(
        id=new_id(), tenant=version.tenant, task=EMBED, payload={"record": version.id, "version": version.version}, state="dead",
        attempts=1, due_at=now, leased_until=None, error=str(error), created_at=now,
    )  # fmt: skip
