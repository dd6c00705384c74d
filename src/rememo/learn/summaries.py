"""Extractive summaries: the few sentences of a text that say most, without a model."""

from collections import Counter
from math import log, sqrt

from rememo.errors import InvalidInput
from rememo.learn.splitting import find_headings
from rememo.learn.splitting import sentences as find_sentences
from rememo.recall.analyze import Analyzer

MOST_SENTENCES = 100
_FEWEST_TERMS = 3
_LONGEST = 600
_DAMPING = 6.0  # so that a very short sentence does not win by one rare word
_OPENING = 0.6  # what the first sentence gains; it fades with the place
_FADING = 12.0


def summarise(text: str, *, sentences: int = 5, analyzer: Analyzer) -> str:
    """Return at most `sentences` whole sentences of a text, in their order.

    A sentence counts by its terms: those that come back in the text and still are not everywhere weigh most; the
    opening of the text weighs more than the rest. Headings, fragments and endless sentences come last.
    """
    if isinstance(sentences, bool) or not isinstance(sentences, int) or not 1 <= sentences <= MOST_SENTENCES:  # pyright: ignore[reportUnnecessaryIsInstance] - callers may be untyped
        raise InvalidInput(f"sentences must be a whole number from 1 to {MOST_SENTENCES}, not {sentences!r}")
    titles = {one.start for one in find_headings(text)}
    said: dict[str, bool] = {}
    for start, end in find_sentences(text):
        said.setdefault(" ".join(text[start:end].split()), start in titles)
    ways = [(sentence, frozenset(analyzer.terms(sentence)), title) for sentence, title in said.items()]
    known = Counter(term for _, terms, title in ways if not title for term in terms)
    count = len(ways) or 1
    weights = {term: sqrt(often) * log(1 + count / often) for term, often in known.items()}
    scored: list[tuple[bool, float, int]] = []
    for place, (sentence, terms, title) in enumerate(ways):
        whole = not title and len(terms) >= _FEWEST_TERMS and len(sentence) <= _LONGEST
        weight = sum(weights.get(term, 0.0) for term in sorted(terms)) / (len(terms) + _DAMPING)
        scored.append((whole, weight * (1 + _OPENING / (1 + place / _FADING)), -place))
    best = sorted(scored, reverse=True)[:sentences]
    if any(whole for whole, _, _ in best):
        best = [one for one in best if one[0]]
    return " ".join(ways[place][0] for place in sorted(-negative for _, _, negative in best))
