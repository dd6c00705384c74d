"""Judging: whether the first hit and the context say what holds, through every door of a memory.

The first hit is right if its text, or a text it was learned from, has one of the words that hold. A context is right if it has
one of them and, where the question is about now, no line that has an outdated word without one that holds.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from rememo.bench.lives.data import LifeQuestion, load_lives
from rememo.bench.lives.doors import DOORS, Answered, open_door
from rememo.bench.lives.merge import merge_lives
from rememo.bench.qa import wilson
from rememo.bench.report import Report, align
from rememo.errors import InvalidInput, MissingExtra

_HITS_LISTED: Final = 3
"""How many hits are listed with a question that failed."""


@dataclass(slots=True, kw_only=True)
class Share:
    """How many of some questions were answered rightly."""

    right: int = 0
    questions: int = 0

    def add(self, *, right: bool) -> None:
        """Count a question."""
        self.right += right
        self.questions += 1

    def __str__(self) -> str:
        """Return it with the percentage and its 95 % interval."""
        if not self.questions:
            return "none asked"
        low, high = wilson(self.right, self.questions)
        share = self.right / self.questions
        return f"{self.right}/{self.questions} {100 * share:.1f} % ({100 * low:.1f} - {100 * high:.1f})"


@dataclass(slots=True, kw_only=True)
class DoorScores:
    """What came out through one door; `missing` says why nothing could."""

    door: str
    shares: dict[str, Share] = field(default_factory=dict[str, Share])
    """By what is judged and what the question is about: ``first now``, ``first past``, ``context now``, ``context past``."""
    misses: list[str] = field(default_factory=list[str])
    missing: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LivesReport(Report):
    """What came out through all doors."""

    lives: int
    doors: tuple[DoorScores, ...]

    def table(self, *, misses: bool = False) -> str:
        """Return a line for each door, with 95 % intervals (Wilson); with ``misses`` the questions that failed too."""
        lines = [["door", "first hit now", "first hit past", "context now", "context past"]]
        lines += [[door.door, *map(str, door.shares.values())] for door in self.doors if door.missing is None]
        rows = [align(lines, names=len(lines[0]))]
        rows += [f"{door.door}: not measured: {door.missing}" for door in self.doors if door.missing is not None]
        if misses:
            rows += [f"{door.door}: {miss}" for door in self.doors for miss in door.misses]
        return "\n".join([f"{self.lives} lives; 95 % intervals in brackets", *rows])


def measure(
    path: str | Path,
    *,
    doors: Sequence[str] = ("python",),
    held_out: bool | None = None,
    together: int = 1,
    environments: dict[str, Path] | None = None,
    progress: Callable[[str], object] = lambda _: None,
) -> LivesReport:
    """Tell every life through every door, ask its questions there, and judge the answers.

    `together` tells so many lives as if one person had lived them. `environments` are the interpreters that have the packages of others, by door. Where several doors are wanted and one
    cannot be opened, the report says so and how to mend it; a single one raises `MissingExtra`.
    """
    if unknown := [door for door in doors if door not in DOORS]:
        raise InvalidInput(f"there is no door {', '.join(unknown)}; there are {', '.join(DOORS)}")
    lives = list(load_lives(path, held_out=held_out))
    if together > 1:
        lives = list(merge_lives(lives, together))
    reports: list[DoorScores] = []
    for name in doors:
        scores = DoorScores(door=name)
        for judged in ("first", "context"):
            for about in ("now", "past"):
                scores.shares[f"{judged} {about}"] = Share()
        try:
            with open_door(name, lives, (environments or {}).get(name)) as door:
                for number, life in enumerate(lives, 1):
                    progress(f"{name}: {number} of {len(lives)}")
                    door.tell(life)
                    for question in life.questions:
                        _judge(scores, life.name, question, door.ask(life, question))
        except MissingExtra as error:
            if len(doors) == 1:
                raise
            scores.missing = str(error)
        reports.append(scores)
    return LivesReport(lives=len(lives), doors=tuple(reports))


def _judge(scores: DoorScores, life: str, question: LifeQuestion, answered: Answered) -> None:
    first = bool(answered.hits) and _has(answered.hits[0], question.holds)
    outdated = [] if question.about == "past" else _outdated(answered.context, question)
    correct = _has(answered.context, question.holds) and not outdated
    scores.shares[f"first {question.about}"].add(right=first)
    scores.shares[f"context {question.about}"].add(right=correct)
    if first and correct:
        return
    failed = " and ".join(name for name, right in (("first hit", first), ("context", correct)) if not right)
    lines = [f"{life}: {question.text} ({question.about}; holds: {', '.join(question.holds)}): {failed}"]
    lines += [f"    hit {rank}: {hit}" for rank, hit in enumerate(answered.hits[:_HITS_LISTED], 1)]
    lines += [f"    outdated: {line}" for line in outdated]
    scores.misses.append("\n".join(lines))


def _outdated(context: str, question: LifeQuestion) -> list[str]:
    """Return the lines that say what no longer holds and not what does."""
    return [line for line in context.splitlines() if _has(line, question.outdated) and not _has(line, question.holds)]


def _has(text: str, words: Sequence[str]) -> bool:
    folded = text.casefold()
    return any(word.casefold() in folded for word in words)
