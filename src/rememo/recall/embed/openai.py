"""Any endpoint that speaks OpenAI's ``/embeddings``: OpenAI itself, Ollama, vLLM, LM Studio, llama.cpp and others."""

import random
import time
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final, Self, cast

from rememo.errors import EmbeddingFailed, InvalidInput
from rememo.model.counts import counts
from rememo.recall.embed.extras import require
from rememo.recall.embed.protocol import Vector, embed_present

if TYPE_CHECKING:
    import httpx

_WORTH_ANOTHER_TRY: Final = frozenset({408, 409, 425, 429, 500, 502, 503, 504})
_LONGEST_WAIT: Final = 30.0
_SHOWN_OF_AN_ERROR: Final = 300


class OpenAIEmbedder:
    """Embeds through an HTTP endpoint, in batches, with retries. Safe for threads; close it, or use it in ``with``."""

    def __init__(
        self,
        model: str = "text-embedding-3-small",
        dimension: int = 1536,
        *,
        base_url: str = "https://api.openai.com/v1",
        api_key: str | None = None,
        shorten: bool = False,
        batch_size: int = 128,
        timeout: float = 30.0,
        retries: int = 3,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """Ask `model` at `base_url` for vectors of length `dimension`.

        With `shorten` the endpoint is told that length, for models that can be cut. `timeout` is for one request in
        seconds, `retries` counts further tries of one request. Raises `MissingExtra` without httpx.
        """
        if dimension < 1 or batch_size < 1 or retries < 0:
            raise InvalidInput("dimension and batch_size must be 1 or more, retries 0 or more")
        self._httpx: Final[ModuleType] = require("httpx", extra="llm")
        headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
        self._client = cast("httpx.Client", self._httpx.Client(headers=headers, timeout=timeout))
        self._url = base_url.rstrip("/") + "/embeddings"
        self._model = model
        self._dimension = dimension
        self._shorten = shorten
        self._batch_size = batch_size
        self._retries = retries
        self._sleep = sleep

    @property
    def name(self) -> str:
        """The model, and its length where it is shortened."""
        return f"openai/{self._model}" + (f"@{self._dimension}" if self._shorten else "")

    @property
    def dimension(self) -> int:
        """The length of every vector."""
        return self._dimension

    def embed(self, texts: Sequence[str]) -> list[Vector | None]:
        """Return the unit-length vector of each text; None for a blank one. Raises `EmbeddingFailed`."""
        return embed_present(texts, self._rows, self)

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _rows(self, texts: list[str]) -> list[object]:
        rows: list[object] = []
        for start in range(0, len(texts), self._batch_size):
            rows += self._request(texts[start : start + self._batch_size])
        return rows

    def _request(self, texts: list[str]) -> list[object]:
        body: dict[str, Any] = {"model": self._model, "input": texts, "encoding_format": "float"}
        if self._shorten:
            body["dimensions"] = self._dimension
        for attempt in range(self._retries + 1):
            last = attempt == self._retries
            try:
                response = self._client.post(self._url, json=body)
            except self._httpx.TransportError as error:
                if last:
                    raise EmbeddingFailed(f"{self._url} could not be reached: {error!r}") from error
                self._sleep(_pause(attempt, None))
                continue
            if response.status_code in _WORTH_ANOTHER_TRY and not last:
                self._sleep(_pause(attempt, response.headers.get("retry-after")))
                continue
            if response.is_error:
                shown = response.text[:_SHOWN_OF_AN_ERROR]
                raise EmbeddingFailed(f"{self._url} answered {response.status_code} for {self.name}: {shown}")
            return self._parsed(response, len(texts))
        raise AssertionError("the last attempt returns or raises")

    def _parsed(self, response: "httpx.Response", expected: int) -> list[object]:
        """Return the rows in the order of the texts, whatever order they came in."""
        try:
            answer: dict[str, Any] = response.json()
            data = cast("list[dict[str, Any]]", answer["data"])
            usage = answer.get("usage")
            if isinstance(usage, dict) and isinstance(total := cast("dict[str, Any]", usage).get("total_tokens"), int):
                counts.add("tokens", total)
            rows = {int(entry.get("index", place)): entry["embedding"] for place, entry in enumerate(data)}
            return [rows[place] for place in range(expected)]
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise EmbeddingFailed(f"{self._url} did not answer with {expected} embeddings: {error!r}") from error


def _pause(attempt: int, told: str | None) -> float:
    """Return how many seconds to wait: what the endpoint says, else twice as long each time, never in step."""
    if told is not None and told.strip().isdigit():
        return min(float(told), _LONGEST_WAIT)
    return min(0.5 * 2**attempt, _LONGEST_WAIT) * (0.5 + random.random() / 2)  # noqa: S311 - no secret
