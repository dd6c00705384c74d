"""Lives of one person made of several lives: more is said that has nothing to do with a question.

    tools/mix_lives.py OUT FILE …

Only lives of one speaker are mixed, and only such as are about other matters; what is held out is left out.
"""

import json
import random
import re
import sys
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from rememo.learn.revise.topics import find_topics
from rememo.recall.asked import asked_predicates

_TOGETHER = range(3, 5)
"""How many lives become one."""
_OF_ONE_KIND = {"home", "job", "love", "diet", "drink", "pet", "car", "device", "editor", "event"}
"""Topics of which a person has one."""

Life = dict[str, Any]


def mixed(paths: Sequence[str], *, seed: int = 1) -> Iterator[Life]:
    """Give the lives that the open lives of some files make, the same for the same seed."""
    lives = [json.loads(line) for path in paths for line in Path(path).read_text("utf-8").splitlines()]
    left = [life for life in lives if not life["held_out"] and len({said["user"] for said in life["messages"]}) == 1]
    random.Random(seed).shuffle(left)  # noqa: S311 - no secret
    made = 0
    while left:
        together = [left.pop()]
        matters = _matters(together[0])
        for life in list(left):
            found = _matters(life)
            if len(together) < _TOGETHER[-1] and matters.isdisjoint(found):
                together.append(life)
                matters |= found
                left.remove(life)
        if len(together) in _TOGETHER:
            made += 1
            yield _joined(f"mixed-{made}", together)


def hurried(path: str) -> Iterator[Life]:
    """Give the open lives of a file as if all had been said within seconds, with their questions about now."""
    for line in Path(path).read_text("utf-8").splitlines():
        life: Life = json.loads(line)
        if life["held_out"]:
            continue
        start = datetime.fromisoformat(life["messages"][0]["at"])
        messages = [
            {**said, "at": (start + timedelta(seconds=2 * place)).isoformat()}
            for place, said in enumerate(life["messages"])
        ]
        questions = [
            {name: value for name, value in question.items() if name != "at"}
            for question in life["questions"]
            if question["about"] == "now"
        ]
        yield {**life, "name": f"hurried {life['name']}", "messages": messages, "questions": questions}


def _matters(life: Life) -> set[str]:
    """Return what a life is about."""
    found: set[str] = set()
    for question in life["questions"]:
        found |= find_topics(question["question"].lower()) | asked_predicates(question["question"])
    for said in life["messages"]:
        if said["role"] == "user" and not said["text"].endswith("?"):
            found |= find_topics(said["text"].lower()) & _OF_ONE_KIND
    return found


def _joined(name: str, lives: Sequence[Life]) -> Life:
    user = lives[0]["messages"][0]["user"]
    messages: list[dict[str, Any]] = []
    questions: list[dict[str, Any]] = []
    for life in lives:
        own = re.compile(rf"\b{re.escape(life['messages'][0]['user'])}\b", re.IGNORECASE)

        def renamed(text: str, own: re.Pattern[str] = own) -> str:
            return own.sub(user if text.islower() else user.capitalize(), text)

        messages += [
            {**said, "user": user, "room": "chat-1", "text": renamed(said["text"])} for said in life["messages"]
        ]
        questions += [
            {
                **question,
                "question": renamed(question["question"]),
                "user": user if question["user"] else None,
                "holds": [renamed(word) for word in question["holds"]],
                "outdated": [renamed(word) for word in question["outdated"]],
            }
            for question in life["questions"]
        ]
    messages.sort(key=lambda said: said["at"])
    asked = max(datetime.fromisoformat(said["at"]) for said in messages) + timedelta(days=5)
    at = {"at": asked.isoformat()}
    return {
        "name": name,
        "held_out": False,
        "messages": messages,
        "questions": [question | at for question in questions],
    }


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(
        "".join(f"{json.dumps(life, ensure_ascii=False)}\n" for life in mixed(sys.argv[2:])), "utf-8"
    )
