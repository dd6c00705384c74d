"""The embedding model in use: what this process embeds with, kept in step with what the store searches.

Another process may change the store's model at any moment (`reembed`). This one notices it when it searches, writes or
works, opens the new model if it can, and goes by words alone until then.
"""

import logging
import os
import threading
import time
from collections.abc import Callable
from typing import Final

from rememo.engine.embedders import embedder_of_model
from rememo.engine.remote_embedding import check_endpoint
from rememo.errors import Closed, ReadOnlyStore, StorageError
from rememo.model.health import Health
from rememo.recall.embed.background import background
from rememo.recall.embed.protocol import Embedder, RemoteEmbedder
from rememo.runtime.lazy import lazy
from rememo.runtime.locks import ForkLock
from rememo.settings import Settings
from rememo.store.embedding_models import ModelInUse
from rememo.store.protocol.store import Store

_OPENING_SECONDS: Final = 2.0
"""How long a caller waits for a model that is being opened; meanwhile others go by words."""
_LOOK_SECONDS: Final = 1.0
"""How often the store is asked for its model by a process that has not got it."""
_FIRST_RETRY, _LONGEST_RETRY = 15.0, 600.0
_BEING_OPENED: Final = "it is being opened"
_log = logging.getLogger("rememo.engine")


class ActiveEmbedder:
    """The embedder that a process uses at one moment; immutable, replaced when the model changes."""

    def __init__(
        self, embedder: Embedder | None, number: int | None = None, *, missing: ModelInUse | None = None, why: str = ""
    ) -> None:
        self.embedder = embedder
        """None where nothing can be embedded here."""
        self.number = number
        """What the store knows the embedder's model by."""
        self.missing = missing
        """The store's model, where this process has not got it."""
        self.why = why
        """Why it has not."""

    @lazy
    def background(self) -> tuple[float, float]:
        """Mean and deviation of the cosine between unrelated texts."""
        return (0.0, 1.0) if self.embedder is None else background(self.embedder)

    @property
    def chosen(self) -> bool:
        """Whether this memory was opened to find by vectors, be the model at hand or not."""
        return self.embedder is not None or self.missing is not None

    @property
    def words_only(self) -> str | None:
        """Why search goes by words alone though the store has vectors; None where it does not."""
        if self.missing is None:
            return None
        return (
            f"the store's embedding model is {self.missing.name} ({self.missing.dimension} numbers) by now, and this process"
            f" has not got it ({self.why}): search goes by words, and jobs leave vectors to a process that has it;"
            " open the memory again with that model, or call reembed() with it here"
        )

    def health(self) -> Health | None:
        """Return what is wrong; None where nothing is."""
        problem = self.words_only
        if problem is None or self.missing is None:
            return None
        return Health(name="embedder", place=self.missing.name, ok=False, says=problem)


class _ModelLoad:
    """An embedding model that a thread of this process is loading."""

    def __init__(self, model: ModelInUse) -> None:
        self.model = model
        self.process = os.getpid()
        self.done = threading.Event()


