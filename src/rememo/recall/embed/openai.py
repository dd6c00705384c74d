"""Any endpoint that speaks OpenAI's ``/embeddings``: OpenAI itself, Ollama, vLLM, LM Studio, llama.cpp and others."""

import asyncio
import re
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import Any, Final, NamedTuple, Self, cast

from rememo.endpoint.circuit_breaker import CircuitBreaker
from rememo.endpoint.client import Endpoint
from rememo.errors import EmbeddingFailed, EmbeddingMismatch, InvalidInput, ModelFailed
from rememo.model.health import Health
from rememo.recall.embed.protocol import Embedded, Vector, embed_present
from rememo.runtime.closing import Closing
from rememo.runtime.counters import counts
from rememo.runtime.lru_cache import LruCache

OPENAI_URL: Final = "https://api.openai.com/v1"
_PATH: Final = "/embeddings"
_PASSING: Final = frozenset({"unreachable", "busy", "slow", "stopped"})
_CHARS_OF_A_TOKEN: Final = 4
_MOST_QUESTIONS: Final = 1_024
_MOST_CHARS: Final = 24_000
_BATCH_CHARS: Final = 400_000
"""What one request may carry in all: endpoints have a limit on that too."""
_CUT: Final = re.compile(r"~\d+$")
_KNOWN: Final = {"text-embedding-3-small": 1536, "text-embedding-3-large": 3072, "text-embedding-ada-002": 1536}


class _Answer(NamedTuple):
    rows: list[object]
    tokens: int


