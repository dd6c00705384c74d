"""The built-in providers: what the memory itself has to say about the moment."""

import re
from collections.abc import Iterable
from datetime import datetime
from typing import Any, Final

from rememo.context import gather
from rememo.context.dates import ago, day, day_and_time
from rememo.context.fence import fenced
from rememo.context.gather import Item, recalling
from rememo.context.providers import Asked, Function, Provided, Provider
from rememo.engine.view import View

RECENT: Final = 20
FACTS: Final = 20
RELATIONSHIPS: Final = 10
PLANS: Final = 20
PASSAGES: Final = 8
_DOCUMENTS: Final = ("chunk",)
_TALK: Final = tuple(kind for kind in gather.PASSAGES if kind not in _DOCUMENTS)
_LONGEST: Final = 4_000
_BREAK: Final = re.compile("\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]")


def time(asked: Asked[View]) -> Provided:
    """Tell the time: of the moment the state was composed."""
    said = day_and_time(asked.at)
    return Provided(text=f"It is {said}.", values={"time": said, "now": asked.at.isoformat()})


def profile(asked: Asked[View]) -> Provided | None:
    """Tell what is known of the user under the user's own label."""
    item = gather.profile(asked.memory.narrow(asked.scope.narrow(user=asked.user)))
    return None if item is None else told("profile", f"About {item.id}:", [(item, cut(item.text))])


def relationships(asked: Asked[View]) -> Provided | None:
    """Tell who has to do with the user and with whom the message names."""
    items = gather.relationships(recalling(asked.memory, user=asked.user), asked.text, limit=RELATIONSHIPS)
    return told("relationships", "Who has to do with whom:", [(item, cut(item.text)) for item in items])


def facts(asked: Asked[View]) -> Provided | None:
    """Tell what holds now of the user, and of whom and what the message names."""
    items = gather.facts(recalling(asked.memory, user=asked.user), asked.text, at=asked.at, limit=FACTS)
    return told("facts", "What is known:", [(item, _dated(item, asked.at)) for item in items])


def plans(asked: Asked[View]) -> Provided | None:
    """Tell the open goals and tasks, with when they are due."""
    items = gather.plans(recalling(asked.memory, user=asked.user), limit=PLANS)
    return told("plans", "Open goals and tasks:", [(item, _planned(item, asked.at)) for item in items])


def documents(asked: Asked[View]) -> Provided | None:
    """Tell the passages of documents that answer the message."""
    items = gather.passages(
        recalling(asked.memory, user=asked.user), asked.text, limit=PASSAGES, at=asked.at, kinds=_DOCUMENTS
    )
    return told("documents", "From documents:", [(item, cut(item.text)) for item in items])


def passages(asked: Asked[View]) -> Provided | None:
    """Tell what was said or noted earlier that answers the message; the latest turns are told by `messages`."""
    shown = {item.id for item in gather.recent(asked.memory, RECENT)}
    if asked.record is not None:
        shown.add(asked.record.id)
    items = gather.passages(
        recalling(asked.memory, user=asked.user), asked.text, limit=PASSAGES, at=asked.at, kinds=_TALK, leave_out=shown
    )
    return told("passages", "From earlier:", [(item, _dated(item, asked.at)) for item in items])


def messages(asked: Asked[View]) -> Provided | None:
    """Tell the latest turns of the conversation."""
    items = gather.recent(asked.memory, RECENT)
    return told("messages", "The conversation so far:", [(item, f"{item.speaker}: {cut(item.text)}") for item in items])


def built_in(name: str, function: Function, position: int, **how: Any) -> Provider:
    """Return a provider that comes with Rememo."""
    return Provider(name=name, function=function, position=position, **how)


BUILT_IN: Final = (
    built_in("time", time, 10),
    built_in("profile", profile, 20, past=False, reads=gather.profile_keys),
    built_in("relationships", relationships, 30),
    built_in("facts", facts, 40),
    built_in("plans", plans, 50),
    built_in("documents", documents, 70),
    built_in("passages", passages, 80),
    built_in("messages", messages, 90),
)


def told(name: str, title: str, lines: Iterable[tuple[Item, str]]) -> Provided | None:
    """Return items below a title as recalled text; as a value it has its fence already, for it may stand anywhere."""
    found = list(lines)
    if not found:
        return None
    text = listed(title, (line for _, line in found))
    return Provided(text=text, values={name: fenced(text)}, data=[_data(item) for item, _ in found], recalled=True)


def listed(title: str, lines: Iterable[str]) -> str:
    """Return lines as a list below a title; what they hold of line breaks is set in, so that nothing in them reads as another."""
    return "\n".join([_BREAK.sub(" ", title), *(f"- {_BREAK.sub(chr(10) + '  ', line)}" for line in lines)])


def cut(text: str) -> str:
    """Return a text of any length as one that can stand in a list."""
    text = text.strip()
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST].rstrip()} …"


def _dated(item: Item, now: datetime) -> str:
    said = cut(item.text) if item.speaker is None else f"{item.speaker}: {cut(item.text)}"
    return said if item.at is None else f"{said} ({day(item.at)}, {ago(item.at, now)})"


def _planned(item: Item, now: datetime) -> str:
    due = None if item.record is None else gather.due(item.record)
    when = "" if due is None else f" (due {day_and_time(due)}, {'overdue' if due < now else ago(due, now)})"
    return f"{item.kind}: {cut(item.text)}{when}"


def _data(item: Item) -> dict[str, Any]:
    data: dict[str, Any] = {"id": item.id, "kind": item.kind, "text": cut(item.text)}
    if item.at is not None:
        data["at"] = item.at.isoformat()
    if item.speaker is not None:
        data["speaker"] = item.speaker
    if item.score:
        data["score"] = item.score
    return data
