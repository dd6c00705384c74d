"""How well facts are found without a model, on a labelled file.

Each line of the file is one message: ``speaker``, ``at``, ``text``, ``facts`` (what it states; none for a negative) and
``held_out`` for the part the rules were not tuned on. A labelled fact has ``subject``, ``predicate``, ``object`` (each one or a
list of those that are as good), and may have ``valid_from``/``valid_to`` (the beginning of an ISO time, or several), ``ends``, and
``optional``: finding it is right, missing it is no miss.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from rememo.bench.labelled_rows import read_labelled_rows
from rememo.extract import ExtractedFact, extract
from rememo.extract.predicates import normalise_object


@dataclass(slots=True, kw_only=True)
class FactScores:
    """Counts over a labelled file; the ratios are 1.0 where nothing was to be found or nothing was."""

    messages: int = 0
    right: Counter[str] = field(default_factory=Counter[str])
    """Expected and found, by predicate."""
    missed: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    """Text and the fact that was not found in it."""
    invented: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    """Text and the fact that it does not state."""
    missed_by: Counter[str] = field(default_factory=Counter[str])
    invented_by: Counter[str] = field(default_factory=Counter[str])

    @property
    def precision(self) -> float:
        """Share of the found facts that are right."""
        extracted = self.right.total() + len(self.invented)
        return self.right.total() / extracted if extracted else 1.0

    @property
    def recall(self) -> float:
        """Share of the stated facts that were found."""
        stated = self.right.total() + len(self.missed)
        return self.right.total() / stated if stated else 1.0

    @property
    def f1(self) -> float:
        """The harmonic mean of both."""
        total = self.precision + self.recall
        return 2 * self.precision * self.recall / total if total else 0.0

    def table(self, *, details: bool = False) -> str:
        """Return a plain table by predicate; with ``details`` every miss and invention too."""
        lines = [
            f"{self.messages} messages   precision {self.precision:.3f}   recall {self.recall:.3f}   F1 {self.f1:.3f}",
            f"{'predicate':<20}{'right':>7}{'missed':>8}{'invented':>10}",
        ]
        names = sorted(self.right.keys() | self.missed_by.keys() | self.invented_by.keys())
        lines += [
            f"{name:<20}{self.right[name]:>7}{self.missed_by[name]:>8}{self.invented_by[name]:>10}" for name in names
        ]
        if details:
            lines += [f"missed    {fact}   in: {text!r}" for text, fact in self.missed]
            lines += [f"invented  {fact}   in: {text!r}" for text, fact in self.invented]
        return "\n".join(lines)


def measure(path: str | Path, *, held_out: bool | None = None) -> FactScores:
    """Extract from every message of a labelled file and count. ``held_out`` chooses one part; None takes both."""
    scores = FactScores()
    for row in read_labelled_rows(path, held_out=held_out):
        _score(scores, row)
    return scores


def _score(scores: FactScores, row: dict[str, Any]) -> None:
    text: str = row["text"]
    extracted = extract(
        text,
        speaker=row["speaker"],
        at=datetime.fromisoformat(row["at"]),
        addressee=row.get("addressee"),
        previous=row.get("previous"),
    )
    scores.messages += 1
    unmatched = list(extracted)
    for label in row["facts"]:
        hit = next((fact for fact in unmatched if _same(fact, label)), None)
        if hit is not None:
            unmatched.remove(hit)
            scores.right[hit.predicate] += 1
        elif not label.get("optional"):
            scores.missed.append((text, _format_label(label)))
            scores.missed_by[next(iter(_choices(label["predicate"])))] += 1
    for fact in unmatched:
        if not any(_same(fact, label) for label in row["facts"]):
            scores.invented.append(
                (
                    text,
                    f"{fact.subject} {fact.predicate} {fact.object}{' (ends)' if fact.ends else ''} {fact.valid_from} {fact.valid_to}",
                )
            )
            scores.invented_by[fact.predicate] += 1


def _same(fact: ExtractedFact, label: dict[str, Any]) -> bool:
    return (
        fact.subject.casefold() in [choice.casefold() for choice in _choices(label["subject"])]
        and fact.predicate in _choices(label["predicate"])
        and fact.object.casefold()
        in [(normalise_object(choice) or choice).casefold() for choice in _choices(label["object"])]
        and fact.ends == bool(label.get("ends"))
        and _begins_with(fact.valid_from, label.get("valid_from"))
        and _begins_with(fact.valid_to, label.get("valid_to"))
    )


def _choices(value: str | list[str]) -> Iterable[str]:
    return [value] if isinstance(value, str) else value


def _begins_with(actual: datetime | None, expected: str | list[str] | None) -> bool:
    return expected is None or (
        actual is not None and any(actual.isoformat().startswith(choice) for choice in _choices(expected))
    )


def _format_label(label: dict[str, Any]) -> str:
    return f"{label['subject']} {label['predicate']} {label['object']}{' (ends)' if label.get('ends') else ''} {label.get('valid_from', '')}"
