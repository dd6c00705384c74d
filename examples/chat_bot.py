"""A chat bot in the terminal that remembers you: `python chat_bot.py [FILE] [YOUR NAME]`.

It answers by what it remembers. To let a model answer, give `prompt()` to it: that is all it needs to be shown.
"""

import sys
from datetime import UTC, datetime
from typing import Any

from rememo import Memory


def prompt(talk: Memory, text: str) -> list[dict[str, Any]]:
    """Return what a model should be shown: the system prompt, what fits of memory, the latest turns, the question."""
    context = talk.context(text, max_tokens=1_500, system="You are a friendly assistant. Use what you remember.")
    return [*context.messages, {"role": "user", "content": text}]


def answer(me: Memory, text: str) -> str:
    """Answer without a model: a fact for a question, else what comes to mind."""
    if not text.rstrip().endswith("?"):
        return "Noted."
    hits = me.search(text, limit=1, kind=["fact", "message"], threshold=0.2)
    return f"As I remember: {hits[0].text}" if hits else "You have not told me."


def main() -> None:
    """Talk until the input ends."""
    file = sys.argv[1] if len(sys.argv) > 1 else "chat_bot.db"
    name = sys.argv[2] if len(sys.argv) > 2 else "you"  # noqa: PLR2004
    with Memory(file) as memory:
        me = memory.scope(user=name)
        talk = me.scope(room=f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S.%f}", agent="bot")
        known = me.facts.list()
        print(
            f"Hello {name}! I know {len(known)} things about you. /facts lists them, /prompt shows what a model would see."
        )
        for line in map(str.strip, sys.stdin):
            if line == "/facts":
                print(*(f"- {fact.subject} {fact.predicate} {fact.object}" for fact in me.facts.list()), sep="\n")
            elif line.startswith("/prompt"):
                print(*(turn["content"] for turn in prompt(talk, line.removeprefix("/prompt").strip())), sep="\n")
            elif line:
                reply = answer(me, line)
                talk.messages.add_pair(line, reply, name=name).wait()
                print(reply)


if __name__ == "__main__":
    main()
