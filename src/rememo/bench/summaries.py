"""What summaries without a model keep of what is asked for later, beside plain ways to shorten a conversation.

Every session that holds an answer is shortened to a share of its tokens, by each way alike. An answer-bearing sentence is,
in a message that a question's evidence names, the one that shares most with the question and its answer, rare words first.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import log
from pathlib import Path

from rememo.bench.datasets import BenchScope, Dataset, load
from rememo.bench.report import Report
from rememo.errors import InvalidInput
from rememo.recall.analyze import Analyzer
from rememo.summary.extractive import choose
from rememo.summary.salience import Turn, message_sentence_spans, strip_emphasis
from rememo.text.tokens import TokenCounter, default_counter

SHARES = (0.05, 0.1, 0.2)
_NOT_PERSONS = frozenset({"assistant", "system", "tool"})

NumberedSentence = tuple[int, str]
"""A sentence and the turn it stands in."""
Way = Callable[[Sequence[Turn], int], "set[NumberedSentence]"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryCase:
    """A session, and the sentences in it that are asked for later."""

    number: int
    """The scope it is of."""
    turns: tuple[Turn, ...]
    wanted: frozenset[NumberedSentence]


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryScore:
    """What one way keeps at one length."""

    way: str
    share: float
    sentences: float
    """Share of the answer-bearing sentences that are in the summary."""
    turns: float
    """Share of the answer-bearing turns of which something is in the summary."""
    halves: tuple[float, float]
    """The sentences, over the scopes with even and with odd numbers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryReport(Report):
    """What every way keeps, at every length."""

    sessions: int
    sentences: int
    kept: tuple[SummaryScore, ...]

    def table(self) -> str:
        """Return a plain table."""
        lines = [
            f"{self.sessions} sessions, {self.sentences} answer-bearing sentences",
            f"{'of the tokens':<15}{'way':<26}{'sentences kept':>15}{'turns heard':>13}{'two halves':>16}",
        ]
        for result in self.kept:
            halves = f"{result.halves[0]:.1%} {result.halves[1]:.1%}"
            lines.append(
                f"{result.share:<15.0%}{result.way:<26}{result.sentences:>15.1%}{result.turns:>13.1%}{halves:>16}"
            )
        return "\n".join(lines)


def measure(
    dataset: Dataset,
    path: str | Path,
    *,
    shares: Sequence[float] = SHARES,
    progress: Callable[[int, int], None] | None = None,
) -> SummaryReport:
    """Measure each way at each length over the sessions of a dataset that hold answers."""
    analyzer, counter = Analyzer(), default_counter()
    cases = [
        case for number, scope in enumerate(load(dataset, path)) for case in _summary_cases(number, scope, analyzer)
    ]
    if not cases:
        raise InvalidInput(f"{path} has no question whose evidence names messages; there is nothing to measure")
    ways: dict[str, Way] = {
        "salience (Rememo)": lambda turns, most: _salient(turns, most, counter, analyzer),
        "first and last sentences": lambda turns, most: _first_and_last(turns, most, counter),
        "each turn's first": lambda turns, most: _firsts(turns, most, counter),
    }
    results: list[SummaryScore] = []
    for index, share in enumerate(shares):
        for turn, (name, way) in enumerate(ways.items()):
            results.append(_score_way(name, way, share, cases, counter))
            if progress is not None:
                progress(index * len(ways) + turn + 1, len(shares) * len(ways))
    return SummaryReport(sessions=len(cases), sentences=sum(len(case.wanted) for case in cases), kept=tuple(results))


def _score_way(name: str, way: Way, share: float, cases: Sequence[SummaryCase], counter: TokenCounter) -> SummaryScore:
    kept_total, heard, halves = 0, 0, ([0, 0], [0, 0])
    for case in cases:
        chosen = way(case.turns, int(share * sum(counter.count(turn.text) for turn in case.turns)))
        indices = {index for index, _ in chosen}
        kept_count = len(case.wanted & chosen)
        kept_total += kept_count
        heard += sum(index in indices for index, _ in case.wanted)
        halves[case.number % 2][0] += kept_count
        halves[case.number % 2][1] += len(case.wanted)
    total = sum(len(case.wanted) for case in cases)
    parts = (halves[0][0] / max(1, halves[0][1]), halves[1][0] / max(1, halves[1][1]))
    return SummaryScore(way=name, share=share, sentences=kept_total / total, turns=heard / total, halves=parts)


