"""Fits the weights of learn/revise/succession.py and prints how they do on what they were not fitted to.

    tools/fit_succession.py [--lives FILE] [--chats SHAPE:FILE …] [--ridge X] [--misses] [--write]

Every question of the lives and the chats is searched, and each pair of statements that was compared for it is judged by what
answers it: in lives by the words of the answer, in chats (shapes as in `rememo bench quality`) by their evidence. Lives that are
marked as held out only judge.
"""

# ruff: noqa: T201, PLR2004 - it prints a report

import argparse
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from rememo.bench.datasets import Dataset, load
from rememo.bench.lives.data import load_lives
from rememo.bench.lives.doors import tell_messages
from rememo.bench.quality import StoredRecall
from rememo.engine.succession import Claim
from rememo.learn.revise.succession import features
from rememo.memory import Memory
from rememo.recall.analyze import Analyzer
from rememo.recall.embed.static import StaticEmbedder
from rememo.recall.time import find_times

ROOT = Path(__file__).parents[1]
TARGET = ROOT / "src/rememo/learn/revise/succession.py"
LIVES = ROOT / "tests/data/lives.jsonl"
TERMS = Analyzer("english").terms
FOLDS = 5
Matrix = NDArray[Any]


@dataclass(frozen=True)
class Pair:
    """Two claims that were compared for a question: whether the later one takes the place of the earlier."""

    group: str
    """The questions of a group are fitted to together, or not at all."""
    question: str
    values: dict[str, float]
    succeeds: bool
    texts: tuple[str, str]


class Recorder:
    """Notes what is compared, and lets everything stay as it is."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self.compared: list[tuple[str, Claim, Claim, int]] = []

    def likelihood(self, question: str, earlier: Claim, later: Claim, *, size: int) -> float:
        """Note a pair."""
        self.compared.append((question, earlier, later, size))
        return 0.0

    def pairs(self, group: str, holds: Callable[[str], bool], *, past: bool) -> Iterator[Pair]:
        """Give the pairs of one question of which one claim answers it and the other does not, and forget them.

        Only those whose order would change: the others are in order whatever the model says.
        """
        for question, earlier, later, size in self.compared:
            before, after = holds(earlier.text), holds(later.text)
            if before != after and (earlier.score >= later.score) != past:
                values = features(question, earlier, later, terms_of=TERMS, size=size)
                yield Pair(group, question, values, after != past, (earlier.text, later.text))
        self.compared.clear()


def pairs_of_lives(path: str, *, held_out: bool) -> Iterator[Pair]:
    """Give the pairs of all questions of lives."""
    for life in load_lives(path, held_out=held_out):
        recorder = Recorder()
        with Memory(":memory:") as memory:
            memory._view.engine.compares = lambda _, recorder=recorder: recorder  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]
            tell_messages(memory, life.messages)
            for question in life.questions:
                view = memory if question.user is None else memory.scope(user=question.user)
                view.search(question.text, at=question.at)
                yield from recorder.pairs(
                    life.name,
                    partial(says_one_of, question.holds),
                    past=question.about == "past" and not find_times(question.text, question.at),
                )


def says_one_of(words: Sequence[str], text: str) -> bool:
    """Tell whether a text has one of some words."""
    return any(word.casefold() in text.casefold() for word in words)


def pairs_of_chats(shape: Dataset, path: str) -> Iterator[Pair]:
    """Give the pairs of all questions of real conversations, which ask for what is so."""
    embedder = StaticEmbedder()
    for number, scope in enumerate(load(shape, path)):
        recorder = Recorder()
        with StoredRecall(scope, embedder, learn=True) as recall:
            recall.memory._view.engine.compares = lambda _, recorder=recorder: recorder  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]
            for question in scope.questions:
                recorder.compared.clear()
                recall.search(question)
                if question.evidence:
                    gold = {scope.messages[place].text for place in question.evidence}
                else:
                    gold = {message.text for message in scope.messages if message.session in question.sessions}
                yield from recorder.pairs(f"{shape} {number} {question.text}", gold.__contains__, past=False)


def fit(pairs: Sequence[Pair], ridge: float) -> Matrix:
    """Return the weights that fit some pairs, by Newton's method with a ridge; every group counts alike."""
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


def judge(pairs: Sequence[Pair], weights: Matrix) -> Matrix:
    """Return how likely each pair is a succession."""
    if not pairs:
        return np.zeros(0)
    return 1 / (1 + np.exp(-np.array([list(pair.values.values()) for pair in pairs]) @ weights))


def main() -> None:
    """Fit, print, and write if asked to."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lives", default=str(LIVES))
    parser.add_argument("--chats", nargs="*", default=[])
    parser.add_argument("--ridge", type=float, default=1.0)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--misses", action="store_true")
    given = parser.parse_args()
    sets = {"lives": list(pairs_of_lives(given.lives, held_out=False))}
    for text in given.chats:
        shape, path = text.split(":", 1)
        sets[shape] = list(pairs_of_chats(cast("Dataset", shape), path))
    judged = list(pairs_of_lives(given.lives, held_out=True))
    every = [pair for pairs in sets.values() for pair in pairs]
    groups = sorted({pair.group for pair in every})
    fold_of = dict(zip(groups, np.random.default_rng(0).integers(0, FOLDS, len(groups)).tolist(), strict=True))
    apart: dict[int, float] = {}
    for fold in range(FOLDS):
        weights = fit([pair for pair in every if fold_of[pair.group] != fold], given.ridge)
        test = [pair for pair in every if fold_of[pair.group] == fold]
        apart |= {id(pair): value for pair, value in zip(test, judge(test, weights).tolist(), strict=True)}
    weights = fit(every, given.ridge)
    scores = {name: [(apart[id(pair)], pair) for pair in pairs] for name, pairs in sets.items()}
    scores["held out"] = list(zip(judge(judged, weights).tolist(), judged, strict=True))
    for name, found in scores.items():
        print(f"{name}: {len(found)} pairs, {sum(pair.succeeds for _, pair in found)} successions")
        for least in (0.3, 0.4, 0.5, 0.6, 0.7, 0.8):
            above = [pair.succeeds for value, pair in found if value >= least]
            print(f"  {least}: {sum(above)} rightly, {len(above) - sum(above)} wrongly")
    if given.misses:
        for value, pair in sorted(scores["lives"], key=lambda found: found[0]):
            if (value >= 0.6) != pair.succeeds:
                print(f"{value:.2f} {pair.succeeds} {pair.question} | {pair.texts[0][:110]} => {pair.texts[1][:140]}")
    lines = "".join(f'    "{name}": {weight:.2f},\n' for name, weight in zip(every[0].values, weights, strict=True))
    print(lines)
    if given.write:
        text = TARGET.read_text()
        text = re.sub(r"(?ms)^WEIGHTS: .*\Z", f"WEIGHTS: Final[Mapping[str, float]] = {{\n{lines}}}\n", text)
        TARGET.write_text(text)


if __name__ == "__main__":
    main()
