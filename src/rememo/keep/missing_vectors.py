"""Missing vectors: versions that the embedding model in use should have a vector of, and has not."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import islice

from rememo.engine.embedders import embedder_of_model
from rememo.engine.engine import Engine
from rememo.recall.embed.protocol import Embedder, RemoteEmbedder
from rememo.recall.embed.static import StaticEmbedder
from rememo.store.embedding_models import Unvectored
from rememo.store.reports import Check

_CHUNK = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class MissingVectors:
    """What a tenant lacks."""

    lost: int
    """Versions without a vector that no job will make."""
    owed: int
    """Versions without a vector that a job will make."""
    example: str | None
    """One of those that are lost."""


def count_missing(engine: Engine, tenant: str) -> MissingVectors:
    """Count the versions of a tenant that should have a vector and have none."""
    lost, owed, example = 0, 0, None
    for version in _find_unvectored(engine, tenant):
        if version.owed:
            owed += 1
        else:
            lost += 1
            example = example or f"{version.id!r} version {version.version}"
    return MissingVectors(lost=lost, owed=owed, example=example)


def find_lost(engine: Engine, tenant: str) -> Iterator[Unvectored]:
    """Yield the versions of a tenant that should have a vector, have none, and have no job that will make it."""
    return (version for version in _find_unvectored(engine, tenant) if not version.owed)


def verify(engine: Engine) -> Check:
    """Check that the store is sound and that nothing lacks a vector."""
    check = engine.store.verify()
    model = engine.store.model()
    if model is None:
        return check
    reports, owed = list[str](), 0
    for tenant in engine.store.tenants():
        missing = count_missing(engine, tenant)
        owed += missing.owed
        if missing.lost:
            reports.append(
                f"{tenant}: {missing.lost:,} versions have no vector of {model.name} and no job will make it, such as"
                f" {missing.example}; reembed() with that model makes them"
            )
    return replace(check, missing_vectors=tuple(reports), owed_vectors=owed)


def _find_unvectored(engine: Engine, tenant: str) -> Iterator[Unvectored]:
    """Yield the versions without a vector whose text has something to embed."""
    embedder = _local_embedder(engine)
    for versions in _batch(engine.store.unvectored(tenant)):
        worded = [version for version in versions if any(letter.isalnum() for letter in version.text)]
        yield from (version for version in worded if version.owed)
        lost = [version for version in worded if not version.owed]
        yield from lost if embedder is None else _embeddable(embedder, lost)


def _embeddable(embedder: Embedder, versions: list[Unvectored]) -> list[Unvectored]:
    """Return those that the model has a vector for: some texts have words, and none of them is known to it."""
    try:
        vectors = embedder.embed([version.text for version in versions])
    except Exception:  # noqa: BLE001 - a model may fail in any way, and what lacks a vector lacks it all the same
        return versions
    return [version for version, vector in zip(versions, vectors, strict=True) if vector is not None]


def _local_embedder(engine: Engine) -> Embedder | None:
    """Return the store's embedding model where asking it costs nothing; None where it does, or is not here."""
    embedder, model = engine.model.follow().embedder, engine.store.model()
    if embedder is None and model is not None and StaticEmbedder.language_of(model.name) is not None:
        embedder = embedder_of_model(model.name, model.dimension, engine.settings)
    return None if isinstance(embedder, RemoteEmbedder) else embedder


def _batch(versions: Iterable[Unvectored]) -> Iterator[list[Unvectored]]:
    remaining = iter(versions)
    while batch := list(islice(remaining, _CHUNK)):
        yield batch
