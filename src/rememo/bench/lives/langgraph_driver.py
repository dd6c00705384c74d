"""Runs where LangGraph is installed beside Rememo: tells lives and asks their questions with its store, a line of JSON for each.

An item is a message, under its user and room. The store takes no time of its own: its clock is set to that of the message.
"""

import contextlib
import importlib
import json
import sys
from datetime import datetime
from typing import Any

from rememo.memory import Memory

langgraph: Any = importlib.import_module("rememo.adapters.langgraph")  # not in the environment that checks this file


def first_label(namespace: tuple[str, ...]) -> str:
    """Return the user of a namespace."""
    return namespace[0]


class StoredText:
    """A life in a store."""

    def __init__(self) -> None:
        """Open an empty one."""
        self.time = datetime.fromisoformat("2000-01-01T00:00:00+00:00")
        self.memory = Memory(":memory:", clock=lambda: self.time)
        self.store = langgraph.RememoStore(self.memory, user_of=first_label, clock=lambda: self.time)

    def tell(self, messages: list[dict[str, Any]]) -> list[str]:
        """Store messages."""
        for number, message in enumerate(messages):
            self.time = datetime.fromisoformat(message["at"])
            value = {"role": message["role"], "text": message["text"]}
            self.store.put((message["user"], message["room"]), str(number), value, index=["text"])
        return []

    def ask(self, question: str, user: str | None, at: str) -> dict[str, list[str]]:
        """Return what was found, best first, and what of it goes into a prompt: not what stands behind what replaced it."""
        self.time = datetime.fromisoformat(at)
        items = self.store.search(() if user is None else (user,), query=question)
        ranks = {(item.namespace, item.key): index for index, item in enumerate(items)}
        hits = [item.value["text"] for item in items]
        prompt = [
            hits[index]
            for index, item in enumerate(items)
            if item.status != "superseded" or ranks.get(item.superseded_by, index) >= index
        ]
        return {"hits": hits, "prompt": prompt}


lives: dict[str, StoredText] = {}
out = sys.stdout
with contextlib.redirect_stdout(sys.stderr):
    for line in sys.stdin:
        given = json.loads(line)
        life = lives.setdefault(given["life"], StoredText())
        if "messages" in given:
            answer: Any = life.tell(given["messages"])
        else:
            answer = life.ask(given["question"], given["user"], given["at"])
        print(json.dumps(answer), file=out, flush=True)
