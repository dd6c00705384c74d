"""The language model of a memory: who asks it, for whom, and what ends a call."""

from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from rememo.endpoint import Stop, stopped_by
from rememo.engine.engine import Engine
from rememo.learn.llm.openai import OpenAICompatible
from rememo.learn.llm.protocol import LLM, Completion, Message, Streaming
from rememo.settings import Settings


class Models:
    """The model behind one engine. Closing the memory ends whatever is being asked."""

    def __init__(self, engine: Engine, llm: LLM, *, owned: bool = False) -> None:
        """Ask `llm`; one that is `owned` is closed with the memory."""
        self._engine = engine
        self.llm = llm
        self._owned = owned
        self.stopped = Stop()

    def by(self, tenant: str, operation: str) -> LLM:
        """Return the model as one tenant asks it for one purpose."""
        return _Asked(self, tenant, operation)

    @contextmanager
    def asking(self) -> Generator[None]:
        """Let the calls inside be ended by the memory's end."""
        with stopped_by(self.stopped):
            yield

    def stop(self) -> None:
        """End what is being asked, and ask no more."""
        self.stopped.set()
        if self._owned and isinstance(self.llm, OpenAICompatible):
            self.llm.close()


class _Asked:
    """A model as one tenant asks it for one purpose."""

    def __init__(self, models: Models, tenant: str, operation: str) -> None:
        self._models = models
        self._tenant = tenant
        self._operation = operation

    @property
    def name(self) -> str:
        return self._models.llm.name

    def complete(
        self,
        messages: Sequence[Message],
        *,
        schema: Mapping[str, Any] | None = None,
        max_tokens: int | None = None,
        timeout: float | None = None,
    ) -> Completion:
        with self._models.asking():
            return self._models.llm.complete(messages, schema=schema, max_tokens=max_tokens, timeout=timeout)

    def stream(self, messages: Sequence[Message]) -> Iterator[str]:
        pieces = self._models.llm.stream(messages)
        try:
            while True:
                with self._models.asking():  # for each piece: whoever reads them does other things between
                    piece = next(pieces, None)
                if piece is None:
                    return
                yield piece
        finally:
            if isinstance(pieces, Streaming):
                pieces.close()


def model_for(engine: Engine, tenant: str, operation: str) -> LLM | None:
    """Return the model of a memory, as one tenant asks it for one purpose (`extract`, `ask` …); None without one.

    Its calls are booked to the tenant and the purpose, and raise `OverBudget` where they would pass the day's ceiling.
    """
    models = engine.models
    return models.by(tenant, operation) if isinstance(models, Models) else None


def model_of_settings(settings: Settings) -> OpenAICompatible | None:
    """Return the model that the settings name; None when they name none."""
    if not settings.llm_url:
        return None
    return OpenAICompatible(
        settings.llm_url,
        settings.llm_model,
        settings.llm_key or None,
        timeout=settings.llm_timeout,
        concurrency=settings.llm_concurrency,
    )