def _summary_cases(number: int, scope: BenchScope, analyzer: Analyzer) -> list[SummaryCase]:
    sessions: dict[str, list[int]] = {}
    for index, message in enumerate(scope.messages):
        sessions.setdefault(message.session, []).append(index)
    questions: dict[int, set[str]] = {}
    for question in scope.questions:
        for index in question.evidence:
            questions.setdefault(index, set()).update(analyzer.terms(f"{question.text} {question.answer}"))
    cases: list[SummaryCase] = []
    for indices in sessions.values():
        turns = tuple(_turn(scope, index) for index in indices)
        terms = {turn: questions[index] for turn, index in enumerate(indices) if index in questions}
        if wanted := answer_sentences(turns, terms, analyzer):
            cases.append(SummaryCase(number=number, turns=turns, wanted=frozenset(wanted)))
    return cases


def _turn(scope: BenchScope, index: int) -> Turn:
    message = scope.messages[index]
    personal = message.speaker not in _NOT_PERSONS
    return Turn(speaker=message.speaker, text=message.text, at=message.time, personal=personal)


def answer_sentences(
    turns: Sequence[Turn], questions: Mapping[int, set[str]], analyzer: Analyzer
) -> set[NumberedSentence]:
    """Return the sentence of each turn asked about that shares most with the terms it is asked by, rare ones first."""
    sentences = [(index, text, frozenset(analyzer.terms(text))) for index, text in _sentences(turns)]
    frequencies = Counter(term for _, _, terms in sentences for term in terms)
    wanted: set[NumberedSentence] = set()
    for turn, asking in questions.items():
        ranked = [
            (sum(sorted(log(1 + len(sentences) / frequencies[term]) for term in terms & asking)), -number, text)
            for number, (index, text, terms) in enumerate(sentences)
            if index == turn
        ]
        if ranked:
            wanted.add((turn, max(ranked)[2]))
    return wanted


def _sentences(turns: Sequence[Turn]) -> list[NumberedSentence]:
    return [
        (index, strip_emphasis(turn.text[start:end]))
        for index, turn in enumerate(turns)
        for start, end in message_sentence_spans(turn.text)
    ]


def _salient(turns: Sequence[Turn], most: int, counter: TokenCounter, analyzer: Analyzer) -> set[NumberedSentence]:
    chosen = choose(turns, max_tokens=most, counter=counter, analyzer=analyzer)
    return {(sentence.place, sentence.text) for sentence in chosen}


def _first_and_last(turns: Sequence[Turn], most: int, counter: TokenCounter) -> set[NumberedSentence]:
    """Take the first sentence, the last, the second, the last but one … while they fit."""
    sentences = _sentences(turns)
    count = len(sentences)
    order = [index // 2 if index % 2 == 0 else count - 1 - index // 2 for index in range(count)]
    return _fit_sentences([sentences[index] for index in order], most, counter)


def _firsts(turns: Sequence[Turn], most: int, counter: TokenCounter) -> set[NumberedSentence]:
    """Take the first sentence of every turn, then the second of every turn … while they fit."""
    seen: Counter[int] = Counter()
    ranked: list[tuple[int, int, str]] = []
    for index, text in _sentences(turns):
        ranked.append((seen[index], index, text))
        seen[index] += 1
    return _fit_sentences([(index, text) for _, index, text in sorted(ranked)], most, counter)


def _fit_sentences(sentences: Sequence[NumberedSentence], most: int, counter: TokenCounter) -> set[NumberedSentence]:
    chosen: set[NumberedSentence] = set()
    for sentence in sentences:
        most -= counter.count(sentence[1])
        if most < 0:
            break
        chosen.add(sentence)
    return chosen
