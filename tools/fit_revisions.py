"""Fits the weights of learn/revise/likelihood.py and prints how they do on lives that they were not fitted to.

    tools/fit_revisions.py [--lives FILE] [--chats SHAPE:FILE …] [--misses] [--write]

Lives are small histories with questions that tell which statement holds and which is outdated; those marked as held out only
judge. Chats are real conversations (shapes as in `rememo bench quality`), of which every pair of statements counts as not
revised. A pair of messages is as likely as its likeliest pair of sentences, so that is chosen anew with the weights.
"""

# ruff: noqa: T201, PLR2004 - it prints a report, and tells levels of likelihood

import argparse
import json
import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rememo.bench.datasets import Dataset, load
from rememo.learn.revise.likelihood import Circumstances, features
from rememo.learn.revise.sentence import Sentence
from rememo.recall.analyze import Analyzer
from rememo.text.prose import own_sentences

ROOT = Path(__file__).parents[1]
TARGET = ROOT / "src/rememo/learn/revise/likelihood.py"
LIVES = ROOT / "tests/data/lives.jsonl"
TERMS = Analyzer("english").terms
FOLDS, ROUNDS, RIDGE = 5, 6, 1.0
LONGEST = 400
CHAT_WEIGHT, CHAT_SHARE, CHAT_SCOPES = 0.5, 0.1, 6
"""What a pair of a chat weighs beside one of a life, and what part of the chats' messages is looked at."""
NAMES = tuple(features(Sentence("x", TERMS), Sentence("y", TERMS), Circumstances()))
Matrix = NDArray[Any]


@dataclass(frozen=True)
class Pair:
    """Two messages of one person: whether the later revises the earlier, and the features of their sentences' pairs."""

    revised: bool
    rows: Matrix
    texts: tuple[str, str]


def sentences(text: str) -> list[Sentence]:
    """Return the sentences of a text that state something."""
    return [Sentence(text[begin:end].strip(), TERMS) for begin, end in own_sentences(text) if end - begin <= LONGEST]


def pair(earlier: str, later: str, gap: timedelta, *, same_room: bool, last: bool, revised: bool) -> Pair | None:
    """Return two messages with the features of all pairs of their sentences; None where one states nothing."""
    after = sentences(later)
    rows: list[list[float]] = []
    for place, sentence in enumerate(after):
        circumstances = Circumstances(
            recent=same_room and gap <= timedelta(days=2),
            adjacent=last and gap <= timedelta(hours=1),
            announced=any(other.tells_change for number, other in enumerate(after) if number != place),
        )
        rows += [
            list(features(sentence, before, circumstances).values())
            for before in sentences(earlier)
            if before.terms and before.plain != sentence.plain
        ]
    return Pair(revised, np.array(rows), (earlier, later)) if rows else None


def pairs_of_life(life: dict[str, Any]) -> Iterator[Pair]:
    """Give every pair of messages of one person in a life."""
    messages = [message for message in life["messages"] if message["role"] == "user"]
    revised: set[tuple[int, int]] = set()
    for question in life["questions"]:
        if question["about"] == "now" and question["outdated"]:
            old = [place for place, message in enumerate(messages) if has(message["text"], question["outdated"])]
            new = [place for place, message in enumerate(messages) if has(message["text"], question["holds"])]
            revised |= {(before, after) for before in old for after in new if before < after}
    for after, later in enumerate(messages):
        own = [place for place in range(after) if messages[place]["user"] == later["user"]]
        for before in own:
            earlier = messages[before]
            gap = datetime.fromisoformat(later["at"]) - datetime.fromisoformat(earlier["at"])
            found = pair(
                earlier["text"], later["text"], gap, same_room=earlier["room"] == later["room"], last=before == own[-1],
                revised=(before, after) in revised,
            )  # fmt: skip
            if found is not None:
                yield found


def has(text: str, wanted: Sequence[str]) -> bool:
    """Tell whether a text has one of some strings."""
    return any(phrase.lower() in text.lower() for phrase in wanted)


def pairs_of_chats(shape: Dataset, path: str) -> Iterator[Pair]:
    """Give pairs of messages of real conversations: those that share most terms, and neighbours."""
    chosen = random.Random(1)  # noqa: S311 - a sample that is the same every time
    for _, scope in zip(range(CHAT_SCOPES), load(shape, path), strict=False):
        by_speaker: dict[str, list[Any]] = {}
        for message in scope.messages:
            by_speaker.setdefault(message.speaker, []).append(message)
        for speaker, messages in by_speaker.items():
            if speaker == "assistant":
                continue
            terms = [frozenset(TERMS(message.text)) for message in messages]
            for after in range(1, len(messages)):
                if chosen.random() > (5 * CHAT_SHARE if shape == "locomo" else CHAT_SHARE):
                    continue
                near = sorted(range(after), key=lambda before: (-len(terms[after] & terms[before]), -before))[:12]
                for before in {*near, *range(max(0, after - 3), after)}:
                    earlier, later = messages[before], messages[after]
                    found = pair(
                        earlier.text, later.text, later.time - earlier.time, same_room=earlier.room == later.room,
                        last=before == after - 1, revised=False,
                    )  # fmt: skip
                    if found is not None:
                        yield found


