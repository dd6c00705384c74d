"""Any endpoint that has ``/rerank``: Jina, Cohere, vLLM, llama.cpp, text-embeddings-inference and others."""

from collections.abc import Sequence
from typing import Any, Final, cast

from rememo.endpoint.client import Endpoint
from rememo.errors import ModelFailed
from rememo.runtime.closing import Closing

_PATH: Final = "/rerank"


class EndpointReranker(Closing):
    """A cross-encoder behind an HTTP endpoint. Safe for threads; close it, or use it in ``with``."""

    def __init__(
        self, base_url: str, model: str, api_key: str | None = None, *, timeout: float = 10.0, retries: int = 0
    ) -> None:
        """Ask `model` at `base_url`; `timeout` is for a call in seconds, with its `retries`."""
        self._endpoint = Endpoint(base_url, api_key=api_key, timeout=timeout, retries=retries)
        self._model = model

    @property
    def name(self) -> str:
        """The model."""
        return self._model

    def rerank(self, query: str, texts: Sequence[str]) -> list[float]:
        """Return how well each text answers; raises `ModelFailed`."""
        body = {"model": self._model, "query": query, "documents": list(texts), "top_n": len(texts)}
        answer = self._endpoint.post(_PATH, body).body
        try:
            results = cast("list[dict[str, Any]]", answer["results"])
            scores = {int(result["index"]): float(result["relevance_score"]) for result in results}
            return [scores[place] for place in range(len(texts))]
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise ModelFailed(
                f"{self._endpoint.address}{_PATH} did not answer with {len(texts)} scores: {error!r}",
                reason="malformed",
            ) from error

    def close(self) -> None:
        """Close the connections."""
        self._endpoint.close()