class OpenAIEmbedder(Closing):
    """Embeds through an HTTP endpoint, in batches, with retries. Safe for threads; close it, or use it in ``with``.

    A write does not wait for it: the record is there at once, and a job fetches its vector. An endpoint that failed is
    left alone for a while; searches go by words until it is back.
    """

    def __init__(
        self,
        model: str = "text-embedding-3-small",
        dimension: int | None = None,
        *,
        base_url: str = OPENAI_URL,
        api_key: str | None = None,
        shorten: bool = False,
        batch_size: int = 128,
        max_chars: int = _MOST_CHARS,
        concurrency: int = 4,
        timeout: float = 30.0,
        question_timeout: float = 3.0,
        retries: int = 3,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Ask `model` at `base_url` for vectors of length `dimension`; unless it is given or well known, it is asked for.

        With `shorten` the endpoint is told that length, for models that can be cut. A text of more than `max_chars`
        characters is embedded by its beginning. At most `concurrency` requests of `batch_size` texts run at once.
        `timeout` is for a request in seconds, with its `retries`; `question_timeout` is for that of a search, which is
        tried once. Raises `MissingExtra` without httpx.
        """
        if batch_size < 1 or max_chars < 1 or (dimension is not None and dimension < 1):
            raise InvalidInput("dimension, batch_size and max_chars must be 1 or more")
        if not question_timeout > 0:
            raise InvalidInput(f"question_timeout must be above 0 seconds, not {question_timeout!r}")
        if shorten and dimension is None:
            raise InvalidInput("shorten=True needs the dimension that vectors are to be cut to")
        self._endpoint = Endpoint(
            base_url, api_key=api_key, timeout=timeout, retries=retries, concurrency=concurrency, sleep=sleep
        )
        self._model = model
        self._dimension = dimension or _KNOWN.get(model)
        self._shorten = shorten
        self._batch_size = batch_size
        self.max_chars = max_chars
        self._concurrency = concurrency
        self._timeout = timeout
        self._question_timeout = min(timeout, question_timeout)
        self._retries = retries
        self._breaker = CircuitBreaker(clock)
        self._questions: LruCache[str, Vector] = LruCache(_MOST_QUESTIONS)

    @classmethod
    def of_name(cls, name: str, dimension: int, *, base_url: str, api_key: str | None) -> Self:
        """Return the one that has a name, given without its `openai/`; vectors made by it are those of that name."""
        model, _, max_chars = name.rpartition("~") if _CUT.search(name) else (name, "", str(_MOST_CHARS))
        base_model = model.removesuffix(f"@{dimension}")
        return cls(
            base_model,
            dimension,
            base_url=base_url,
            api_key=api_key,
            shorten=base_model != model,
            max_chars=int(max_chars),
        )

    @property
    def name(self) -> str:
        """The model, and what is done otherwise than usual."""
        shortened = f"@{self._dimension}" if self._shorten else ""
        return f"openai/{self._model}{shortened}" + (f"~{self.max_chars}" if self.max_chars != _MOST_CHARS else "")

    @property
    def dimension(self) -> int:
        """The length of every vector; asks the endpoint once where none was given. Raises `EmbeddingFailed`."""
        if self._dimension is None:
            try:
                [row] = self._request(["dimension"], timeout=self._question_timeout, retries=0).rows
                self._dimension = len(cast("Sequence[float]", row))
            except EmbeddingFailed as error:
                raise EmbeddingFailed(
                    f"how long the vectors of {self._model} are cannot be asked now: {error}; say dimension=… to go on without"
                ) from error
            except TypeError as error:
                raise EmbeddingFailed(
                    f"{self._endpoint.address}{_PATH} did not answer with an embedding: {error}"
                ) from error
        return self._dimension

    def expect(self, dimension: int) -> None:
        """Take vectors to be that long, where no dimension was given."""
        self._dimension = self._dimension or dimension

    def embed(self, texts: Sequence[str]) -> list[Vector | None]:
        """Return the unit-length vector of each text; None for a blank one. Raises `EmbeddingFailed`."""
        return self._embedded(texts, retries=self._retries).vectors

    def attempt(self, texts: Sequence[str]) -> Embedded:
        """Return the vectors, asking once; while the endpoint rests after a failure, raise `EmbeddingFailed` at once."""
        self._require_closed_circuit()
        return self._embedded(texts, retries=0)

    def embed_question(self, text: str) -> Vector | None:
        """Return the vector to search with, asking once and not for long; questions asked before are remembered."""
        if (remembered := self._questions.get(text)) is not None:
            return remembered
        self._require_closed_circuit()
        try:
            [vector] = self._embedded([text], retries=0, timeout=self._question_timeout).vectors
        except EmbeddingFailed as error:
            if not error.transient:  # a bad key, say: searches need not ask for it one by one
                self._breaker.record_failure(str(error), None)
            raise
        if vector is not None:
            self._questions.put(text, vector)
        return vector

    def check(self) -> None:
        """Ask the endpoint for one vector; one of another length than `dimension` raises `EmbeddingMismatch`.

        An endpoint that cannot be asked now raises `EmbeddingFailed`.
        """
        dimension = self._dimension
        try:
            self._embedded(["dimension"], retries=0, timeout=self._question_timeout)
        except EmbeddingMismatch as error:
            raise EmbeddingMismatch(
                f"{error}: {self._endpoint.address}{_PATH} does not answer as was said; open the memory with the dimension that"
                f" {self._model} has instead of {dimension}, or shorten=True if it can be cut"
            ) from error

    def health(self) -> Health:
        """Return how the endpoint is, without asking it."""
        breaker = self._breaker
        return Health(
            name="embedder",
            place=self._endpoint.address,
            ok=not breaker.failing,
            says=f"{breaker.reason}; records are stored, jobs fetch their vectors later, and search goes by words",
            since=breaker.since,
            failures=breaker.failures,
        )

    def close(self) -> None:
        """Close the connections."""
        self._endpoint.close()

    def _require_closed_circuit(self) -> None:
        left = self._breaker.remaining(self._timeout)
        if left > 0:
            raise EmbeddingFailed.for_now(
                f"{self._endpoint.address}{_PATH} is not called for another {left:.0f} seconds after: {self._breaker.reason}",
                left,
            )

    def _embedded(self, texts: Sequence[str], *, retries: int, timeout: float | None = None) -> Embedded:
        tokens = 0

        def rows(present: list[str]) -> list[object]:
            nonlocal tokens
            answers = self._answers([text[: self.max_chars] for text in present], retries, timeout)
            tokens = sum(answer.tokens for answer in answers)
            return [row for answer in answers for row in answer.rows]

        return Embedded(embed_present(texts, rows, self), tokens)

    def _answers(self, texts: list[str], retries: int, timeout: float | None) -> list[_Answer]:
        batches = list(self._batches(texts))

        def ask(batch: list[str]) -> _Answer:
            return self._request(batch, timeout=timeout or self._timeout, retries=retries)

        if len(batches) == 1 or self._concurrency == 1:
            return [ask(batch) for batch in batches]
        with ThreadPoolExecutor(min(self._concurrency, len(batches)), "rememo-embedding") as threads:
            # What ends the calls of this thread ends these too.
            waiting = [threads.submit(copy_context().run, ask, batch) for batch in batches]
            try:
                return [future.result() for future in waiting]
            finally:
                for future in waiting:  # when one fails, what was not begun is not paid for
                    future.cancel()

    def _batches(self, texts: list[str]) -> Iterator[list[str]]:
        batch, weight = list[str](), 0
        for text in texts:
            if batch and (len(batch) == self._batch_size or weight + len(text) > _BATCH_CHARS):
                yield batch
                batch, weight = [], 0
            batch.append(text)
            weight += len(text)
        yield batch

    def _request(self, texts: list[str], *, timeout: float, retries: int) -> _Answer:
        body: dict[str, Any] = {"model": self._model, "input": texts, "encoding_format": "float"}
        if self._shorten:
            body["dimensions"] = self._dimension
        try:
            answer = self._endpoint.post(_PATH, body, timeout=timeout, retries=retries)
        except ModelFailed as error:
            reason = f"{self.name} gave no vectors: {error}"
            if error.reason not in _PASSING:
                raise EmbeddingFailed(reason) from error
            raise EmbeddingFailed.for_now(
                reason, self._breaker.record_failure(str(error), error.retry_after)
            ) from error
        self._breaker.record_success()
        return self._parsed(answer.body, texts)

    def _parsed(self, answer: Mapping[str, Any], texts: list[str]) -> _Answer:
        """Return the rows in the order of the texts, whatever order they came in."""
        try:
            data = cast("list[dict[str, Any]]", answer["data"])
            usage = answer.get("usage")
            total: object = cast("dict[str, Any]", usage).get("total_tokens") if isinstance(usage, dict) else None
            # Not every endpoint tells; what it costs is about this then.
            tokens = total if isinstance(total, int) else sum(map(len, texts)) // _CHARS_OF_A_TOKEN + 1
            counts.add("tokens", tokens)
            rows = {int(entry.get("index", place)): entry["embedding"] for place, entry in enumerate(data)}
            return _Answer([rows[place] for place in range(len(texts))], tokens)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise EmbeddingFailed(
                f"{self._endpoint.address}{_PATH} did not answer with {len(texts)} embeddings: {error!r}"
            ) from error
