"""A valid export with something of everything, and the same with one field at a time made wrong."""

import copy
import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

from rememo import Memory
from rememo.collections.summaries import SummaryPolicy

WRONG: list[Any] = [
    None, True, "", "wrong", "\ud800", "nul \0", -1, 9223372036854775807, 2**70, 1.5, float("nan"), float("-inf"), [],
    [1], {}, {"a": {"b": [1]}}, "9999-12-31T23:59:59.999999+00:00", "0001-01-01T00:00:00+00:00", "x" * 5_000,
]  # fmt: skip


def fill(memory: Memory) -> None:
    """Write something of every kind of line."""
    chat = memory.scope(user="ana", room="r1", agent="bot")
    call = {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": "{}"}}
    chat.summaries.policy(SummaryPolicy(threshold=4, keep=2))
    chat.messages.add("user", "I moved to Lisbon in May. My cat is called Miso.").wait()
    first = chat.messages.add("assistant", "Nice.", tool_calls=[call]).id
    chat.messages.add("tool", "sunny", tool_call_id="c1")
    chat.messages.add(
        "user", "look", images=["https://example.org/a.png"], reply_to=first, external_id=("chat", "5")
    )  # fmt: skip
    chat.messages.add("user", "And then we went home. It was late.")
    last = chat.messages.add("user", "Then rain.").wait()
    chat.facts.add("ana", "likes", "tea")
    chat.facts.policy("likes", "gather")
    chat.relationships.add("ana", "bob", "friend", sentiment=0.3)
    chat.documents.add(text="# Title\n\nSome words about ships.\n\nMore about trains.", source="a.md")
    chat.goals.add("be well")
    chat.tasks.add(
        "buy milk", due=last.recorded_at + timedelta(days=1) if last.recorded_at else None, recurrence="daily"
    )
    chat.actions.add("run", success=True, duration=1.5, parameters={"a": 1}, result={"b": 2})
    chat.posts.add("posted", location="Lisbon", external_id=("x", "9"))
    chat.working.context.set("a", 1)
    chat.working.think("hm")
    chat.kv.set("key", {"a": 1}, ttl="1h", sliding=True)
    memory.retention.use("messages")
    chat.messages.limit(max_messages=100)
    chat.profiles.update("ana", {"x": 1})
    chat.sessions.save("monday")
    chat.flow("order", steps=["a", "b"]).start()
    memory.typed("config", {"a": 1}).set({"a": 2})
    memory.snapshot("before")
    chat.messages.add("user", "I left Lisbon, I moved to Rome.").wait()  # what was said before is revised
    memory.update(last.id, text="Then snow.", metadata={"mem0:replaces": ["other"]})
    chat.messages.add("user", "I live in Porto now.")  # what it says is still to be learned


@dataclass(frozen=True)
class Spoiled:
    """An export with one wrong field."""

    lines: list[dict[str, Any]]
    line: int
    """The number of the line, from 1."""
    field: str
    wrong: Any

    def write(self, path: Path) -> Path:
        """Write it with the right checksum, as a foreign program might."""
        body = "".join(json.dumps(line) + "\n" for line in self.lines[:-1])
        end = {**self.lines[-1], "sha256": hashlib.sha256(body.encode()).hexdigest()}
        path.write_text(body + json.dumps(end) + "\n", encoding="utf-8")
        return path


def spoiled(path: Path, *, every: int = 1) -> Iterator[Spoiled]:
    """Give an export with each field of each kind of line wrong in each way; `every` takes only each so manieth."""
    lines: list[dict[str, Any]] = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    seen: set[str] = set()
    number = 0
    for place, line in enumerate(lines[:-1]):
        whole = _opened(line)
        if place == 0:
            whole.pop("settings")  # told for people, and read by nobody
        for field in _paths(whole):
            alike = json.dumps([_kind(line), [None if isinstance(item, int) else item for item in field]])
            if alike in seen:
                continue
            seen.add(alike)
            for wrong in WRONG:
                number += 1
                if number % every == 0:
                    changed = _closed(_put(whole, field, wrong))
                    name = ".".join(map(str, field))
                    yield Spoiled([*lines[:place], changed, *lines[place + 1 :]], place + 1, name, wrong)


def _kind(line: dict[str, Any]) -> list[Any]:
    record, job = line.get("record"), line.get("job")
    kept = [line["space"], line["kv"]["key"]] if "kv" in line else None
    return [record and record["kind"], job and job["task"], kept, "format" in line]


def _opened(line: dict[str, Any]) -> dict[str, Any]:
    """Return a line with the JSON inside its text at hand."""
    if "kv" not in line:
        return copy.deepcopy(line)
    return {**line, "kv": {**line["kv"], "value": {"json": json.loads(line["kv"]["value"])}}}


def _closed(line: dict[str, Any]) -> dict[str, Any]:
    match line:
        case {"kv": {"value": {"json": value}, **rest}}:
            return {**line, "kv": {**rest, "value": json.dumps(value)}}
        case _:
            return line


def _paths(value: Any, here: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    inside: Any = value
    named: Any = ()
    if isinstance(value, dict):
        named = inside.items()
    elif isinstance(value, list):
        named = enumerate(inside[:1])
    for name, inner in named:
        yield (*here, name)
        yield from _paths(inner, (*here, name))


def _put(value: Any, path: tuple[Any, ...], wrong: Any) -> Any:
    changed = copy.deepcopy(value)
    place = changed
    for name in path[:-1]:
        place = place[name]
    place[path[-1]] = wrong
    return changed
