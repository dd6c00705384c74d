"""Quality of recall: how much of the evidence is found, beside plain words and plain vectors in the same run.

Every method ranks the messages of a scope for a question. From that one ranking come the turn measures (which share of
the evidence is among the first k messages) and the session measures: sessions stand in the order of their best message.
"""

import math
import re
import statistics
import time as clock
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Self, TypeAlias

import numpy as np

from rememo.bench.datasets import BenchQuestion, BenchScope, Dataset, load
from rememo.bench.report import Report, align
from rememo.memory import Memory
from rememo.model.hit import Hit
from rememo.recall.embed.protocol import Embedder, embed_question
from rememo.recall.embed.static import StaticEmbedder
from rememo.recall.rank import MOST_HITS
from rememo.recall.stopwords import STOPWORDS
from rememo.recall.types import Postings

Search: TypeAlias = Callable[[BenchQuestion], Sequence[int]]
"""Answers a question with places of messages, best first."""

Method: TypeAlias = Callable[[BenchScope], Search]
"""Takes in a scope and makes it searchable."""

ALL: Final = "all"
"""The category of all questions together."""

_LEARNING_SECONDS: Final = 600.0
"""What learning from one scope may take."""
_TURN_CUTS: Final = (1, 5, 10, 20, 50)
_SESSION_CUTS: Final = (1, 5, 10)


@dataclass(frozen=True, slots=True, kw_only=True)
class MethodQuality:
    """What one method reached."""

    name: str
    questions: Mapping[str, int]
    """How many questions were asked, by category."""
    measures: Mapping[str, Mapping[str, float]]
    """By category, then by measure: shares from 0 to 1."""
    milliseconds: float
    """The median time of one search."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QualityReport(Report):
    """What all methods reached on one dataset."""

    dataset: str
    methods: tuple[MethodQuality, ...] = field(default_factory=tuple[MethodQuality, ...])

    def table(self) -> str:
        """Return it as a table of percentages, one line for each method and category."""
        columns = list(dict.fromkeys(name for method in self.methods for name in method.measures.get(ALL, {})))
        lines = [["method", "category", "questions", *columns, "ms"]]
        for method in self.methods:
            for category in sorted(method.measures, key=lambda name: (name != ALL, name)):
                measures = method.measures[category]
                figures = [f"{100 * measures[name]:.1f}" if name in measures else "" for name in columns]
                took = f"{method.milliseconds:.2f}" if category == ALL else ""
                lines.append([method.name, category, str(method.questions[category]), *figures, took])
        return align(lines, names=2)


def measure(
    dataset: Dataset,
    path: str | Path,
    *,
    methods: Mapping[str, Method] | None = None,
    learn: bool = True,
    progress: Callable[[int], None] | None = None,
) -> QualityReport:
    """Measure every method on every question of a dataset file.

    `methods` are Rememo's recall, plain BM25 and vectors alone unless given; `learn` says whether Rememo learns from what
    it stores, as it does for its users. `progress` is told how many questions are
    done. Raises `InvalidInput` for a file that cannot be read.
    """
    chosen = dict(default_methods(learn=learn) if methods is None else methods)
    tallies = {name: _MeasureTally(name) for name in chosen}
    count = 0
    for scope in load(dataset, path):
        searches = {name: method(scope) for name, method in chosen.items()}
        for question in scope.questions:
            for name, search in searches.items():
                start = clock.perf_counter()
                ranked = search(question)
                took = 1000 * (clock.perf_counter() - start)
                tallies[name].add(scope, question, _before(scope, question, ranked), took)
            count += 1
            if progress is not None:
                progress(count)
    return QualityReport(dataset=dataset, methods=tuple(tally.result() for tally in tallies.values()))


def default_methods(*, embedder: Embedder | None = None, learn: bool = True) -> dict[str, Method]:
    """Return Rememo's recall and, to compare it with, plain BM25 and vectors alone."""
    chosen = embedder or StaticEmbedder()
    return {
        "rememo": lambda scope: StoredRecall(scope, chosen, learn=learn).search,
        "words": lambda scope: PlainWords(scope).search,
        "vectors": lambda scope: PlainVectors(scope, chosen).search,
    }


