"""Merge lives: what several people told, as if one person had told it all.

A life is about one matter, and a memory that holds nothing else makes its question easy. Merged lives are what a memory looks like
after a year: the answer stands among statements about other homes, other times and other numbers.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import timedelta
from itertools import chain
from random import Random
from typing import Final

import numpy as np
from numpy.typing import NDArray

from rememo.bench.lives.data import AFTERWARDS, Life, LifeQuestion
from rememo.recall.asked import asked_predicates
from rememo.recall.embed.static import StaticEmbedder

_ALIKE: Final = 0.6
"""The cosine of two questions from which they may be about the same matter."""


def merge_lives(lives: Sequence[Life], size: int, seed: int = 0) -> Iterator[Life]:
    """Yield lives of one person each, made of `size` given ones about different matters; those that fit nowhere are left out."""
    chosen = [life for life in lives if _can_merge(life)]
    Random(seed).shuffle(chosen)
    vectors = {life.name: _vectors(life) for life in chosen}
    while chosen:
        group: list[Life] = []
        for life in chosen:
            if len(group) < size and all(_fit(life, other, vectors) for other in group):
                group.append(life)
        chosen = [life for life in chosen if life not in group]
        if len(group) == size:
            yield _merged(group)


def _can_merge(life: Life) -> bool:
    """Return whether a life has one person, and only questions that can be asked later."""
    users = {message.user for message in life.messages}
    return len(users) == 1 and not any(question.at != life.messages[-1].at + AFTERWARDS for question in life.questions)


def _vectors(life: Life) -> NDArray[np.float32]:
    embedder = StaticEmbedder()
    vectors = embedder.embed([question.text for question in life.questions])
    return np.array([np.zeros(embedder.dimension) if vector is None else vector for vector in vectors], np.float32)


def _fit(life: Life, other: Life, vectors: dict[str, NDArray[np.float32]]) -> bool:
    """Return whether two lives are about different matters."""
    if float((vectors[life.name] @ vectors[other.name].T).max()) >= _ALIKE:
        return False
    predicates = [
        set(chain(*(asked_predicates(question.text) for question in each.questions))) for each in (life, other)
    ]
    if not predicates[0].isdisjoint(predicates[1]):
        return False
    return not _mentions(life, other) and not _mentions(other, life)


def _mentions(life: Life, other: Life) -> bool:
    """Return whether a life mentions an expected answer of another."""
    texts = [message.text.casefold() for message in other.messages]
    words = {word.casefold() for question in life.questions for word in (*question.holds, *question.outdated)}
    return any(word in text for word in words for text in texts)


def _merged(group: Sequence[Life]) -> Life:
    name = group[0].messages[0].user
    renamed = [_renamed(life, name, number) for number, life in enumerate(group)]
    messages = sorted(chain(*(life.messages for life in renamed)), key=lambda message: message.at)
    at = messages[-1].at + timedelta(days=5)
    questions = tuple(replace(question, at=at) for life in renamed for question in life.questions)
    return Life(
        name="+".join(life.name for life in group),
        held_out=any(life.held_out for life in group),
        messages=tuple(messages),
        questions=questions,
    )


def _renamed(life: Life, name: str, number: int) -> Life:
    """Return a life of another person, in rooms of its own."""
    pattern = re.compile(rf"\b{re.escape(life.messages[0].user)}\b", re.IGNORECASE)

    def put(text: str) -> str:
        return pattern.sub(lambda match: name.capitalize() if match.group()[0].isupper() else name, text)

    def put_all(question: LifeQuestion) -> LifeQuestion:
        return replace(
            question,
            text=put(question.text),
            user=None if question.user is None else name,
            holds=tuple(map(put, question.holds)),
            outdated=tuple(map(put, question.outdated)),
        )

    return replace(
        life,
        messages=tuple(
            replace(message, user=name, room=f"{message.room}-{number}", text=put(message.text))
            for message in life.messages
        ),
        questions=tuple(map(put_all, life.questions)),
    )
