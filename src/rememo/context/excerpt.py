"""Excerpts: of a long text, the whole sentences that answer a question, within a number of tokens."""

import math
import re
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from rememo.text.tokens import TokenCounter, count, cut_to

GAP: Final = "…"
"""Stands for what was left out."""

_END: Final = re.compile(r"[.!?\u2026][\"')\]\u201d\u2019*]*\s+|\n\s*|[\u3002\uff01\uff1f]\s*")
_FARTHEST: Final = 20_000
"""Characters that are looked through, around the first word of the question."""
_BEFORE: Final = 2_000
_SHORTEST_STEM: Final = 3


def term_weights(terms: Iterable[str], texts: Sequence[str]) -> dict[str, float]:
    """Return how much each term of a question tells: the fewer of the texts hold it, the more."""
    lowered = [text[:_FARTHEST].casefold() for text in texts]
    weights: dict[str, float] = {}
    for term in terms:
        stem = _stem(term)
        frequency = sum(stem in text for text in lowered)
        weights[term] = math.log(1 + (len(lowered) + 1) / (frequency + 1))
    return weights


def excerpt(text: str, weights: Mapping[str, float], most: int, *, counter: TokenCounter) -> str:
    """Return the sentences of a text that tell most about a question, in their order and with gaps marked.

    It has about `most` tokens at most; one sentence is always there, cut if need be. Without a word of the question in
    the text it is the beginning. "" when not even a word fits.
    """
    text = _window_around_match(text, weights)
    spans = _sentence_spans(text)
    parts = [text[start:end] for start, end in spans]
    worth = _sentence_worth(text, [start for start, _ in spans], weights)
    costs: dict[int, int] = {}
    selected: set[int] = set()
    selected_texts: set[str] = set()
    spent = 0

    def select(index: int) -> bool:
        nonlocal spent
        if index not in costs:
            costs[index] = count(counter, parts[index]) + 1
        if parts[index] in selected_texts or spent + costs[index] > most:
            return False
        selected.add(index)
        selected_texts.add(parts[index])
        spent += costs[index]
        return True

    best = sorted(range(len(parts)), key=lambda index: (-worth[index], index))
    if not best:
        return ""
    if not select(best[0]):
        return cut_to(counter, _from_match(parts[best[0]], weights), most)
    for index in best[1:]:
        if worth[index] <= 0 or spent >= most:
            break
        select(index)
    # What stands beside a telling sentence often completes it.
    for index in sorted(selected, key=lambda index: -worth[index]):
        for near in (index + 1, index - 1):
            if 0 <= near < len(parts):
                select(near)
    return _join_sentences(text, spans, sorted(selected))


def _sentence_worth(text: str, starts: Sequence[int], weights: Mapping[str, float]) -> list[float]:
    """Return for each sentence what the terms that it holds tell together; each counts once."""
    lowered = text.lower()
    if len(lowered) != len(text):  # a few letters grow: then places would not fit
        lowered = text
    worth = [0.0] * len(starts)
    for term, weight in weights.items():
        stem, position, last = _stem(term), -1, -1
        while (position := lowered.find(stem, position + 1)) >= 0:
            sentence = bisect_right(starts, position) - 1
            if sentence > last and (position == 0 or not lowered[position - 1].isalnum() or not stem.isascii()):
                worth[sentence] += weight
                last = sentence
    return worth


def _join_sentences(text: str, spans: Sequence[tuple[int, int]], selected: Sequence[int]) -> str:
    pieces: list[str] = [] if selected[0] == 0 else [GAP]
    for order, index in enumerate(selected):
        start, end = spans[index]
        if order and selected[order - 1] == index - 1:
            pieces[-1] += text[spans[index - 1][1] : end]  # as it was written, the space between them too
        else:
            pieces += [GAP, text[start:end]] if order else [text[start:end]]
    if selected[-1] != len(spans) - 1:
        pieces.append(GAP)
    return " ".join(pieces)


def _sentence_spans(text: str) -> list[tuple[int, int]]:
    """Return where sentences and lines begin and end, without the space behind them."""
    spans: list[tuple[int, int]] = []
    start = 0
    for stop in (*(end.end() for end in _END.finditer(text)), len(text)):
        length = len(text[start:stop].rstrip())
        if length:
            spans.append((start, start + length))
        start = stop
    return spans


def _window_around_match(text: str, weights: Mapping[str, float]) -> str:
    """Return a very long text's part around the most telling word that it holds."""
    if len(text) <= _FARTHEST:
        return text
    lowered = text.casefold()
    for term in sorted(weights, key=lambda term: -weights[term]):
        position = lowered.find(_stem(term))
        if position >= 0:
            start = max(0, position - _BEFORE)
            return text[start : start + _FARTHEST]
    return text[:_FARTHEST]


def _from_match(sentence: str, weights: Mapping[str, float]) -> str:
    """Return an overlong sentence from a little before the first word of the question on."""
    lowered = sentence.casefold()
    positions = [position for term in weights if (position := lowered.find(_stem(term))) >= 0]
    start = min(positions, default=0)
    near = sentence.rfind(" ", 0, max(0, start - 40))
    return sentence if near < 0 else f"{GAP}{sentence[near:]}"


def _stem(term: str) -> str:
    """Return how a term begins in a text: "hike" stands for hiking too, "happi" for happy."""
    return term[:-1] if len(term) > _SHORTEST_STEM and term[-1] in "ei" else term
