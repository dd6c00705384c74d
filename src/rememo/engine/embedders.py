"""Embedders by name: as a setting or a command names them, and as a store knows the model of its vectors."""

from functools import lru_cache

from rememo.errors import InvalidInput
from rememo.recall.embed.protocol import Embedder, RemoteEmbedder
from rememo.recall.embed.static import StaticEmbedder
from rememo.settings import Settings


def embedder_by_name(
    name: str, *, settings: Settings | None = None, url: str | None = None, dimension: int | None = None
) -> Embedder:
    """Return an embedder by what a setting or a command line can say of it, such as "fastembed:BAAI/bge-small-en-v1.5"."""
    settings = settings or Settings.load()
    kind, _, model = name.partition(":")
    match kind:
        case "static":
            return _static(settings.language)
        case "fastembed":
            from rememo.recall.embed.fastembed import FastEmbedEmbedder

            return FastEmbedEmbedder(model) if model else FastEmbedEmbedder()
        case "sentence-transformers":
            from rememo.recall.embed.sentence_transformers import SentenceTransformerEmbedder

            return SentenceTransformerEmbedder(model) if model else SentenceTransformerEmbedder()
        case "openai":
            if not model:
                raise InvalidInput(
                    "an openai: embedder needs the name of its model, such as openai:text-embedding-3-small"
                )
            from rememo.recall.embed.openai import OPENAI_URL, OpenAIEmbedder

            return OpenAIEmbedder(
                model,
                dimension or settings.embed_dimension or None,
                base_url=url or settings.embed_url or OPENAI_URL,
                api_key=settings.embed_key or None,
            )
        case _:
            raise InvalidInput(
                f"there is no embedder {kind!r}; the embedders are static, fastembed, sentence-transformers and openai"
            )


def default_embedder(settings: Settings) -> Embedder | None:
    """Return the embedder that the settings name; the static one needs no download, and memories of one process share it."""
    return None if settings.embedder == "none" else embedder_by_name(settings.embedder, settings=settings)


def embedder_of_model(name: str, dimension: int, settings: Settings) -> Embedder:
    """Return the embedder whose vectors a store knows by this name and dimension, ready to embed.

    Raises `InvalidInput` where the name does not tell how to make it, and whatever a model raises that cannot be
    loaded. An endpoint is only used where the settings name one: texts are not sent anywhere unasked.
    """
    embedder = _of_name(name, dimension, settings)
    if isinstance(embedder, RemoteEmbedder):
        embedder.expect(dimension)
    if (embedder.name, embedder.dimension) != (name, dimension):
        raise InvalidInput(
            f"the embedder {embedder.name} ({embedder.dimension} numbers) is not what was asked for: {name} ({dimension})"
        )
    return embedder


def _of_name(name: str, dimension: int, settings: Settings) -> Embedder:
    kind, _, model = name.partition("/")
    if kind == "fastembed":
        return embedder_by_name(f"fastembed:{model}", settings=settings)
    # A prompt before texts is part of the name, but the one before questions is not: it cannot be made up.
    if kind == "sentence-transformers" and "+" not in model:
        return embedder_by_name(f"sentence-transformers:{model}", settings=settings)
    if kind == "openai":
        return _of_endpoint(model, dimension, settings)
    if (language := StaticEmbedder.language_of(name)) is not None:
        return _static(language)
    raise InvalidInput(f"nothing here makes an embedder of the name {name!r}")


def _of_endpoint(model: str, dimension: int, settings: Settings) -> Embedder:
    if not (settings.embed_url or settings.embed_key or settings.embedder.startswith("openai:")):
        raise InvalidInput("no endpoint is set; say embed_url (REMEMO_EMBED_URL), and embed_key where it wants one")
    from rememo.recall.embed.openai import OPENAI_URL, OpenAIEmbedder

    return OpenAIEmbedder.of_name(
        model, dimension, base_url=settings.embed_url or OPENAI_URL, api_key=settings.embed_key or None
    )


@lru_cache(maxsize=8)
def _static(language: str) -> StaticEmbedder:
    return StaticEmbedder(language)
