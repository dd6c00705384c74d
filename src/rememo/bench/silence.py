"""Silence: how often a memory speaks where it has an answer, and where it was asked about somebody else's life.

Every scope of a dataset is asked its own questions, and questions of the other scopes. A memory speaks if its best hit is as
relevant as the floor. What is wanted is that nearly all of its own questions are answered and few of the others. Some sets
have questions that any scope can say something to ("what should I cook tonight?"), so each is printed by itself.
"""

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final, Literal, TypeAlias

from rememo.bench.datasets import BenchQuestion, BenchScope, Dataset, load
from rememo.bench.lives.data import Life, load_lives
from rememo.bench.lives.doors import tell_messages
from rememo.bench.qa import wilson
from rememo.bench.quality import StoredRecall
from rememo.bench.report import Report, align
from rememo.memory import Memory
from rememo.recall.embed.static import StaticEmbedder
from rememo.recall.relevance import FLOOR

Shape: TypeAlias = Literal["lives", "longmemeval", "locomo", "realmem", "jsonl"]
_MOST: Final = 200
"""How many questions of either kind a scope is asked."""
_UNFAIR: Final = "adversarial"
"""A category of questions that name the wrong person on purpose: they are neither its own nor another's."""
_SHARE: Final = 0.95
"""The share of answerable questions that must be answered."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SilenceReport(Report):
    """The best scores of the questions of one dataset."""

    dataset: str
    own: tuple[float, ...]
    """Of questions that the scope answers."""
    foreign: tuple[float, ...]
    """Of questions of other scopes."""
    floor: float

    def table(self) -> str:
        """Return how often the memory speaks at the floor and beside it, with 95 % intervals (Wilson)."""
        least = sorted(self.own)[int((1 - _SHARE) * len(self.own))] if self.own else 0.0
        floors = [("floor", self.floor), (f"{100 * _SHARE:.0f} % answered", least)]
        floors += [("", step / 20) for step in range(6, 13)]
        lines = [["", "threshold", "answerable: speaks", "foreign: speaks"]]
        for name, threshold in floors:
            lines.append([name, f"{threshold:.2f}", _share(self.own, threshold), _share(self.foreign, threshold)])
        return "\n".join(
            [
                f"{self.dataset}: {len(self.own)} answerable questions, {len(self.foreign)} foreign",
                align(lines, names=len(lines[0])),
            ]
        )


def _share(scores: Sequence[float], threshold: float) -> str:
    speaking = sum(score >= threshold and score > 0 for score in scores)
    low, high = wilson(speaking, len(scores))
    return f"{100 * speaking / max(1, len(scores)):.1f} % ({100 * low:.1f} - {100 * high:.1f})"


def measure(
    shape: Shape,
    path: str | Path,
    *,
    held_out: bool | None = None,
    most: int = _MOST,
    floor: float = FLOOR,
    progress: Callable[[int], None] | None = None,
) -> SilenceReport:
    """Ask every scope of a file its own questions and those of others, at most `most` of each, chosen by lot but always alike."""
    rng = random.Random(1)
    own: list[float] = []
    foreign: list[float] = []
    cases = _lives(path, rng, most, held_out) if shape == "lives" else _scopes(shape, path, rng, most)
    for number, (is_own, score) in enumerate(cases, 1):
        (own if is_own else foreign).append(score)
        if progress is not None:
            progress(number)
    return SilenceReport(dataset=f"{Path(path).name} ({shape})", own=tuple(own), foreign=tuple(foreign), floor=floor)


def _scopes(dataset: Dataset, path: str | Path, rng: random.Random, most: int) -> Iterator[tuple[bool, float]]:
    scopes = list(load(dataset, path))
    embedder = StaticEmbedder()
    for scope in scopes:
        others = [question for other in scopes if other is not scope for question in other.questions]
        # A scope with one question is asked a few of the others': each of them costs as much as storing it all.
        few = min(most, max(4, len(scope.questions)))
        end = max(message.time for message in scope.messages)
        with StoredRecall(scope, embedder) as recall:
            for question in _chosen(scope.questions, rng, few):
                yield True, recall.best_score(question)
            for question in _chosen(others, rng, few):
                yield False, recall.best_score(_moved(question, scope, end))


def _moved(question: BenchQuestion, scope: BenchScope, at: datetime) -> BenchQuestion:
    """Return a question as it is asked at the end of another scope."""
    asker = next((own.asker for own in scope.questions), None)
    return BenchQuestion(
        text=question.text, at=at, category=question.category, evidence=frozenset(), sessions=frozenset(), asker=asker
    )


def _chosen(questions: Sequence[BenchQuestion], rng: random.Random, most: int) -> list[BenchQuestion]:
    fair = [question for question in questions if question.category != _UNFAIR]
    return rng.sample(fair, min(most, len(fair)))


def _lives(path: str | Path, rng: random.Random, most: int, held_out: bool | None) -> Iterator[tuple[bool, float]]:
    lives = list(load_lives(path, held_out=held_out))
    for life in lives:
        others = [question for other in lives if other is not life for question in other.questions]
        with Memory(":memory:") as memory:
            tell_messages(memory, life.messages)
            for question in life.questions:
                yield True, _best(memory, question.text, question.user, question.at)
            for question in rng.sample(others, min(most, 8, len(others))):
                yield False, _best(memory, question.text, _user_name(life, question.user), life.questions[-1].at)


def _user_name(life: Life, user: str | None) -> str | None:
    return None if user is None else life.messages[0].user


def _best(memory: Memory, text: str, user: str | None, at: datetime) -> float:
    view = memory if user is None else memory.scope(user=user)
    hits = view.search(text, at=at, limit=1)
    return hits[0].score if hits else 0.0
