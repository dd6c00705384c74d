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
        held = sum(stem in text for text in lowered)
        weights[term] = math.log(1 + (len(lowered) + 1) / (held + 1))
    return weights


def excerpt(text: str, weights: Mapping[str, float], most: int, *, counter: TokenCounter) -> str:
    """Return the sentences of a text that tell most about a question, in their order and with gaps marked.

    It has about `most` tokens at most; one sentence is always there, cut if need be. Without a word of the question in
    the text it is the beginning. "" when not even a word fits.
    """
    text = _window_around_match(text, weights)
    places = _sentence_spans(text)
    parts = [text[start:end] for start, end in places]
    worth = _sentence_worth(text, [start for start, _ in places], weights)
    costs: dict[int, int] = {}
    taken: set[int] = set()
    taken_texts: set[str] = set()
    spent = 0

    def take(place: int) -> bool:
        nonlocal spent
        if place not in costs:
            costs[place] = count(counter, parts[place]) + 1
        if parts[place] in taken_texts or spent + costs[place] > most:
            return False
        taken.add(place)
        taken_texts.add(parts[place])
        spent += costs[place]
        return True

    best = sorted(range(len(parts)), key=lambda place: (-worth[place], place))
    if not best:
        return ""
    if not take(best[0]):
        return cut_to(counter, _from_match(parts[best[0]], weights), most)
    for place in best[1:]:
        if worth[place] <= 0 or spent >= most:
            break
        take(place)
    # What stands beside a telling sentence often completes it.
    for place in sorted(taken, key=lambda place: -worth[place]):
        for near in (place + 1, place - 1):
            if 0 <= near < len(parts):
                take(near)
    return _join_sentences(text, places, sorted(taken))


def _sentence_worth(text: str, starts: Sequence[int], weights: Mapping[str, float]) -> list[float]:
    """Return for each sentence what the terms that it holds tell together; each counts once."""
    lowered = text.lower()
    if len(lowered) != len(text):  # a few letters grow: then places would not fit
        lowered = text
    worth = [0.0] * len(starts)
    for term, weight in weights.items():
        stem, place, last = _stem(term), -1, -1
        while (place := lowered.find(stem, place + 1)) >= 0:
            sentence = bisect_right(starts, place) - 1
            if sentence > last and (place == 0 or not lowered[place - 1].isalnum() or not stem.isascii()):
                worth[sentence] += weight
                last = sentence
    return worth


def _join_sentences(text: str, places: Sequence[tuple[int, int]], taken: Sequence[int]) -> str:
    pieces: list[str] = [] if taken[0] == 0 else [GAP]
    for number, place in enumerate(taken):
        start, end = places[place]
        if number and taken[number - 1] == place - 1:
            pieces[-1] += text[places[place - 1][1] : end]  # as it was written, the space between them too
        else:
            pieces += [GAP, text[start:end]] if number else [text[start:end]]
    if taken[-1] != len(places) - 1:
        pieces.append(GAP)
    return " ".join(pieces)


def _sentence_spans(text: str) -> list[tuple[int, int]]:
    """Return where sentences and lines begin and end, without the space behind them."""
    places: list[tuple[int, int]] = []
    start = 0
    for stop in (*(end.end() for end in _END.finditer(text)), len(text)):
        length = len(text[start:stop].rstrip())
        if length:
            places.append((start, start + length))
        start = stop
    return places


def _window_around_match(text: str, weights: Mapping[str, float]) -> str:
    """Return a very long text's part around the most telling word that it holds."""
    if len(text) <= _FARTHEST:
        return text
    lowered = text.casefold()
    for term in sorted(weights, key=lambda term: -weights[term]):
        place = lowered.find(_stem(term))
        if place >= 0:
            start = max(0, place - _BEFORE)
            return text[start : start + _FARTHEST]
    return text[:_FARTHEST]


def _from_match(sentence: str, weights: Mapping[str, float]) -> str:
    """Return an overlong sentence from a little before the first word of the question on."""
    lowered = sentence.casefold()
    places = [place for term in weights if (place := lowered.find(_stem(term))) >= 0]
    start = min(places, default=0)
    near = sentence.rfind(" ", 0, max(0, start - 40))
    return sentence if near < 0 else f"{GAP}{sentence[near:]}"


def _stem(term: str) -> str:
    """Return how a term begins in a text: "hike" stands for hiking too, "happi" for happy."""
    return term[:-1] if len(term) > _SHORTEST_STEM and term[-1] in "ei" else term
