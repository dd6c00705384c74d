"""The built-in providers: what the memory itself has to say about the moment."""

from collections.abc import Sequence
from typing import Any, Final

from rememo.context import gather
from rememo.context.dates import day_and_time
from rememo.context.gather import recalling
from rememo.context.item import Item
from rememo.context.lines import HEADINGS, Shown, line, listed
from rememo.context.providers import Asked, Function, Provided, Provider
from rememo.engine.view import View
from rememo.recall.relevance import FLOOR
from rememo.text.fence import fenced

RECENT: Final = 20
FACTS: Final = 20
RELATIONSHIPS: Final = 10
PLANS: Final = 20
PASSAGES: Final = 8
_DOCUMENTS: Final = ("chunk",)
_TALK: Final = tuple(kind for kind in gather.PASSAGES if kind not in _DOCUMENTS)
_LONGEST: Final = 4_000


def time(asked: Asked[View]) -> Provided:
    """Tell the time: of the moment the state was composed."""
    said = day_and_time(asked.at)
    return Provided(text=f"It is {said}.", values={"time": said, "now": asked.at.isoformat()})


def profile(asked: Asked[View]) -> Provided | None:
    """Tell what is known of the user under the user's own label."""
    item = gather.profile(asked.memory.narrow(asked.scope.narrow(user=asked.user)))
    return told(asked, "profile", HEADINGS["profile"], [] if item is None else [item])


def relationships(asked: Asked[View]) -> Provided | None:
    """Tell who has to do with the user and with whom the message names."""
    items = gather.relationships(_wide(asked), asked.text, limit=RELATIONSHIPS)
    return told(asked, "relationships", "Who has to do with whom:", items)


def facts(asked: Asked[View]) -> Provided | None:
    """Tell what holds now of the user, and of whom and what the message names."""
    items = gather.facts(_wide(asked), asked.text, at=asked.at, limit=FACTS)
    return told(asked, "facts", HEADINGS["facts"], items)


def plans(asked: Asked[View]) -> Provided | None:
    """Tell the open goals and tasks, with when they are due."""
    return told(asked, "plans", HEADINGS["plans"], gather.plans(_wide(asked), limit=PLANS))


def documents(asked: Asked[View]) -> Provided | None:
    """Tell the passages of documents that answer the message, best first."""
    items = gather.passages(_wide(asked), asked.text, limit=PASSAGES, at=asked.at, kinds=_DOCUMENTS, threshold=FLOOR)
    return told(asked, "documents", "From documents:", items)


def passages(asked: Asked[View]) -> Provided | None:
    """Tell what was said or noted earlier that answers the message, in its order; `messages` tells the latest turns."""
    shown = {item.id for item in gather.recent(asked.memory, RECENT)}
    if asked.record is not None:
        shown.add(asked.record.id)
    items = gather.passages(
        _wide(asked), asked.text, limit=PASSAGES, at=asked.at, kinds=_TALK, threshold=FLOOR, leave_out=shown
    )
    return told(asked, "passages", HEADINGS["passages"], sorted(items, key=lambda item: item.at or asked.at))


def messages(asked: Asked[View]) -> Provided | None:
    """Tell the latest turns of the conversation."""
    return told(asked, "messages", HEADINGS["recent"], gather.recent(asked.memory, RECENT), part="recent")


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


def told(
    asked: Asked[View], name: str, heading: str, items: Sequence[Item], *, part: str | None = None
) -> Provided | None:
    """Return items below a heading as recalled text; as a value it has its fence already, for it may stand anywhere."""
    if not items:
        return None
    view, titles = _wide(asked), dict[str, str]()
    shown: list[Shown] = []
    for item in items:
        said = cut(item.text)
        text = line(item, asked.at, said, title=gather.standing(view, item, titles))
        shown.append(Shown(part or name, item, text, said, 0.0, mark="-"))
    text = "\n".join([heading, *listed(part or name, shown, asked.at)])
    return Provided(
        text=text, values={name: fenced(text)}, data=[_data(one.item, one.said) for one in shown], recalled=True
    )


def cut(text: str) -> str:
    """Return a text of any length as one that can stand in a list."""
    text = text.strip()
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST].rstrip()} …"


def _wide(asked: Asked[View]) -> View:
    return recalling(asked.memory, user=asked.user)


def _data(item: Item, said: str) -> dict[str, Any]:
    data: dict[str, Any] = {"id": item.id, "kind": item.kind, "text": said}
    if item.at is not None:
        data["at"] = item.at.isoformat()
    if item.speaker is not None:
        data["speaker"] = item.speaker
    if item.score:
        data["score"] = item.score
    return data
