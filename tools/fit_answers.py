"""Fits the weights by which answers to questions for a state are told, and prints how they do on what they were not fitted to.

    tools/fit_answers.py [--lives FILE …] [--chats SHAPE:FILE …] [--ridge X] [--misses] [--write]

Every question of the lives and the chats is searched. First `learn/revise/answers.py` is fitted to find what answers among the hits,
then `learn/revise/succession.py` to tell which of two of them holds. What answers is known, in lives,
by the words of the answer, in chats (shapes as in `rememo bench quality`) by their evidence. Lives that are marked as held out
only judge.
"""

# ruff: noqa: T201, PLR2004 - it prints a report

import argparse
import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, cast

import numpy as np
from mix_lives import hurried, mixed
from numpy.typing import NDArray

from rememo.bench.datasets import Dataset, load
from rememo.bench.lives.data import load_lives
from rememo.bench.lives.doors import tell_messages
from rememo.bench.quality import StoredRecall
from rememo.engine.succession import Claim, StateQuestion
from rememo.learn.revise import answers, succession
from rememo.memory import Memory
from rememo.recall.analyze import Analyzer
from rememo.recall.embed.static import StaticEmbedder

ROOT = Path(__file__).parents[1]
ROOM = ROOT / "src/rememo/learn/revise"
LIVES = [str(ROOT / f"tests/data/{name}.jsonl") for name in ("lives", "plain_lives", "everyday_lives", "steady_lives")]
WEIGHT = {"steady_lives": 2.0}
"""How much a question counts by its file, where not once: in most lives that were written for this, something changes."""
TERMS = Analyzer("english").terms
EMBED = StaticEmbedder().embed
FOLDS = 5
Matrix = NDArray[Any]
Test = Callable[[str], bool]


@dataclass(frozen=True)
class Choice:
    """The claims that one question found: their features, their scores, and which answer it."""

    group: str
    """The questions of a group are fitted to together, or not at all."""
    rows: Matrix
    offsets: Matrix
    fits: Matrix
    weight: float = 1.0


@dataclass(frozen=True)
class Pair:
    """Two claims that were compared for a question: whether the later one takes the place of the earlier."""

    group: str
    question: str
    values: dict[str, float]
    succeeds: bool
    texts: tuple[str, str]


@dataclass
class Collector:
    """Takes the place of the model, and notes what it is asked."""

    weighed: bool
    """Whether utilities count, as they will when successions are judged."""
    question: StateQuestion | None = None
    claims: Sequence[Claim] = ()
    compared: list[tuple[StateQuestion, Claim, Claim]] = field(default_factory=list[tuple[StateQuestion, Claim, Claim]])

    def states(self, claim: Claim) -> bool:
        """Tell whether a claim states anything."""
        return bool(claim.text)

    def utilities(self, question: StateQuestion, claims: Sequence[Claim]) -> list[float]:
        """Note the claims."""
        self.question, self.claims = question, claims
        return answers.utilities(question, claims, terms_of=TERMS, embed=EMBED) if self.weighed else [0.0] * len(claims)

    def likelihood(self, question: StateQuestion, earlier: Claim, later: Claim) -> float:
        """Note a pair, and let everything stay as it is."""
        self.compared.append((question, earlier, later))
        return 0.0

    def choice(self, group: str, holds: Test) -> Choice | None:
        """Return the claims of the question; None where they teach nothing."""
        truth = np.array([holds(claim.text) for claim in self.claims], dtype=bool)
        if self.question is None or not truth.any() or truth.all():
            return None
        rows = answers.features(self.question, self.claims, terms_of=TERMS, embed=EMBED)
        scores = np.log([max(claim.score, answers.UNFOUND) for claim in self.claims])
        return Choice(
            group, answers.fade(self.question.terms) * np.array([list(row.values()) for row in rows]), scores, truth
        )

    def pairs(self, group: str, holds: Test, over: Test | None) -> Iterator[Pair]:
        """Give the pairs of which it is known whether the later claim took the place of the earlier.

        `over` tells what no longer holds; None where that is not known.
        """
        for question, earlier, later in self.compared:
            if holds(earlier.text):
                succeeds = False
            elif over is not None and holds(later.text):
                succeeds = over(earlier.text)
            else:
                continue
            values = succession.features(question, earlier, later, terms_of=TERMS)
            yield Pair(group, question.text, values, succeeds, (earlier.text, later.text))


@dataclass(frozen=True)
class Search:
    """One question as it was searched, and what answers it."""

    group: str
    found: Collector
    holds: Test
    over: Test | None
    """What no longer holds; None where that is not known."""
    past: bool
    """Whether it asks for what came before."""


def searches_of_lives(path: str, *, held_out: bool, weighed: bool) -> Iterator[Search]:
    """Ask all questions of lives."""
    for life in load_lives(path, held_out=held_out):
        with Memory(":memory:") as memory:
            tell_messages(memory, life.messages)
            for question in life.questions:
                collector = collect(memory, weighed=weighed)
                view = memory if question.user is None else memory.scope(user=question.user)
                view.search(question.text, at=question.at)
                yield Search(
                    f"{path} {life.name}",
                    collector,
                    says_one_of(question.holds),
                    says_one_of(question.outdated) if question.outdated else None,
                    past=question.about == "past",
                )


