"""Opening a memory: from a URL to an engine."""

from functools import lru_cache

from rememo.engine.engine import Engine
from rememo.errors import InvalidInput
from rememo.model.times import Clock
from rememo.recall.analyze import Analyzer, asks, fingerprint
from rememo.recall.embed.fastembed import FastEmbedEmbedder
from rememo.recall.embed.openai import OpenAIEmbedder
from rememo.recall.embed.protocol import Embedder
from rememo.recall.embed.sentence_transformers import SentenceTransformerEmbedder
from rememo.recall.embed.static import StaticEmbedder
from rememo.settings import Settings
from rememo.store.kv.sqlite import SqliteKeyValue
from rememo.store.protocol import Analysis
from rememo.store.sqlite.database import MEMORY, Database
from rememo.store.sqlite.repair import RepairReport, repair
from rememo.store.sqlite.store import SqliteStore


def open_engine(url: str, *, embedder: Embedder | None, settings: Settings, clock: Clock) -> Engine:
    """Return the engine behind a file's path, `sqlite:///path` or `:memory:`."""
    scheme, separator, rest = url.partition("://")
    if separator and scheme != "sqlite":
        raise InvalidInput(f'there is no store for {scheme}:// addresses; give a file\'s path or ":memory:"')
    path = rest.removeprefix("/") if separator else url
    if not path or "\x00" in path:
        raise InvalidInput(f'the address {url!r} names no file; give a path such as "agent.db", or ":memory:"')
    analyzer = Analyzer(settings.language)
    database = Database(
        MEMORY if path == MEMORY else path,
        durability=settings.durability,
        busy_timeout=settings.busy_timeout,
        max_bytes=settings.max_file_bytes,
    )
    try:
        return Engine(
            store=SqliteStore(
                database,
                analysis=Analysis(terms=analyzer.terms, fingerprint=fingerprint, asks=asks),
                cache_bytes=settings.vector_cache_bytes,
            ),
            kv=SqliteKeyValue(database),
            analyzer=analyzer,
            embedder=embedder,
            settings=settings,
            clock=clock,
        )
    except BaseException:
        database.close()
        raise


def repair_file(source: str, target: str) -> RepairReport:
    """Save what can be read of a damaged file into a new one."""
    analyzer = Analyzer(Settings.load().language)
    return repair(source, target, analyze=analyzer.terms, fingerprint=fingerprint)


def embedder_by_name(name: str, *, url: str | None = None, dimension: int | None = None) -> Embedder:
    """Return an embedder by what a command line can say of it, such as "fastembed:BAAI/bge-small-en-v1.5"."""
    kind, _, model = name.partition(":")
    match kind:
        case "static":
            return StaticEmbedder(Settings.load().language)
        case "fastembed":
            return FastEmbedEmbedder(model) if model else FastEmbedEmbedder()
        case "sentence-transformers":
            return SentenceTransformerEmbedder(model) if model else SentenceTransformerEmbedder()
        case "openai":
            if not model or dimension is None:
                raise InvalidInput("an openai: model needs its name and the length of its vectors (--dimension)")
            return OpenAIEmbedder(model, dimension) if url is None else OpenAIEmbedder(model, dimension, base_url=url)
        case _:
            raise InvalidInput(
                f"there is no embedder {kind!r}; the embedders are static, fastembed, sentence-transformers and openai"
            )


def default_embedder(settings: Settings) -> Embedder:
    """Return the embedder that needs no download; memories of one process share the words it has met."""
    return _static(settings.language)


@lru_cache(maxsize=8)
def _static(language: str) -> StaticEmbedder:
    return StaticEmbedder(language)
