"""Searches with a model: the question is rewritten before, the hits are reranked after."""

from dataclasses import replace

from rememo.ask.reranking import pool, require_reranker, rerank_hits
from rememo.ask.rewriting import TURNS, merge_hits, require_rewriter, rewrite_question
from rememo.context.gather import recent
from rememo.engine.search import Query, search
from rememo.engine.view import View
from rememo.model.hit import Hit


def search_with_model(view: View, query: Query, *, rerank: bool, rewrite: bool) -> list[Hit]:
    """Search with query rewriting and reranking by a model; where that fails, without it.

    Raises `InvalidInput` where there is no model to ask.
    """
    engine, tenant = view.engine, view.scope.tenant
    reranker = require_reranker(engine, tenant) if rerank else None
    llm = require_rewriter(engine, tenant) if rewrite else None
    texts = [query.text]
    if llm is not None:
        turns = [f"{turn.speaker}: {turn.text}" for turn in recent(view, TURNS)] if view.scope.room is not None else []
        texts = rewrite_question(llm, query.text, at=query.at, turns=turns)
    if reranker is None:
        return merge_hits([search(engine, replace(query, text=text)) for text in texts], query.limit)
    # The threshold is for the scores that a caller sees.
    wide = replace(query, limit=pool(query.limit), threshold=0.0)
    hits = merge_hits([search(engine, replace(wide, text=text)) for text in texts], wide.limit)
    reranked = rerank_hits(reranker, query.text, hits, explain=query.explain)
    return [hit for hit in (hits if reranked is None else reranked) if hit.score >= query.threshold][: query.limit]
