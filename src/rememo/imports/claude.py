"""Claude: the archive of an account or an organisation, with `conversations.json`, `users.json`, `projects.json`.

A conversation is a list of `chat_messages`, each with content blocks: text, tool_use, tool_result, thinking. What was
attached to a message is there as the text that was read out of it; files that were not text are named only.
"""

import json
from collections.abc import Iterator
from datetime import datetime
from typing import Final

from rememo.errors import InvalidInput
from rememo.imports.files import Folder, Place, entries
from rememo.imports.item import (
    Found,
    Item,
    Json,
    Left,
    as_list,
    as_object,
    as_text,
    call_of,
    content_of,
    digest,
    label,
    moment,
    not_before,
    plain,
    short,
)

_ROLES: Final = {"human": "user", "assistant": "assistant"}
_BESIDE: Final = "a message beside the path that is shown: edited, or asked for again"
_EMPTY: Final = "a message without words"
_REASONING: Final = "a step of reasoning"
_UNREADABLE: Final = "an entry that is no conversation"
_FILE: Final = "a file that is not in the export"
_SENDER: Final = "a message of an unknown sender"
_UNANSWERED: Final = "Tool output is unavailable."


def read(place: Place) -> Iterator[Found]:
    """Give the messages of every conversation in their order, with what was attached, projects and memories."""
    with place.folder() as folder:
        files = folder.main("conversations")
        if not files:
            raise InvalidInput(f"{place.path} has no conversations.json; name the archive that Claude sent")
        several = _accounts(folder, place) > 1
        for name in files:
            with folder.opened(name) as file:
                for one in entries(file, f"{place.path}: {name}"):
                    yield from _conversation(as_object(one), several=several)
        yield from _projects(folder, place)
        yield from _memories(folder, place)


def _accounts(folder: Folder, place: Place) -> int:
    """Return how many people an export is of."""
    count = 0
    for name in folder.named("users"):
        with folder.opened(name) as file:
            count += sum(1 for _ in entries(file, f"{place.path}: {name}"))
    return count


def _conversation(values: Json, *, several: bool) -> Iterator[Found]:
    room, messages = label(values.get("uuid")), as_list(values.get("chat_messages"))
    if room is None or "chat_messages" not in values:
        yield Left(_UNREADABLE)
        return
    user = label(as_object(values.get("account")).get("uuid")) if several else None
    title, last = short(values.get("name")), moment(values.get("created_at"))
    shown = _shown(values, messages)
    if beside := len(messages) - len(shown):
        yield Left(_BESIDE, beside)
    for message in shown:
        last = not_before(moment(message.get("created_at")), last)
        yield from _message(message, room, user, title, last)


def _shown(values: Json, messages: list[object]) -> list[Json]:
    """Return the messages from the first to the current one; all of them where the export does not tell."""
    known = {one["uuid"]: one for one in map(as_object, messages) if label(one.get("uuid"))}
    current = label(values.get("current_leaf_message_uuid"))
    if current not in known:
        return list(known.values())
    path: dict[str, Json] = {}
    while current is not None and current in known and current not in path:
        path[current] = known[current]
        current = label(known[current].get("parent_message_uuid"))
    return list(reversed(path.values()))


def _message(message: Json, room: str, user: str | None, title: str | None, at: datetime | None) -> Iterator[Found]:
    id, role = str(message["uuid"]), _ROLES.get(as_text(message.get("sender")))
    if role is None:
        yield Left(_SENDER)
        return
    place = f"claude:{room}"
    attached = [as_object(one) for one in as_list(message.get("attachments"))]
    named = [short(as_object(one).get("file_name")) for one in as_list(message.get("files"))]
    missing = [one for one in named if one and one not in {short(other.get("file_name")) for other in attached}]
    made = _Turns(message)
    metadata = plain(
        {"title": title, "files": [*filter(None, (short(one.get("file_name")) for one in attached)), *missing]}
    )
    for number, (said, calls, answers, text) in enumerate(made.turns):
        yield Item(
            kind="message", origin=(place, id if number == 0 else f"{id}/{number}"), room=room, user=user,
            role=said or role, text=text, at=at, tool_calls=calls, tool_call_id=answers,
            metadata=metadata if number == 0 else plain({"title": title}),
        )  # fmt: skip
    if not made.turns and not attached:
        yield Left(_EMPTY)
    if made.thinking:
        yield Left(_REASONING, made.thinking)
    if missing:
        yield Left(_FILE, len(missing))
    for one in attached:
        name, text = short(one.get("file_name")) or "attachment", as_text(one.get("extracted_content"))
        if not text.strip():
            yield Left(_FILE)
            continue
        yield Item(
            kind="document", origin=(place, digest([id, name, text])), room=room, user=user, title=name, text=text,
            metadata=plain({"conversation": title, "message": id}),
        )  # fmt: skip