class StoredRecall:
    """Rememo as its users have it: messages stored in a memory and searched by its front door."""

    def __init__(self, scope: BenchScope, embedder: Embedder, *, learn: bool = False) -> None:
        """Store all messages of a scope, under ids that say nothing; with `learn`, facts and revisions are learned too."""
        self.memory = Memory(":memory:", embedder=embedder)
        self._most = min(MOST_HITS, max(1, len(scope.messages)))
        askers = {question.asker for question in scope.questions} - {None}
        agents = {question.addressee for question in scope.questions} - {None}
        self._user = askers.pop() if len(askers) == 1 else None
        with self.memory.batch() as batch:
            for index, message in enumerate(scope.messages):
                if not message.text.strip():
                    continue  # some sets have messages that say nothing, which a memory refuses
                by_agent = message.speaker in agents
                view = batch.scope(
                    room=message.room,
                    user=self._user if by_agent and self._user else message.speaker,
                    agent=message.speaker if by_agent else None,
                )
                role = "assistant" if by_agent else "user"
                view.add(
                    message.text, kind="message", id=str(index), occurred_at=message.time, data={"role": role},
                    learn=learn,
                )  # fmt: skip
        if learn and batch.receipt is not None:
            batch.receipt.wait(_LEARNING_SECONDS)

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the memory."""
        self.memory.close()

    def search(self, question: BenchQuestion) -> Sequence[int]:
        """Rank the messages for a question."""
        return [int(hit.id) for hit in self._hits(question, self._most)]

    def best_score(self, question: BenchQuestion) -> float:
        """Return how relevant the best message is; 0 where there is none."""
        return next((hit.score for hit in self._hits(question, 1)), 0.0)

    def _hits(self, question: BenchQuestion, limit: int) -> list[Hit]:
        view = self.memory.scope(user=question.asker) if question.asker == self._user else self.memory
        return view.search(question.text, kind="message", at=question.at, before=question.before, limit=limit)


class PlainWords:
    """BM25 as textbooks have it: lower case, stop words out, nothing else."""

    def __init__(self, scope: BenchScope, *, saturation: float = 1.2, length_share: float = 0.75) -> None:
        """Index all messages of a scope."""
        words = [self._words(message.text) for message in scope.messages]
        self._postings = _postings(words)
        lengths = np.array([len(terms) for terms in words], dtype=np.float64)
        mean = lengths.mean() if len(lengths) and lengths.any() else 1.0
        self._norm = saturation * (1 - length_share + length_share * lengths / mean)
        self._saturation = saturation

    def search(self, question: BenchQuestion) -> Sequence[int]:
        """Rank the messages for a question."""
        count = len(self._norm)
        total = np.zeros(count)
        for word in dict.fromkeys(self._words(question.text)):
            posting = self._postings.get(word)
            if posting is None:
                continue
            rows, times = posting.documents, posting.frequencies
            weight = math.log(1 + (count - len(rows) + 0.5) / (len(rows) + 0.5))
            total[rows] += weight * (self._saturation + 1) * times / (times + self._norm[rows])
        return np.argsort(-total, kind="stable").tolist()

    @staticmethod
    def _words(text: str) -> list[str]:
        return [word for word in re.findall(r"\w+", text.lower()) if word not in STOPWORDS["english"]]


class PlainVectors:
    """The embedder alone: messages by their cosine with the question."""

    def __init__(self, scope: BenchScope, embedder: Embedder) -> None:
        """Embed all messages of a scope; those without a vector are never found."""
        self._embedder = embedder
        vectors = embedder.embed([message.text for message in scope.messages])
        self._rows = np.array([row for row, vector in enumerate(vectors) if vector is not None], dtype=np.intp)
        present = [vector for vector in vectors if vector is not None]
        self._matrix = np.stack(present) if present else np.zeros((0, embedder.dimension), dtype=np.float32)

    def search(self, question: BenchQuestion) -> Sequence[int]:
        """Rank the messages for a question."""
        vector = embed_question(self._embedder, question.text)
        if vector is None:
            return []
        return self._rows[np.argsort(-np.vecdot(self._matrix, vector), kind="stable")].tolist()


class _MeasureTally:
    """Gathers measures of single questions."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._values: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
        self._questions: Counter[str] = Counter()
        self._times: list[float] = []

    def add(self, scope: BenchScope, question: BenchQuestion, ranked: Sequence[int], milliseconds: float) -> None:
        self._times.append(milliseconds)
        measures = {**session_measures(scope, question, ranked), **turn_measures(question, ranked)}
        for category in {ALL, question.category}:  # they may be the same
            self._questions[category] += 1
            for name, value in measures.items():
                self._values[category][name].append(value)

    def result(self) -> MethodQuality:
        return MethodQuality(
            name=self._name,
            questions=dict(self._questions),
            measures={
                category: {name: statistics.fmean(values) for name, values in measures.items()}
                for category, measures in self._values.items()
            },
            milliseconds=statistics.median(self._times) if self._times else 0.0,
        )


def _before(scope: BenchScope, question: BenchQuestion, ranked: Sequence[int]) -> Sequence[int]:
    """Return what was found without messages that the question may not know."""
    limit = question.before
    return ranked if limit is None else [index for index in ranked if scope.messages[index].time < limit]


def turn_measures(question: BenchQuestion, ranked: Sequence[int]) -> dict[str, float]:
    """Return the share of the evidence among the first messages; nothing where no message is known as evidence."""
    if not question.evidence:
        return {}
    return {f"recall@{cut}": len(question.evidence & set(ranked[:cut])) / len(question.evidence) for cut in _TURN_CUTS}


def session_measures(scope: BenchScope, question: BenchQuestion, ranked: Sequence[int]) -> dict[str, float]:
    """Return whether any and all sessions with evidence are among the first, and nDCG at ten."""
    if not question.sessions:
        return {}
    sessions = list(dict.fromkeys(scope.messages[index].session for index in ranked))
    measures = {f"any@{cut}": float(bool(question.sessions & set(sessions[:cut]))) for cut in _SESSION_CUTS}
    measures |= {f"all@{cut}": float(question.sessions <= set(sessions[:cut])) for cut in _SESSION_CUTS[1:]}
    gain = sum(1 / math.log2(2 + index) for index, name in enumerate(sessions[:10]) if name in question.sessions)
    ideal = sum(1 / math.log2(2 + index) for index in range(min(10, len(question.sessions))))
    return {**measures, "nDCG@10": gain / ideal}


def _postings(terms: Sequence[Sequence[str]]) -> dict[str, Postings]:
    occurrences_by_term: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for row, row_terms in enumerate(terms):
        for term, times in Counter(row_terms).items():
            occurrences_by_term[term].append((row, times))
    return {
        term: Postings(
            term=term,
            documents=np.array([row for row, _ in occurrences], dtype=np.intp),
            frequencies=np.array([times for _, times in occurrences], dtype=np.int32),
        )
        for term, occurrences in occurrences_by_term.items()
    }