def collect(memory: Memory, *, weighed: bool) -> Collector:
    """Put a collector in the place of the model."""
    collector = Collector(weighed)
    memory._view.engine.__dict__["_succession"] = collector  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]
    return collector


def says_one_of(words: Sequence[str]) -> Test:
    """Return a test for texts that have one of some words."""
    return lambda text: any(word.casefold() in text.casefold() for word in words)


def nothing(text: str) -> bool:
    """Tell that a text still holds: next to nothing of what people tell each other is ever revised."""
    return not text


def searches_of_chats(shape: Dataset, path: str, *, weighed: bool) -> Iterator[Search]:
    """Ask all questions of real conversations, which ask for what is so."""
    embedder = StaticEmbedder()
    for number, scope in enumerate(load(shape, path)):
        with StoredRecall(scope, embedder, learn=True) as recall:
            for question in scope.questions:
                collector = collect(recall.memory, weighed=weighed)
                recall.search(question)
                if question.evidence:
                    gold = {scope.messages[place].text for place in question.evidence}
                else:
                    gold = {message.text for message in scope.messages if message.session in question.sessions}
                yield Search(f"{shape} {number} {question.text}", collector, gold.__contains__, nothing, past=False)


def fit_choices(choices: Sequence[Choice], ridge: float) -> Matrix:
    """Return the weights of a conditional logit beside the scores, by Newton's method with a ridge."""
    size = choices[0].rows.shape[1]
    found = np.zeros(size)
    for _ in range(60):
        slope, curve = ridge * found, (ridge + 1e-6) * np.eye(size)
        for choice in choices:
            likely = softmax(choice.offsets + choice.rows @ found)
            right = likely * choice.fits
            slope = slope + choice.weight * choice.rows.T @ (likely - right / max(right.sum(), 1e-12))
            mean = choice.rows.T @ likely
            curve = curve + choice.weight * ((choice.rows * likely[:, None]).T @ choice.rows - np.outer(mean, mean))
        step = np.clip(np.linalg.solve(curve, slope), -1, 1)
        found = found - step
        if np.abs(step).max() < 1e-5:
            break
    return found


def softmax(values: Matrix) -> Matrix:
    """Return values as shares of one."""
    shares = np.exp(values - values.max())
    return shares / shares.sum()


def chosen_rightly(choice: Choice, weights: Matrix) -> bool:
    """Tell whether the best claim is about what is asked."""
    return bool(choice.fits[np.argmax(choice.offsets + choice.rows @ weights)])


def fit_pairs(pairs: Sequence[Pair], ridge: float) -> Matrix:
    """Return the weights of a logistic model, by Newton's method with a ridge; every question counts alike."""
    names = list(pairs[0].values)
    rows = np.array([list(pair.values.values()) for pair in pairs])
    truth = np.array([pair.succeeds for pair in pairs], dtype=float)
    counts: dict[tuple[str, str], int] = defaultdict(int)
    for pair in pairs:
        counts[pair.group, pair.question] += 1
    weights = np.array([counts[pair.group, pair.question] ** -0.5 for pair in pairs])
    penalty = ridge * np.array([name != "always" for name in names], dtype=float)
    found = np.zeros(len(names))
    for _ in range(60):
        likely = 1 / (1 + np.exp(-np.clip(rows @ found, -30, 30)))
        slope = rows.T @ (weights * (likely - truth)) + penalty * found
        curve = (rows * (weights * likely * (1 - likely))[:, None]).T @ rows + np.diag(penalty + 1e-6)
        step = np.linalg.solve(curve, slope)
        found = found - step
        if np.abs(step).max() < 1e-6:
            break
    return found


def judge(pairs: Sequence[Pair], weights: Matrix) -> list[float]:
    """Return how likely each pair is a succession."""
    rows = np.array([list(pair.values.values()) for pair in pairs])
    return (1 / (1 + np.exp(-rows @ weights))).tolist() if len(pairs) else []


def folds_of(groups: Sequence[str]) -> dict[str, int]:
    """Deal groups into folds."""
    every = sorted(set(groups))
    return dict(zip(every, np.random.default_rng(0).integers(0, FOLDS, len(every)).tolist(), strict=True))


def searches(given: argparse.Namespace, *, weighed: bool, held_out: bool = False) -> dict[str, list[Search]]:
    """Ask everything that is fitted to, or that only judges."""
    paths = [*given.lives, *([] if held_out else [str(given.mixed)])]
    found = {Path(path).stem: list(searches_of_lives(path, held_out=held_out, weighed=weighed)) for path in paths}
    for text in () if held_out else given.chats:
        shape, path = text.split(":", 1)
        found[shape] = list(searches_of_chats(cast("Dataset", shape), path, weighed=weighed))
    return found