class EmbeddingModelTracker:
    """Keeps the model of one engine in step with its store; thread-safe."""

    def __init__(self, store: Store, settings: Settings, own: Callable[[RemoteEmbedder], None]) -> None:
        """Make one; `own` is given what is opened here and holds connections."""
        self._store = store
        self._settings = settings
        self._own = own
        self._known: dict[tuple[str, int], Embedder] = {}
        """Embedders that were in use here, or are about to be, by what identifies their vectors."""
        self._opening: _ModelLoad | None = None
        self._changing = ForkLock()
        self._looked = float("-inf")
        self._retry_at = float("-inf")
        self._retry_after = _FIRST_RETRY
        self.active = ActiveEmbedder(None)

    def use(self, embedder: Embedder | None) -> None:
        """Embed by this from now on; a model that the store does not hold raises `EmbeddingMismatch`."""
        if embedder is None:
            self.active = ActiveEmbedder(None)
            return
        if isinstance(embedder, RemoteEmbedder):
            self._meet(embedder, embedder.name)
        try:
            number = self._store.use_model(embedder.name, embedder.dimension)
        except ReadOnlyStore:
            # It has no vectors, and none can be added: it is searched by words.
            _log.warning("the store is read-only and holds no vectors of %s: searches go by words", embedder.name)
            self.active = ActiveEmbedder(None)
            return
        self.expect(embedder)
        self.active = ActiveEmbedder(embedder, number)

    def _meet(self, remote: RemoteEmbedder, name: str) -> None:
        """Look whether an endpoint answers as was said, before the store relies on it; vectors of its own prove it."""
        if not self._store.has_vectors():
            check_endpoint(remote)
        elif (in_use := self._store.model()) is not None and in_use.name == name:
            remote.expect(in_use.dimension)

    def expect(self, embedder: Embedder) -> None:
        """Register an embedder whose model the store may switch to."""
        self._known[embedder.name, embedder.dimension] = embedder

    def notice(self) -> None:
        """Start following the store's model without waiting; storage errors are only logged."""
        try:
            self.follow(wait=0.0)
        except StorageError as error:
            _log.debug("which model the store has in use will be seen later: %s", error)

    def follow(self, *, wait: float = _OPENING_SECONDS) -> ActiveEmbedder:
        """Look which model the store has in use, open it if it is another one by now, and return what to embed with.

        For a model that takes its time to be opened the caller waits so many seconds at most. A process that was opened
        without an embedder stays without one.
        """
        active, now = self.active, time.monotonic()
        if not active.chosen:
            return active
        if active.missing is not None and now < self._looked + _LOOK_SECONDS and self._opening is None:
            return active
        self._looked = now
        in_use = self._store.model()
        if in_use is None or in_use.number == active.number:
            return active
        embedder = self._known.get(in_use.identity)
        if embedder is not None:
            return self._adopt(embedder, in_use)
        if active.missing == in_use and now < self._retry_at:
            return active
        opening = self._opening
        if opening is None or opening.model != in_use or opening.process != os.getpid():
            opening = self._opening = _ModelLoad(in_use)
            threading.Thread(target=self._open, args=(opening,), name="rememo-open-model", daemon=True).start()
        if not opening.done.wait(wait):
            with self._changing:
                if self.active is active:
                    self.active = ActiveEmbedder(None, missing=in_use, why=_BEING_OPENED)
        return self.active

    def _open(self, opening: _ModelLoad) -> None:
        model = opening.model
        try:
            embedder = embedder_of_model(model.name, model.dimension, self._settings)
            if isinstance(embedder, RemoteEmbedder):
                self._own(embedder)
            self._adopt(embedder, model)
        except (Closed, StorageError) as error:
            _log.debug("the model was not changed: %s", error)
        except Exception as error:  # noqa: BLE001 - loading a model may fail in any way; words find until it goes well
            self._miss(model, f"{type(error).__name__}: {error}")
        finally:
            if self._opening is opening:
                self._opening = None
            opening.done.set()

    def _adopt(self, embedder: Embedder, model: ModelInUse) -> ActiveEmbedder:
        self.expect(embedder)
        self._retry_after = _FIRST_RETRY
        with self._changing:
            self.active = ActiveEmbedder(embedder, model.number)
        _log.info("the store has another embedding model in use, and so has this process now: %s", model.name)
        return self.active

    def _miss(self, model: ModelInUse, why: str) -> None:
        first = self.active.missing != model or self.active.why == _BEING_OPENED
        self._retry_at = time.monotonic() + self._retry_after
        self._retry_after = min(2 * self._retry_after, _LONGEST_RETRY)
        with self._changing:
            self.active = ActiveEmbedder(None, missing=model, why=why)
        if first:
            _log.warning("%s", self.active.words_only)