def fit(pairs: Sequence[Pair], weights: Matrix) -> Matrix:
    """Return the weights that fit some pairs, by Newton's method with a ridge."""
    found = np.array([-3.0 if name == "always" else 0.3 for name in NAMES])
    truth = np.array([pair.revised for pair in pairs], dtype=float)
    penalty = RIDGE * np.array([name != "always" for name in NAMES], dtype=float)
    for _ in range(ROUNDS):
        rows = np.stack([pair.rows[np.argmax(pair.rows @ found)] for pair in pairs])
        for _ in range(40):
            likely = 1 / (1 + np.exp(-rows @ found))
            slope = rows.T @ (weights * (likely - truth)) + penalty * found
            curve = (rows * (weights * likely * (1 - likely))[:, None]).T @ rows + np.diag(penalty + 1e-9)
            step = np.linalg.solve(curve, slope)
            found = found - step
            if np.abs(step).max() < 1e-6:
                break
    return found


def judge(pairs: Sequence[Pair], weights: Matrix) -> Matrix:
    """Return how likely each pair is a revision."""
    return np.array([1 / (1 + np.exp(-(pair.rows @ weights).max())) for pair in pairs])


def main() -> None:
    """Fit, print, and write if asked to."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lives", default=str(LIVES))
    parser.add_argument("--chats", nargs="*", default=[])
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--misses", action="store_true")
    given = parser.parse_args()
    every = [json.loads(line) for line in Path(given.lives).read_text(encoding="utf-8").splitlines()]
    lives = [list(pairs_of_life(life)) for life in every if not life["held_out"]]
    chats = [pair for text in given.chats for pair in pairs_of_chats(*text.split(":", 1))]
    apart = [pair for life in every if life["held_out"] for pair in pairs_of_life(life)]
    order = np.random.default_rng(0).permutation(len(lives))
    likely: list[tuple[float, bool]] = []
    for fold in np.array_split(order, FOLDS):
        left = set(fold.tolist())
        train = [pair for place, life in enumerate(lives) if place not in left for pair in life]
        found = fit([*train, *chats], np.array([1.0] * len(train) + [CHAT_WEIGHT] * len(chats)))
        test = [pair for place, life in enumerate(lives) if place in left for pair in life]
        likely += zip(judge(test, found).tolist(), (pair.revised for pair in test), strict=True)
    train = [pair for life in lives for pair in life]
    weights = fit([*train, *chats], np.array([1.0] * len(train) + [CHAT_WEIGHT] * len(chats)))
    others = [(float(value), pair.revised) for value, pair in zip(judge(apart, weights), apart, strict=True)]
    of_chats = judge(chats, weights)
    print("least  set aside: recall precision   judged: recall precision   of chats")
    for least in (0.02, 0.05, 0.08, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5):
        print(f"{least:5}  {share(likely, least):>28} {share(others, least):>26}   {np.mean(of_chats >= least):.4f}")
    if given.misses:
        for value, pair in sorted(zip(judge(train, weights), train, strict=True), key=lambda found: found[0]):
            if pair.revised and value < 0.25:
                print(f"{value:.3f}", pair.texts[0][:110], "=>", pair.texts[1][:140])
        for value, pair in sorted(zip(judge(train, weights), train, strict=True), key=lambda found: -found[0]):
            if not pair.revised and value > 0.1:
                print(f"WRONG {value:.3f}", pair.texts[0][:110], "=>", pair.texts[1][:140])
    if given.write:
        lines = "".join(f'    "{name}": {weight:.2f},\n' for name, weight in zip(NAMES, weights, strict=True))
        text = TARGET.read_text()
        TARGET.write_text(
            re.sub(r"(?ms)^WEIGHTS: .*\Z", f"WEIGHTS: Final[Mapping[str, float]] = {{\n{lines}}}\n", text)
        )


def share(found: Sequence[tuple[float, bool]], least: float) -> str:
    """Return recall and precision of what is at least so likely."""
    above = [revised for value, revised in found if value >= least]
    every = sum(revised for _, revised in found)
    return f"{sum(above) / every if every else 0:.2f} {sum(above) / len(above) if above else 0:.2f}"


if __name__ == "__main__":
    main()