def report_answers(given: argparse.Namespace) -> dict[str, float]:
    """Fit the choice among claims, print how well it does, and return the weights by name."""

    def choices(*, held_out: bool) -> dict[str, list[Choice]]:
        asked = searches(given, weighed=False, held_out=held_out)
        return {
            name: [
                replace(choice, weight=WEIGHT.get(name, 1.0))
                for one in found
                if not one.past and (choice := one.found.choice(one.group, one.holds))
            ]
            for name, found in asked.items()
        }

    sets = choices(held_out=False)
    every = [choice for found in sets.values() for choice in found]
    folds = folds_of([choice.group for choice in every])
    apart = [
        fit_choices([choice for choice in every if folds[choice.group] != fold], given.ridge) for fold in range(FOLDS)
    ]
    weights = fit_choices(every, given.ridge)
    for name, found in sets.items():
        before = sum(chosen_rightly(choice, np.zeros(len(weights))) for choice in found)
        after = sum(chosen_rightly(choice, apart[folds[choice.group]]) for choice in found)
        print(f"answers, {name}: {before} of {len(found)} by score, {after} by the model")
    for name, found in choices(held_out=True).items():
        before = sum(chosen_rightly(choice, np.zeros(len(weights))) for choice in found)
        print(
            f"answers, {name}, held out: {before} of {len(found)}, {sum(chosen_rightly(one, weights) for one in found)}"
        )
    names = answers.features(StateQuestion(text="?"), [Claim(text="", at=datetime.now(UTC), score=1)], terms_of=TERMS)[
        0
    ]
    return dict(zip(names, weights.tolist(), strict=True))


def report_succession(given: argparse.Namespace) -> dict[str, float]:
    """Fit succession under these, print how it does, and return the weights by name."""

    def pairs(*, held_out: bool) -> dict[str, list[Pair]]:
        asked = searches(given, weighed=True, held_out=held_out)
        return {
            name: [pair for one in found if not one.past for pair in one.found.pairs(one.group, one.holds, one.over)]
            for name, found in asked.items()
        }

    sets = pairs(held_out=False)
    every = [pair for found in sets.values() for pair in found]
    folds = folds_of([pair.group for pair in every])
    apart: dict[int, float] = {}
    for fold in range(FOLDS):
        weights = fit_pairs([pair for pair in every if folds[pair.group] != fold], given.ridge)
        test = [pair for pair in every if folds[pair.group] == fold]
        apart |= {id(pair): value for pair, value in zip(test, judge(test, weights), strict=True)}
    weights = fit_pairs(every, given.ridge)
    scores = {name: [(apart[id(pair)], pair) for pair in found] for name, found in sets.items()}
    for name, found in pairs(held_out=True).items():
        scores[f"{name}, held out"] = list(zip(judge(found, weights), found, strict=True))
    for name, found in scores.items():
        print(f"succession, {name}: {len(found)} pairs, {sum(pair.succeeds for _, pair in found)} successions")
        for least in (0.3, 0.4, 0.5, 0.6, 0.7, 0.8):
            above = [pair.succeeds for value, pair in found if value >= least]
            print(f"  {least}: {sum(above)} rightly, {len(above) - sum(above)} wrongly")
    if given.misses:
        for value, pair in sorted((one for name in sets for one in scores[name]), key=lambda one: one[0]):
            if (value >= 0.6) != pair.succeeds:
                print(f"{value:.2f} {pair.succeeds} {pair.question} | {pair.texts[0][:110]} => {pair.texts[1][:140]}")
    return dict(zip(every[0].values, weights.tolist(), strict=True))


def write(module: str, weights: dict[str, float]) -> None:
    """Put weights into a module."""
    path = ROOM / f"{module}.py"
    lines = "".join(f'    "{name}": {weight:.2f},\n' for name, weight in weights.items())
    path.write_text(
        re.sub(r"(?ms)^WEIGHTS: .*\Z", f"WEIGHTS: Final[Mapping[str, float]] = {{\n{lines}}}\n", path.read_text())
    )


def main() -> None:
    """Fit, print, and write if asked to."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lives", nargs="*", default=LIVES)
    parser.add_argument("--chats", nargs="*", default=[])
    parser.add_argument("--ridge", type=float, default=1.0)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--misses", action="store_true")
    given = parser.parse_args()
    with TemporaryDirectory() as folder:
        given.mixed = Path(folder, "mixed_lives.jsonl")
        lives = [*mixed(given.lives), *(life for path in given.lives[1:] for life in hurried(path))]
        given.mixed.write_text("\n".join(json.dumps(life) for life in lives), "utf-8")
        fit(given)


def fit(given: argparse.Namespace) -> None:
    """Fit both models, one on top of the other."""
    found = report_answers(given)
    answers.WEIGHTS = found  # pyright: ignore[reportConstantRedefinition, reportAttributeAccessIssue] - what follows stands on it
    if given.write:
        write("answers", found)
    found = report_succession(given)
    if given.write:
        write("succession", found)


if __name__ == "__main__":
    main()
