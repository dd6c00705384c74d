"""Summaries without a model: the few sentences that say most, whole and in their order."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from math import log, sqrt
from typing import Protocol

from rememo.errors import InvalidInput
from rememo.recall.analyze import Analyzer
from rememo.summary.salience import LONGEST, Turn, WeighedSentence, weigh_sentences
from rememo.text.splitting import find_headings
from rememo.text.splitting import sentence_spans as find_sentences
from rememo.text.tokens import TokenCounter

MOST_SENTENCES = 100
_FEWEST_TERMS = 3
_DAMPING = 6.0  # so that a very short sentence does not win by one rare word
_OPENING = 0.6  # what the first sentence gains; it fades with the place
_FADING = 12.0
_SAME = 0.8
"""A sentence that shares so much of its terms with one that is chosen says nothing new."""
_COST_ROOT, _COST_BASE = 0.5, 20.0
"""A sentence is worth its length by the root of its tokens: long ones say more, but not in proportion."""
_CROWDING = 0.3
"""What the second, third … best sentence of one turn loses, so that more turns are heard."""


class Summariser(Protocol):
    """A model that writes summaries. Called from the worker's thread; whatever it raises, there is a summary."""

    def summarise(self, text: str, *, max_tokens: int) -> str:
        """Return a summary of a conversation ("speaker: what was said", a line a turn) in about so many tokens."""
        ...


@dataclass(frozen=True, slots=True)
class SummaryLine:
    """The part of one turn that is kept in a summary."""

    speaker: str
    text: str
    place: int = 0
    """The turn, of those that were given."""


def condense(turns: Sequence[Turn], *, max_tokens: int, counter: TokenCounter, analyzer: Analyzer) -> list[SummaryLine]:
    """Return what a conversation says, in at most so many tokens of it: whole sentences in their order, a line a turn."""
    return join_by_turn(turns, choose(turns, max_tokens=max_tokens, counter=counter, analyzer=analyzer))


def join_by_turn(turns: Sequence[Turn], chosen: Sequence[WeighedSentence]) -> list[SummaryLine]:
    """Return chosen sentences of turns as lines, one for each turn that is heard."""
    lines: dict[int, list[str]] = {}
    for sentence in chosen:
        lines.setdefault(sentence.place, []).append(sentence.text)
    return [SummaryLine(turns[place].speaker, " ".join(texts), place) for place, texts in lines.items()]


def choose(
    turns: Sequence[Turn], *, max_tokens: int, counter: TokenCounter, analyzer: Analyzer
) -> list[WeighedSentence]:
    """Return the sentences of turns that say most in at most so many tokens, in their order.

    They are chosen by worth for their length (see `salience`); what says the same is said once. Where something has
    content, greetings and scraps are left out however much room there is.
    """
    sentences = weigh_sentences(turns, analyzer)
    costs = [counter.count(sentence.text) for sentence in sentences]
    worth = [
        sentence.worth / (cost + _COST_BASE) ** _COST_ROOT for sentence, cost in zip(sentences, costs, strict=True)
    ]
    crowd: Counter[int] = Counter()
    ranked: list[tuple[float, int]] = []
    for place in sorted(range(len(sentences)), key=lambda place: (-worth[place], place)):
        ranked.append((-worth[place] / (1 + _CROWDING * crowd[sentences[place].place]), place))
        crowd[sentences[place].place] += 1
    content = any(not sentence.empty for sentence in sentences)
    left, chosen, covered = max_tokens, list[int](), _ChosenTerms()
    for _, place in sorted(ranked):
        sentence = sentences[place]
        if costs[place] > left or (content and sentence.empty) or covered.already(sentence.terms):
            continue
        left -= costs[place]
        chosen.append(place)
        covered.add(sentence.terms)
    return [sentences[place] for place in sorted(chosen)]


class _ChosenTerms:
    """The terms of the sentences that are chosen already."""

    def __init__(self) -> None:
        self._with: dict[str, set[int]] = {}
        self._count = 0

    def already(self, terms: frozenset[str]) -> bool:
        """Whether one chosen sentence has nearly all of these terms, and every number among them."""
        figures = [self._with.get(term, set[int]()) for term in terms if any(character.isdigit() for character in term)]
        if figures:
            alike: set[int] = set[int].intersection(*sorted(figures, key=len))
            return any(self._shared(place, terms) >= _SAME * len(terms) for place in alike)
        shared = Counter(place for term in terms for place in self._with.get(term, ()))
        return any(count >= _SAME * len(terms) for count in shared.values())

    def _shared(self, place: int, terms: frozenset[str]) -> int:
        return sum(place in self._with.get(term, ()) for term in terms)

    def add(self, terms: frozenset[str]) -> None:
        for term in terms:
            self._with.setdefault(term, set()).add(self._count)
        self._count += 1


def summarise(text: str, *, sentences: int = 5, analyzer: Analyzer) -> str:
    """Return at most `sentences` whole sentences of a text, in their order.

    A sentence counts by its terms: those that come back in the text and still are not everywhere weigh most; the
    opening of the text weighs more than the rest. Headings, fragments and endless sentences come last, and what says
    nearly the same as a better sentence is left out while there is anything else.
    """
    if isinstance(sentences, bool) or not isinstance(sentences, int) or not 1 <= sentences <= MOST_SENTENCES:  # pyright: ignore[reportUnnecessaryIsInstance] - callers may be untyped
        raise InvalidInput(f"sentences must be a whole number from 1 to {MOST_SENTENCES}, not {sentences!r}")
    titles = {heading.start for heading in find_headings(text)}
    titled: dict[str, bool] = {}
    for start, end in find_sentences(text):
        titled.setdefault(" ".join(text[start:end].split()), start in titles)
    candidates = [(sentence, frozenset(analyzer.terms(sentence)), title) for sentence, title in titled.items()]
    frequencies = Counter(term for _, terms, title in candidates if not title for term in terms)
    count = len(candidates) or 1
    weights = {term: sqrt(often) * log(1 + count / often) for term, often in frequencies.items()}
    scored: list[tuple[bool, float, int]] = []
    for place, (sentence, terms, title) in enumerate(candidates):
        is_sentence = not title and len(terms) >= _FEWEST_TERMS and len(sentence) <= LONGEST
        weight = sum(sorted(weights.get(term, 0.0) for term in terms)) / (len(terms) + _DAMPING)
        scored.append((is_sentence, weight * (1 + _OPENING / (1 + place / _FADING)), -place))
    best: list[tuple[bool, float, int]] = []
    repeated: list[tuple[bool, float, int]] = []
    chosen_terms = _ChosenTerms()
    for candidate in sorted(scored, reverse=True):
        if (
            len(best) == sentences
        ):  # what is heard later would not be shown: looking for it would take the square of all
            break
        terms = candidates[-candidate[2]][1]
        if candidate[0] and chosen_terms.already(terms):
            repeated.append(candidate)
            continue
        best.append(candidate)
        chosen_terms.add(terms)
    best = [*best, *repeated][:sentences]
    if any(is_sentence for is_sentence, _, _ in best):
        best = [candidate for candidate in best if candidate[0]]
    return " ".join(candidates[place][0] for place in sorted(-negative for _, _, negative in best))
