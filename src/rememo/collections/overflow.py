"""What stands for messages that left their room: their first sentences, how many they were, and from when to when."""

import re
from collections.abc import Sequence
from typing import Any

from rememo.engine.engine import Engine
from rememo.model.filters import Condition, Filter
from rememo.model.record import Record
from rememo.model.scope import Scope
from rememo.model.times import to_utc
from rememo.store.protocol import Put, Revise

_MOST_MESSAGES = 200
"""A summary that stands for so many is complete; the next one begins."""
_MOST_LINES = 60
_LONGEST = 400
_END = re.compile(r"[.!?\u2026]+[\"')\]\u201d\u2019]*(?=\s|$)|[\u3002\uff01\uff1f]|\n")


def summary_write(engine: Engine, room: Scope, leaving: Sequence[Record]) -> Put | Revise:
    """Return the write of a summary of messages: added to the room's last one while that has room, else a new one.

    It carries the labels that all of them share, so that no view sees through it what it could not see before.
    """
    scope = Scope(tenant=room.tenant, room=room.room, agent=_shared(leaving, "agent"), user=_shared(leaving, "user"))
    made = Condition("data", ("made_by",), "$eq", "limit")
    held = engine.store.read(Filter(scope=scope, kinds=("summary",), conditions=(made,)), engine.now(), limit=1)
    last = held[0] if held and held[0].scope == scope else None
    if last is not None and last.data["count"] + len(leaving) > _MOST_MESSAGES:
        last = None
    fields = _summary(leaving, last)
    return engine.put(scope, fields) if last is None else engine.revise(last, fields)


def rewritten(summary: Record, sources: Sequence[Record]) -> dict[str, Any] | None:
    """Return the content of a summary made again of some of its sources; None for one that was made otherwise."""
    if summary.data.get("made_by") != "limit":
        return None
    return _summary(sorted(sources, key=lambda one: one.at), None)


def _summary(leaving: Sequence[Record], last: Record | None) -> dict[str, Any]:
    before: dict[str, Any] = {"count": 0, "sources": []} if last is None else last.data
    times = [record.at for record in leaving]
    if last is not None:
        times += [to_utc(before["from"], "from"), to_utc(before["to"], "to")]
    since, until = min(times), max(times)
    count = before["count"] + len(leaving)
    lines = [] if last is None else last.text.split("\n")[1:]
    for record in leaving:
        said = first_sentence(record.text)
        if said and len(lines) < _MOST_LINES:
            lines.append(f"{_speaker(record)}: {said}")
    what = "1 message" if count == 1 else f"{count} messages"
    head = f"Summary of {what} from {since:%Y-%m-%d %H:%M} to {until:%Y-%m-%d %H:%M} UTC:"
    return {
        "text": "\n".join([head, *lines]),
        "kind": "summary",
        "data": {
            "made_by": "limit",
            "count": count,
            "from": since.isoformat(),
            "to": until.isoformat(),
            "sources": [*before["sources"], *(record.id for record in leaving)],
        },
        "occurred_at": until,
        "trust": min([record.trust for record in leaving] + ([] if last is None else [last.trust])),
    }


def first_sentence(text: str) -> str:
    """Return the first sentence, whole and on one line; "" for none, and for one too long to stand for anything."""
    text = text.strip()
    end = _END.search(text)
    sentence = text if end is None else text[: end.end()]
    return "" if len(sentence) > _LONGEST else " ".join(sentence.split())


def _speaker(record: Record) -> str:
    role = str(record.data.get("role", "user"))
    label = {"user": record.scope.user, "assistant": record.scope.agent}.get(role)
    return str(record.data.get("name") or label or role)


def _shared(records: Sequence[Record], label: str) -> str | None:
    labels: set[str | None] = {getattr(record.scope, label) for record in records}
    return labels.pop() if len(labels) == 1 else None
