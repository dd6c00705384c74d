"""What `context` costs beside its search alone, over a room of 10,000 messages: `python -m bench.context`."""

import argparse
import random
from datetime import UTC, datetime, timedelta

from bench.timing import interleaved
from rememo import Memory, Settings
from rememo.context.gather import PASSAGES, passages, recall_view
from rememo.engine.view import view_of

BOUND = 3.0
SHARE_OF_LONG = 0.4
"""Of the answers."""
QUESTIONS = (
    "what did we say about the kitchen window?",
    "when does the train to Porto leave?",
    "who paid the gardener last month?",
    "which colour did I choose for the bedroom?",
)
SYLLABLES = (
    "ka",
    "lo",
    "mi",
    "ter",
    "son",
    "ri",
    "ben",
    "du",
    "va",
    "len",
    "po",
    "sti",
    "gar",
    "ne",
    "hu",
    "fa",
    "wel",
    "zo",
)
WORDS = [
    "kitchen", "window", "train", "Porto", "gardener", "month", "colour", "bedroom",
    *(first + second + third for first in SYLLABLES for second in SYLLABLES for third in SYLLABLES),
]  # fmt: skip
OFTEN = [1 / (20 + place) for place in range(len(WORDS))]
"""As in languages: few words are often used, most seldom."""


def fill(count: int) -> Memory:
    """Store a long conversation: short turns, some long answers, some facts, goals and tasks."""
    memory = Memory(":memory:", settings=Settings(worker=False))
    chat = memory.scope(user="ana", room="room", agent="helper")
    dice, start = random.Random(7), datetime(2026, 1, 1, tzinfo=UTC)

    def text(number: int) -> str:
        long = number % 2 and dice.random() < SHARE_OF_LONG
        sentences = [" ".join(dice.choices(WORDS, OFTEN, k=dice.randint(5, 12))) for _ in range(15 if long else 3)]
        return ". ".join(sentences) + f", number {number}."

    for first in range(0, count, 2_000):
        chat.add_many(
            {
                "text": text(number),
                "kind": "message",
                "data": {"role": "assistant" if number % 2 else "user"},
                "occurred_at": start + timedelta(minutes=7 * number),
            }
            for number in range(first, min(first + 2_000, count))
        )
    for place in range(40):
        chat.facts.add("ana", "likes", f"{WORDS[place % len(WORDS)]} {place}")
    for place in range(10):
        chat.goals.add(f"See the {WORDS[place]}", priority=place)
    return chat


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--messages", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=100)
    options = parser.parse_args()
    chat = fill(options.messages)
    view = recall_view(view_of(chat))
    turn = 0

    def next_question() -> str:
        nonlocal turn
        turn += 1
        return QUESTIONS[turn // 5 % len(QUESTIONS)]

    for size in (1_500, 3_000):
        limit = min(200, size // 20)
        kinds = (*PASSAGES, "fact")
        chat.context(next_question(), max_tokens=size)
        search, whole, ten, turns = interleaved(
            options.rounds,
            lambda _, limit=limit, kinds=kinds: passages(view, next_question(), limit=limit, kinds=kinds),
            lambda _, size=size: chat.context(next_question(), max_tokens=size),
            lambda _: chat.search(next_question()),
            lambda _, size=size: chat.messages.window(size),
        )
        print(f"over {options.messages:,} messages, {size:,} tokens:")
        print(f"  its search alone: {search:,.0f} us (search(limit=10): {ten:,.0f} us)")
        print(f"  context: {whole:,.0f} us, {whole / search:.2f} times as long (at most {BOUND:.0f})")
        print(f"  messages.window: {turns:,.0f} us")
    chat.close()


if __name__ == "__main__":
    main()
