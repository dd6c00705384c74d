"""Examples for answer selection: the questions of lives, what a search of each looks at, and which of it answers.

Every question is asked of a memory that was told the life's messages, so that a model sees in training what it will see in use.
"""

import pickle
import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path

import numpy as np

from rememo.bench.lives.data import Life, load_lives
from rememo.bench.lives.doors import tell_messages
from rememo.bench.lives.merge import merge_lives
from rememo.engine import selection
from rememo.engine.view import view_of
from rememo.memory import Memory
from rememo.recall.analyze import Analyzer
from rememo.recall.answers.claim import Claim, ClaimQuestion
from rememo.recall.answers.encoding import EncodedText, Encoder, Floats
from rememo.recall.embed.word_vectors import word_vectors


@dataclass(frozen=True)
class Example:
    """One question, the claims that were looked at for it, and what is true of each."""

    file: str
    life: str
    question: ClaimQuestion
    claims: Sequence[Claim]
    asked_tokens: EncodedText
    claim_tokens: Sequence[EncodedText]
    coverage: Floats
    answers: Sequence[bool]
    outdated: Sequence[bool]
    about_past: bool
    first_by_score: bool
    """Whether the first hit is right without a model."""

    @property
    def teaches(self) -> bool:
        """Whether there is something to choose."""
        return any(self.answers) and not all(self.answers)


def examples(
    paths: Iterable[str | Path], *, held_out: bool, together: Sequence[int] = (), cache: Path | None = None
) -> list[Example]:
    """Return the examples of some files of lives, each told to a memory of its own and, for each size in `together`, with others.

    `cache` is a folder in which they are kept.
    """
    found: list[Example] = []
    for path in map(Path, paths):
        for size in (1, *together):
            part = f"{'held' if held_out else 'open'}-{size}-{path.stat().st_mtime_ns}"
            kept = cache and cache / f"{path.stem}-{part}.pickle"
            if kept and kept.exists():
                found += pickle.loads(kept.read_bytes())  # noqa: S301 - written below
                continue
            lives = list(load_lives(path, held_out=held_out))
            if size > 1:
                lives = list(merge_lives(lives, size, seed=size))
            made = [
                example for life in lives for example in _of_life(path.stem if size == 1 else f"{path.stem} x", life)
            ]
            if kept:
                kept.write_bytes(pickle.dumps(made))
            found += made
    return found


class _Watch:
    """Takes the selector's place, notes what it is asked, and lets everything stay as it is."""

    def __init__(self) -> None:
        self.question: ClaimQuestion | None = None
        self.claims: Sequence[Claim] = ()

    def select(self, question: ClaimQuestion, claims: Sequence[Claim]) -> list[selection.Verdict]:
        self.question, self.claims = question, claims
        return [selection.Verdict(answers=0.0, outdated=0.0) for _ in claims]


def _of_life(file: str, life: Life) -> Iterator[Example]:
    words = word_vectors()
    encoder = Encoder(words.vectors, words.tokenize, Analyzer("english").terms)
    with Memory(":memory:") as memory:
        tell_messages(memory, life.messages)
        for asked in life.questions:
            watch = _Watch()
            view_of(memory).engine.__dict__["answer_selector"] = watch
            view = memory if asked.user is None else memory.scope(user=asked.user)
            hits = view.search(asked.text, at=asked.at)
            if watch.question is None or not watch.claims:
                continue
            encoded = encoder.encode(watch.question, watch.claims)
            first = " ".join([hits[0].text, *(source.text for source in hits[0].sources)]) if hits else ""
            yield Example(
                file, life.name, watch.question, watch.claims, encoded.question, encoded.claims,
                encoded.features[:, -2:],
                [_has_one(claim.text, asked.holds) for claim in watch.claims],
                [_has_one(claim.text, asked.outdated) for claim in watch.claims],
                asked.about == "past",
                _has_one(first, asked.holds),
            )  # fmt: skip


def _has_one(text: str, words: Sequence[str]) -> bool:
    return any(word.casefold() in text.casefold() for word in words)


def hurried(example: Example) -> Example:
    """Return an example as if everything had been said within seconds, in the same order."""
    order = sorted(range(len(example.claims)), key=lambda place: example.claims[place].at)
    start = example.question.at - timedelta(days=random.uniform(0.01, 30))  # noqa: S311
    claims = list(example.claims)
    for seconds, place in enumerate(order):
        claims[place] = replace(claims[place], at=start + timedelta(seconds=2 * seconds))
    return replace(example, claims=claims)


def before_change(example: Example) -> Example:
    """Return an example about what holds now as if the change had not been told: what was outdated last is the answer."""
    if example.about_past or not any(example.outdated):
        return example
    kept = [place for place, answers in enumerate(example.answers) if not answers]
    last = max((place for place in kept if example.outdated[place]), key=lambda place: example.claims[place].at)
    return replace(
        example,
        claims=[replace(example.claims[place], is_superseded=False) for place in kept],
        claim_tokens=[example.claim_tokens[place] for place in kept],
        coverage=example.coverage[kept],
        answers=[place == last for place in kept],
        outdated=[example.outdated[place] and place != last for place in kept],
    )


def overheard(example: Example) -> Example:
    """Return an example in which somebody else says the like of themselves; that answers nothing."""
    told = [place for place, answers in enumerate(example.answers) if answers or example.outdated[place]]
    if not example.question.persons or not told:
        return example
    place = random.choice(told)  # noqa: S311
    claim = example.claims[place]
    at = claim.at + timedelta(days=random.uniform(-60, 60))  # noqa: S311
    return replace(
        example,
        claims=[
            *example.claims,
            replace(claim, speaker="somebody else", at=at, score=claim.score * 0.6, is_superseded=False),
        ],
        claim_tokens=[*example.claim_tokens, example.claim_tokens[place]],
        coverage=np.concatenate([example.coverage, example.coverage[[place]]]),
        answers=[*example.answers, False],
        outdated=[*example.outdated, False],
    )
