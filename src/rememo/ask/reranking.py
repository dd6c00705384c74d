"""Reranking of hits by the reranker of a memory, or by its language model."""

import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from pydantic import BaseModel, Field

from rememo.engine.engine import Engine
from rememo.errors import Closed, InvalidInput, StorageError
from rememo.llm.gateway import model_for
from rememo.llm.prompts import prompt
from rememo.llm.protocol import LLM, ChatMessage
from rememo.llm.structured import ask_structured
from rememo.model.check import dump_json
from rememo.model.hit import Hit
from rememo.recall.rerank.protocol import Reranker, unit_scores
from rememo.runtime.counters import counts

MOST_RERANKED: Final = 100
_TIMES, _LEAST = 3, 30
_LONGEST: Final = 1_200
"""What is read of each text, in characters."""
_BEST: Final = 10
_TOKENS_OF_A_SCORE: Final = 16
_log = logging.getLogger("rememo.llm")


def pool(limit: int) -> int:
    """Return how many hits are reranked for a limit."""
    return max(limit, min(MOST_RERANKED, max(_LEAST, _TIMES * limit)))


def require_reranker(engine: Engine, tenant: str) -> Reranker:
    """Return the memory's reranker, else its language model as one; raises `InvalidInput` without either."""
    llm = None if engine.reranker is not None else model_for(engine, tenant, "rerank")
    if llm is None and engine.reranker is None:
        raise InvalidInput("rerank=True needs a reranker or a model: open the memory with reranker=… or llm=…")
    return engine.reranker if llm is None else ModelReranker(llm)  # pyright: ignore[reportReturnType] - one of them is there


def rerank_hits(reranker: Reranker, query: str, hits: Sequence[Hit], *, explain: bool) -> list[Hit] | None:
    """Return hits reordered with the reranker's scores; None when it fails: the old order stands."""
    if not hits:
        return []
    try:
        scores = unit_scores(reranker.rerank(query, [hit.text[:_LONGEST] for hit in hits]), len(hits))
    except (StorageError, Closed):
        raise
    except Exception as error:  # noqa: BLE001 - a model may fail in any way; there are hits all the same
        scores, why = None, f"{type(error).__name__}: {error}"
    else:
        why = "its scores cannot be meant"
    if scores is None:
        counts.add("rerank_failures")
        _log.warning("hits keep their order, because %s failed: %s", reranker.name, why)
        return None
    ordered = sorted(zip(scores, range(len(hits)), hits, strict=True), key=lambda ranking: (-ranking[0], ranking[1]))
    return [replace(hit, score=score, reasons={"rerank": score} if explain else {}) for score, _, hit in ordered]


class _Score(BaseModel):
    n: int
    score: float = Field(ge=0, le=_BEST)


class _Scores(BaseModel):
    scores: list[_Score]


class ModelReranker:
    """Orders by what a language model says of each text, all of them in one call."""

    def __init__(self, llm: LLM) -> None:
        self._llm = llm

    @property
    def name(self) -> str:
        """The model."""
        return self._llm.name

    def rerank(self, query: str, texts: Sequence[str]) -> list[float]:
        """Return how well each text answers; what the model leaves out does not. Raises `ModelFailed` and `OverBudget`."""
        passages = [{"n": number, "text": text} for number, text in enumerate(texts, 1)]
        request = dump_json({"question": query, "passages": passages})
        turns = [ChatMessage("system", prompt("rerank").text), ChatMessage("user", request)]
        most = 64 + _TOKENS_OF_A_SCORE * len(texts)
        scores = {
            score.n: score.score for score in ask_structured(self._llm, turns, _Scores, max_tokens=most).value.scores
        }
        return [scores.get(number, 0.0) / _BEST for number in range(1, len(texts) + 1)]
