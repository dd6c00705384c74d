"""A made-up life in messages: three people, many rooms, dates, questions and repeated sayings."""

import random
from datetime import UTC, datetime, timedelta
from typing import Any

from rememo import Memory
from rememo.engine.view import view_of
from rememo.store.kv.protocol import KeyValueErasure

PEOPLE = ("Alice", "Bernardo", "Chiara")
_PLACES = ("Lisbon", "Kyoto", "Montevideo", "Reykjavik", "Zanzibar", "Ljubljana")
_THINGS = ("telescope", "accordion", "sourdough", "marathon", "greenhouse", "saxophone", "passport", "dentist")
_SAYINGS = (
    "I went to {place} with {person} and we talked about the {thing} for hours",
    "My {thing} is broken again, do you know somebody in {place} who mends them?",
    "{person} gave me a {thing} for my birthday, the best present in years",
    "Next week I fly to {place}; please remind me of the {thing}",
    "Did {person} ever tell you about the {thing} from {place}?",
    "The {thing} was expensive, the {thing} was old, but the {thing} was worth it",
    "Thank you!",
)
_QUESTIONS = (
    "When did I go to {place}?", "Who gave me the {thing}?", "What did {person} say about {place}?",
    "Is the {thing} broken?", "What happened last week in {place}?", "{person}'s {thing}",
)  # fmt: skip
_START = datetime(2025, 3, 1, 9, tzinfo=UTC)


def _filled(dice: random.Random, sentence: str) -> str:
    return sentence.format(place=dice.choice(_PLACES), person=dice.choice(PEOPLE), thing=dice.choice(_THINGS))


def messages(count: int, seed: int = 3) -> list[dict[str, Any]]:
    """Return messages a few minutes to a few days apart, each with metadata."""
    dice, at = random.Random(seed), _START
    made: list[dict[str, Any]] = []
    for number in range(count):
        at += timedelta(minutes=dice.choice((1, 2, 3, 5, 3_000)))
        made.append(
            {
                "text": _filled(dice, dice.choice(_SAYINGS)),
                "kind": "message",
                "id": f"m{number}",
                "occurred_at": at,
                "data": {"role": dice.choice(("user", "assistant")), "name": dice.choice(PEOPLE)},
                "metadata": {"mood": dice.choice(("glad", "wistful", "cross")), "place": number % 7},
                "importance": dice.choice((None, 0.2, 0.9)),
                "source": dice.choice((None, "telegram of Bernardo")),
            }
        )
    return made


def questions(count: int, seed: int = 4) -> list[str]:
    """Return questions about what was said."""
    dice = random.Random(seed)
    return [_filled(dice, dice.choice(_QUESTIONS)) for _ in range(count)]


def remember(memory: Memory, count: int) -> None:
    """Tell it all, in three rooms, a part of it one by one."""
    corpus = messages(count)
    for place, room in enumerate(("kitchen", "garden", "office")):
        view = memory.scope(user="user-1", agent="helper", room=room)
        own = corpus[place::3]
        view.add_many(own[: len(own) // 2])
        for message in own[len(own) // 2 :]:
            view.add(**message)


def change_keys_meanwhile(memory: Memory, count: int) -> None:
    """Check that going through all keys meets each of them once, though they get other names in the middle."""
    for number in range(count):
        memory.kv.set(f"key {number}", number)
    kv, now = view_of(memory).engine.plain_kv, view_of(memory).engine.now()  # what export and erase are made of
    going = kv.dump("default", now)
    given = [next(going)[1].key]
    memory.rotate_keys().wait()
    given += [entry.key for _, entry in going]
    assert sorted(given) == sorted(f"key {number}" for number in range(count))
    turned: list[str] = []

    def doomed(_space: str, key: str) -> bool:
        turned.append(key)
        if len(turned) == 1:
            memory.rotate_keys().wait()
        return True

    assert isinstance(kv, KeyValueErasure)
    assert kv.erase("default", doomed) == count
    assert memory.kv.keys() == []
