"""Query rewriting: a model replaces pronouns by names and splits what asks for several things."""

import logging
from collections.abc import Sequence
from datetime import datetime
from typing import Final

from pydantic import BaseModel

from rememo.engine.engine import Engine
from rememo.errors import InvalidInput, ModelFailed, OverBudget
from rememo.llm.gateway import model_for
from rememo.llm.prompts import prompt
from rememo.llm.protocol import LLM, ChatMessage
from rememo.llm.structured import ask_structured
from rememo.model.check import dump_json
from rememo.model.hit import Hit
from rememo.runtime.counters import counts

MOST_QUERIES: Final = 3
TURNS: Final = 6
"""How many of the latest turns the model is shown."""
_LONGEST: Final = 300
_LONGEST_TURN: Final = 500
_MOST_TOKENS: Final = 256
_log = logging.getLogger("rememo.llm")


class _Queries(BaseModel):
    queries: list[str]


def require_rewriter(engine: Engine, tenant: str) -> LLM:
    """Return the model that rewrites questions; raises `InvalidInput` without one."""
    llm = model_for(engine, tenant, "rewrite")
    if llm is None:
        raise InvalidInput("rewrite=True needs a model: open the memory with llm=…, or set llm_url and llm_model")
    return llm


def rewrite_question(llm: LLM, question: str, *, at: datetime, turns: Sequence[str] = ()) -> list[str]:
    """Return the searches that answer a question, the question itself first; it alone when the model gives nothing."""
    latest = [turn[:_LONGEST_TURN] for turn in turns[-TURNS:]]
    request = dump_json({"question": question, "asked_at": at.isoformat(timespec="minutes"), "latest_turns": latest})
    instructions = prompt("rewrite").filled(most=str(MOST_QUERIES))
    try:
        reply = ask_structured(
            llm,
            [ChatMessage("system", instructions), ChatMessage("user", request)],
            _Queries,
            repairs=1,
            max_tokens=_MOST_TOKENS,
        )
    except (ModelFailed, OverBudget) as error:
        counts.add("rewrite_failures")
        _log.warning("a question is searched for as it stands: %s", error)
        return [question]
    queries = [" ".join(query.split())[:_LONGEST] for query in reply.value.queries]
    return list(dict.fromkeys([question, *(query for query in queries if query)]))[: MOST_QUERIES + 1]


def merge_hits(results: Sequence[Sequence[Hit]], limit: int) -> list[Hit]:
    """Return the hits of several searches as one list, each record by its best score."""
    best: dict[str, Hit] = {}
    for hits in results:
        for hit in hits:
            if hit.id not in best or hit.score > best[hit.id].score:
                best[hit.id] = hit
    return sorted(best.values(), key=lambda hit: -hit.score)[:limit]
