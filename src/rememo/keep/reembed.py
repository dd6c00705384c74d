"""Changing the embedding model: built beside the old one, swapped in when complete, searches going on all the while."""

from collections.abc import Callable

from rememo.engine.engine import Engine
from rememo.errors import StorageError
from rememo.recall.embed.protocol import Embedder

_CHUNK = 256
_MOST_TRIES = 10_000


def reembed(engine: Engine, embedder: Embedder, progress: Callable[[int, int], None] | None = None) -> int:
    """Embed every version anew and put the new model into use; returns how many versions were embedded.

    An interrupted run goes on where it stopped. `progress` is told how many are done and how many there are.
    """
    store = engine.store
    if store.model() == (embedder.name, embedder.dimension):
        engine.use(embedder)
        return 0
    model, done = store.begin_model(embedder.name, embedder.dimension), 0
    for _ in range(_MOST_TRIES):
        while True:
            left, versions = store.unembedded(model, _CHUNK)
            if not versions:
                break
            vectors = embedder.embed([text for _, text in versions])
            store.put_vectors(model, [(number, one) for (number, _), one in zip(versions, vectors, strict=True)])
            done += len(versions)
            if progress is not None:
                progress(done, done + left - len(versions))
        # Others may have written in between; what they wrote is embedded first.
        if store.swap_model(model):
            engine.use(embedder)
            while store.drop_models(_CHUNK * 4) == _CHUNK * 4:
                pass
            return done
    raise StorageError(f"{embedder.name} never caught up with the writers; run it again when less is written")
