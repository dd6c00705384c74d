"""How well what is said later ends what it contradicts, without a model, on a labelled file.

Each line of the file is a short life: ``messages`` (``speaker``, ``at``, ``text``, in their order), ``ended`` (facts that would
hold at the end had a later one not been said), ``holds`` (facts that hold then) and ``held_out`` for the part the rules
were not tuned on. A fact has ``subject``, ``predicate`` and ``object`` (or a list of objects that are as good).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from rememo.bench.labelled_rows import read_labelled_rows
from rememo.extract import extract
from rememo.learn.oppositions import SubjectPredicate, arrange_all
from rememo.learn.statements import Statement, folded
from rememo.model.fact import Source
from rememo.model.scope import Scope

_AHEAD = frozenset({"plans", "appointment", "event"})
"""Predicates that hold before their time."""
FactTriple = tuple[str, str, str]
"""A fact that holds: subject, predicate and object, as they are compared."""


@dataclass(slots=True, kw_only=True)
class ContradictionScores:
    """Counts over a labelled file; a ratio is 1.0 where nothing was to be counted."""

    lives: int = 0
    right: int = 0
    """Facts that ended and were to end."""
    missed: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    """The life, and a fact that should have ended in it."""
    wrong: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    """The life, and a fact that ended in it and should not have."""
    kept: int = 0
    lost: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    """The life, and a fact that should hold at its end and does not."""

    @property
    def recall(self) -> float:
        """Share of the facts to end that ended."""
        return _share(self.right, len(self.missed))

    @property
    def precision(self) -> float:
        """Share of the ended facts that were to end."""
        return _share(self.right, len(self.wrong))

    @property
    def holding(self) -> float:
        """Share of the facts that should hold at the end and do."""
        return _share(self.kept, len(self.lost))

    def table(self, *, details: bool = False) -> str:
        """Return the figures in a line; with ``details`` every mistake too."""
        lines = [
            f"{self.lives} lives   ended: precision {self.precision:.3f}   recall {self.recall:.3f}   holding {self.holding:.3f}"
        ]
        if details:
            for name, mistakes in (("missed", self.missed), ("wrong", self.wrong), ("lost", self.lost)):
                lines += [f"{name:<8}{fact}   in: {life}" for life, fact in mistakes]
        return "\n".join(lines)


def _share(good: int, bad: int) -> float:
    return good / (good + bad) if good + bad else 1.0


def measure(path: str | Path, *, held_out: bool | None = None) -> ContradictionScores:
    """Read every life of a labelled file and count. ``held_out`` chooses one part; None takes both."""
    scores = ContradictionScores()
    for row in read_labelled_rows(path, held_out=held_out):
        _score(scores, row)
    return scores


def _score(scores: ContradictionScores, row: dict[str, Any]) -> None:
    life = " / ".join(message["text"] for message in row["messages"])
    messages = row["messages"]
    last = datetime.fromisoformat(messages[-1]["at"])
    now = facts_holding_at(messages, last)
    ended = {fact for count in range(1, len(messages)) for fact in facts_holding_at(messages[:count], last)} - now
    scores.lives += 1
    for label in row["ended"]:
        hits = {fact for fact in ended if _matches_label(fact, label)}
        scores.right += bool(hits)
        ended -= hits
        if not hits:
            scores.missed.append((life, _format_label(label)))
    scores.wrong += [(life, " ".join(fact)) for fact in sorted(ended)]
    for label in row["holds"]:
        if any(_matches_label(fact, label) for fact in now):
            scores.kept += 1
        else:
            scores.lost.append((life, _format_label(label)))


def facts_holding_at(messages: Sequence[Mapping[str, str]], time: datetime) -> set[FactTriple]:
    """Return the facts that hold at a moment when no more than some messages were said."""
    statements: dict[SubjectPredicate, list[Statement]] = {}
    for number, message in enumerate(messages):
        at = datetime.fromisoformat(message["at"])
        earlier_texts = [earlier["text"] for earlier in messages[:number] if earlier["speaker"] == message["speaker"]]
        previous = "\n".join(earlier_texts[-3:]) or None
        for fact in extract(message["text"], speaker=message["speaker"], at=at, previous=previous):
            subject_predicate = folded(fact.subject), fact.predicate
            statements.setdefault(subject_predicate, []).append(
                Statement(
                    object=fact.object, said=at, known=at, scope=Scope(user=message["speaker"]), confidence=fact.confidence,
                    source=Source(str(number), 1), begin=fact.valid_from, end=fact.valid_to, ends=fact.ends,
                    corrects=fact.corrects, kind=fact.kind,
                )
            )  # fmt: skip
    return {
        (*subject_predicate, run.object)
        for subject_predicate, runs in arrange_all(statements).items()
        for run in runs
        if run.status != "retracted"
        and (run.valid_to is None or run.valid_to > time or run.status != "superseded")
        and (run.valid_from is None or run.valid_from <= time or subject_predicate[1] in _AHEAD)
    }


def _matches_label(fact: FactTriple, label: dict[str, Any]) -> bool:
    objects = [label["object"]] if isinstance(label["object"], str) else label["object"]
    return fact[:2] == (folded(label["subject"]), label["predicate"]) and fact[2] in [folded(name) for name in objects]


def _format_label(label: dict[str, Any]) -> str:
    return f"{label['subject']} {label['predicate']} {label['object']}"
