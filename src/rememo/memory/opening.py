"""Opening a memory: checks what it was given, and says who works for its engine."""

from pathlib import Path

from rememo.engine.embedders import default_embedder
from rememo.engine.engine import Engine
from rememo.engine.opening import open_engine
from rememo.engine.services import Composing, EngineServices, Modelling, Runner
from rememo.errors import InvalidInput
from rememo.keep.keyring import Keyring
from rememo.llm.protocol import LLM
from rememo.model.times import Clock
from rememo.recall.embed.protocol import Embedder, RemoteEmbedder
from rememo.recall.rerank.protocol import Reranker
from rememo.settings import Settings


def open_memory_engine(
    url: object,
    *,
    embedder: Embedder | str | None,
    llm: LLM | None,
    reranker: Reranker | None,
    encryption: Keyring | None,
    settings: object,
    clock: Clock,
) -> Engine:
    """Return the engine of a memory's arguments; what is opened for it is closed with it."""
    address, checked = _address(url), _settings(settings)
    if isinstance(embedder, str):
        opened = default_embedder(checked if embedder == "default" else checked.but(embedder=embedder))
    else:
        opened = _embedder(embedder)
    model = _model_of(checked) if llm is None else llm

    def models(engine: Engine) -> Modelling | None:
        if model is None:
            return None
        from rememo.llm.gateway import ModelGateway

        return ModelGateway(engine, model, owned=llm is None)

    owned = (opened,) if opened is not embedder and isinstance(opened, RemoteEmbedder) else ()
    services = EngineServices(worker=_worker, composer=_composer, models=models, reranker=reranker, owned=owned)
    return open_engine(
        address, embedder=opened, settings=checked, clock=clock, encryption=encryption, services=services
    )


def _worker(engine: Engine) -> Runner:
    from rememo.jobs.worker import Worker

    return Worker(engine)


def _composer(engine: Engine) -> Composing:
    from rememo.context.builtin_providers import BUILT_IN
    from rememo.context.compose import Composer
    from rememo.working.flow_provider import flows_provider

    return Composer(engine, (*BUILT_IN, flows_provider(engine)))


def _address(url: object) -> str:
    """Return where a memory is; None is no file of that name."""
    if not isinstance(url, str | Path):
        raise InvalidInput(
            f"the address of a memory must be text or a path, not {type(url).__name__};"
            ' give a file\'s path, ":memory:" or "postgresql://…"'
        )
    return str(url)


def _settings(settings: object) -> Settings:
    if settings is None:
        return Settings.load()
    if not isinstance(settings, Settings):
        raise InvalidInput(f"settings must be Settings(…), not {type(settings).__name__}; write Settings(learn=False)")
    return settings


def _embedder(embedder: Embedder | None) -> Embedder | None:
    # How long its vectors are is not looked at: an endpoint would be asked.
    if embedder is not None and not (hasattr(embedder, "name") and callable(getattr(embedder, "embed", None))):
        raise InvalidInput(
            f"an embedder must have a name, a dimension and embed(texts), which {type(embedder).__name__} has not;"
            ' a name such as "static" will do too'
        )
    return embedder


def _model_of(settings: Settings) -> LLM | None:
    if not settings.llm_url:
        return None
    from rememo.llm.gateway import model_of_settings

    return model_of_settings(settings)
