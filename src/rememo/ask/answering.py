"""Answers out of memory, with the records they rest on; without a model, in the words of those records.

What memory does not tell is not answered: `found` is False, whoever was asked.
"""

import logging
import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from typing import Final

from rememo.ask.answer import NOT_FOUND, Answer
from rememo.context.context import context
from rememo.context.dates import day
from rememo.context.gather import PASSAGES, passages, recall_view
from rememo.context.item import Context, ContextItem, Recall
from rememo.context.rendering import format_item
from rememo.engine.view import View
from rememo.errors import InvalidInput, MissingExtra, ModelFailed, OverBudget
from rememo.learn.facts import holds, is_fact
from rememo.llm.gateway import model_for
from rememo.llm.protocol import LLM, Usage
from rememo.model.check import check_text, check_unit
from rememo.model.times import to_utc
from rememo.recall.analyze import Analyzer, asks
from rememo.recall.question import THRESHOLD, understand
from rememo.runtime.counters import counts
from rememo.text.splitting import sentence_spans

_POOL: Final = 8
_MOST_QUOTED: Final = 3
_NEARLY: Final = 0.85
"""What is quoted beside the best must be worth so much of it."""
_SCORE, _COVERED = 0.7, 0.3
_WHOLE: Final = 300
"""Texts of no more characters are quoted whole."""
_NUMBER: Final = re.compile(r"^[^\S\n]*\[(\d+)\]", re.MULTILINE)
_log = logging.getLogger("rememo.llm")


def answer_question(
    view: View,
    question: str,
    *,
    max_tokens: int,
    recall: Recall = "user",
    user: str | None = None,
    at: datetime | None = None,
    threshold: float = THRESHOLD,
    model: bool = True,
) -> Answer:
    """Answer a question from memory; the arguments are those of `Memory.ask`."""
    check_text(question, "question", max_bytes=view.engine.settings.max_text_bytes)
    if not question.strip():
        raise InvalidInput("the question is empty; ask something")
    check_unit(threshold, "threshold")
    asked_at = view.engine.now() if at is None else to_utc(at, "at")
    llm = model_for(view.engine, view.scope.tenant, "ask") if model else None
    recalled = (
        context(view, question, max_tokens=max_tokens, recall=recall, user=user, at=at) if llm is not None else None
    )
    failed, spent = None, Usage()
    if llm is not None and recalled is not None:
        try:
            return answer_by_model(llm, question, recalled)
        except (ModelFailed, OverBudget, MissingExtra) as error:
            failed = f"{type(error).__name__}: {error}"[:500]
            spent = Usage(*error.tokens) if isinstance(error, ModelFailed) else spent
            counts.add("answers_without_model")
            _log.warning("a question is answered in the words of records, because the model failed: %s", failed)
    wide = recall_view(view, recall, user=user)
    wide.wait_for_extraction()
    answer = answer_extractively(wide, question, at=asked_at, threshold=threshold)
    return replace(answer, fallback=failed, usage=spent)


# ---- by a model


def answer_by_model(llm: LLM, question: str, context: Context) -> Answer:
    """Return a model's answer from the context it is given; one that cites nothing of it raises `ModelFailed`."""
    numbers = {int(number) for number in _NUMBER.findall(context.text)} & set(range(1, len(context.records) + 1))
    if not numbers:  # nothing to answer from: nothing to pay for
        return Answer(text=NOT_FOUND, found=False, writer=llm.name)
    from rememo.ask.model_answer import ask_model  # noqa: PLC0415 - what shapes answers is loaded when one is wanted

    reply, usage = ask_model(llm, question, context.text)
    if not reply.found:
        return Answer(text=NOT_FOUND, found=False, writer=llm.name, usage=usage)
    cited = [number for number in dict.fromkeys(reply.citations) if number in numbers]
    if not cited or not reply.answer.strip():
        what = "said nothing" if not reply.answer.strip() else "cited nothing that it was shown"
        raise ModelFailed(f"{llm.name} {what}", reason="malformed", tokens=(usage.prompt, usage.completion))
    records = tuple(context.records[number - 1] for number in cited)
    return Answer(
        text=reply.answer.strip(),
        found=True,
        citations=tuple(record.id for record in records),
        records=records,
        writer=llm.name,
        usage=usage,
    )


# ---- without one


def answer_extractively(view: View, question: str, *, at: datetime, threshold: float = THRESHOLD) -> Answer:
    """Return the sentences that answer a question best, quoted, each with its speaker and time."""
    engine = view.engine
    asked_at = at if view.known_at is None else min(at, view.known_at)
    candidates = [
        item
        for item in passages(view, question, limit=_POOL, at=asked_at, kinds=(*PASSAGES, "fact"))
        if _may_answer(item, question, asked_at)
    ]
    speakers = tuple(sorted({item.speaker for item in candidates if item.speaker is not None}))
    terms = frozenset(understand(question, analyzer=engine.analyzer, at=asked_at, speakers=speakers).terms)
    sure = [_SCORE * item.score + _COVERED * _covered(terms, item.text, engine.analyzer) for item in candidates]
    best = max(sure, default=0.0)
    if not candidates or best < threshold:
        return Answer(text=NOT_FOUND, found=False, certainty=round(best, 3))
    order = sorted(range(len(candidates)), key=lambda index: (-sure[index], index))
    chosen = [index for index in order if sure[index] >= _NEARLY * best][:_MOST_QUOTED]
    items = [candidates[index] for index in chosen]
    records = tuple(item.record for item in items if item.record is not None)
    return Answer(
        text="\n".join(_quoted(item, terms, engine.analyzer, asked_at) for item in items),
        found=True,
        citations=tuple(record.id for record in records),
        records=records,
        certainty=round(best, 3),
    )


def _may_answer(item: ContextItem, question: str, asked_at: datetime) -> bool:
    """Return whether an item can be an answer: a fact that holds, or a statement, and not only a question."""
    if item.kind == "fact":
        return item.record is not None and is_fact(item.record) and holds(item.record, asked_at)
    if item.text.strip().casefold() == question.strip().casefold():
        return False
    return not asks(item.text) or any(not sentence.endswith("?") for sentence in _sentences(item.text))


def _covered(terms: frozenset[str], text: str, analyzer: Analyzer) -> float:
    return len(terms & set(analyzer.terms(text))) / len(terms) if terms else 0.0


def _quoted(item: ContextItem, terms: frozenset[str], analyzer: Analyzer, now: datetime) -> str:
    """Return an item in a line, a long one by its best sentence and the one after it."""
    quote = " ".join(item.text.split())
    if len(quote) > _WHOLE:
        parts = list(_sentences(item.text))
        covered = [_covered(terms, part, analyzer) for part in parts]
        best = max(range(len(parts)), key=lambda index: (covered[index], -index))
        quote = " ".join(parts[best : best + 2])
    dated = "" if item.at is None or item.kind == "fact" else f" ({day(item.at)})"
    return format_item(item, now, quote) + dated


def _sentences(text: str) -> Iterator[str]:
    for start, end in sentence_spans(text):
        if sentence := " ".join(text[start:end].split()):
            yield sentence