_Turn = tuple[str | None, tuple[Json, ...], str | None, str]
"""A role where it is not the sender's, calls, the call that is answered, text."""


class _Turns:
    """The turns that a message is made of: text and the calls after it are one, a result is one of its own."""

    def __init__(self, message: Json) -> None:
        self.thinking = 0
        self.turns: list[_Turn] = []
        self._id = str(message["uuid"])
        self._text = ""
        self._calls: list[Json] = []
        self._last: str | None = None
        blocks = [as_object(one) for one in as_list(message.get("content"))]
        for number, block in enumerate(blocks):
            self._take(number, block)
        if not any(as_text(one.get("type")) for one in blocks):
            # The same words as the blocks, and all there is where an export has none.
            self._text = as_text(message.get("text"))
        self._end()

    def _take(self, number: int, block: Json) -> None:
        kind = as_text(block.get("type"))
        if kind == "text":
            if self._calls:
                self._end()
            self._text = "\n".join(filter(None, (self._text, as_text(block.get("text")))))
        elif kind == "tool_use":
            self._last = label(block.get("id")) or f"{self._id}-{number}"
            self._calls.append(call_of(self._last, block.get("name"), json.dumps(block.get("input"))))
        elif kind == "tool_result":
            self._end()
            answered = label(block.get("tool_use_id")) or self._last
            self.turns.append(("tool", (), answered, content_of(block.get("content"))[0] or _UNANSWERED))
        elif kind == "thinking":
            self.thinking += 1

    def _end(self) -> None:
        if self._text.strip() or self._calls:
            self.turns.append((None, tuple(self._calls), None, self._text))
        self._text, self._calls = "", []


def _projects(folder: Folder, place: Place) -> Iterator[Found]:
    """Give the instructions and documents of projects."""
    for file_name in folder.named("projects"):
        with folder.opened(file_name) as file:
            for project in map(as_object, entries(file, f"{place.path}: {file_name}")):
                id, name = label(project.get("uuid")) or "", short(project.get("name"))
                if text := as_text(project.get("prompt_template")).strip():
                    yield Item(
                        kind="note", origin=("project", id), text=text, at=moment(project.get("created_at")),
                        metadata=plain({"project": name, "claude": "project instructions"}),
                    )  # fmt: skip
                for one in map(as_object, as_list(project.get("docs"))):
                    text, title = as_text(one.get("content")), short(one.get("filename")) or "document"
                    if text.strip():
                        yield Item(
                            kind="document", origin=("project", digest([id, title, text])), title=title, text=text,
                            metadata=plain({"project": name}),
                        )  # fmt: skip


def _memories(folder: Folder, place: Place) -> Iterator[Found]:
    """Give what Claude itself remembers of a person."""
    for file_name in folder.named("memories"):
        with folder.opened(file_name) as file:
            for one in map(as_object, entries(file, f"{place.path}: {file_name}")):
                kept: dict[str, object] = {"conversations": one.get("conversations_memory")}
                kept |= as_object(one.get("project_memories"))
                for about, text in kept.items():
                    if as_text(text).strip():
                        yield Item(
                            kind="note", origin=("memory", digest([about, text])), text=as_text(text),
                            metadata={"claude": "memory", "about": about},
                        )  # fmt: skip
