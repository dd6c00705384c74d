"""Claude: the export of an account or an organisation, as one archive or as several: conversations, projects, memories, designs.

A conversation is a list of `chat_messages`, each with content blocks and with the message it follows: where one was edited
or asked for again, the list holds all, and the path to the newest is what the person sees. What was attached to a message is
there as the text that was read out of it; files that were not text are named only.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from rememo.errors import InvalidInput
from rememo.imports.claude_blocks import Turns
from rememo.imports.claude_design import as_conversation
from rememo.imports.folder import Folder, folder_of, own_name
from rememo.imports.item import (
    ATTACHED,
    BESIDE,
    EMPTY,
    HIDDEN,
    UNREAD,
    UNREADABLE,
    Beside,
    Found,
    Item,
    Json,
    Left,
    as_list,
    as_object,
    as_text,
    digest,
    label,
    moment,
    not_before,
    plain,
    short,
)
from rememo.imports.source_path import BLOCK, Place, entries
from rememo.imports.visible_path import shown

_ROLES: Final = {"human": "user", "user": "user", "assistant": "assistant"}
_ROOT: Final = "00000000-0000-4000-8000-000000000000"
"""What the first message of a conversation follows."""
_PARTS: Final = ("conversations", "design_chats", "projects", "memories")
_BLANK: Final = "a conversation without messages"
_SENDER: Final = "a message of an unknown sender"
_SUMMARY: Final = "a summary that Claude wrote of a conversation"
_ABSENT: Final = "an archive that the manifest names and that is not there: {}"
_ACCOUNT: Final = re.compile(rb'"account"\s*:\s*\{\s*"uuid"\s*:\s*"([^"\\]+)"')


def read(place: Place) -> Iterator[Found]:
    """Give the messages of every conversation in their order, with what was attached, projects and memories."""
    with folder_of(place) as folder:
        files = folder.names if folder.single else [one for part in _PARTS for one in folder.named(part, within=True)]
        if not files:
            raise InvalidInput(
                f"{place.path} has no conversations.json, nor projects or memories; name the archive that Claude sent,"
                " or the folder of its archives"
            )
        place.glancing = True
        export = _Export(place, several=_accounts(folder) > 1)
        place.glancing = False
        for name in dict.fromkeys(files):
            with folder.opened(name) as file:
                for one in entries(file, f"{place.path}: {name}", "conversations"):
                    yield from export.found(as_object(one))
        yield from _absent(folder)
        if folder.unread:
            yield Left(UNREAD, folder.unread)


def _accounts(folder: Folder) -> int:
    """Return how many people an export is of: as it says, or as their conversations do."""
    found: set[object] = set()
    for name in [] if folder.single else folder.named("users"):
        with folder.opened(name) as file:
            found |= {label(as_object(one).get("uuid")) for one in entries(file, name)}
    for name in folder.main("conversations") if not found else []:
        with folder.opened(name) as file:
            rest = b""
            while block := file.read(BLOCK):
                found |= {*_ACCOUNT.findall(rest + block)}
                rest = block[-200:]
    return len(found)


def _absent(folder: Folder) -> Iterator[Found]:
    """Tell which archives are missing: each has an address of its own that works once."""
    for name in [] if folder.single else folder.named("manifest"):
        for one in map(as_object, as_list(folder.small(name).get("data_files"))):
            file, part = own_name(as_text(one.get("filename"))), as_text(one.get("category"))
            unpacked = not folder.archives and folder.named(part, within=True)
            if part in _PARTS and file not in folder.archives and not unpacked:
                yield Left(_ABSENT.format(file))


class _Export:
    """An export on its way through: what an entry is, its fields tell."""

    def __init__(self, place: Place, *, several: bool) -> None:
        self._place = place
        self._several = several
        self._projects: dict[str, str] = {}
        """The names of projects."""
        self._kinds: dict[str, Callable[[Json], Iterator[Found]]] = {
            "chat_messages": self._conversation,
            "messages": lambda values: self._conversation(as_conversation(values)),
            "docs": self._project,
            "prompt_template": self._project,
            "conversations_memory": self._memory,
            "project_memories": self._memory,
            "memory_files": self._memory,
        }

    def found(self, values: Json) -> Iterator[Found]:
        if "mapping" in values:
            raise InvalidInput(f"{self._place.path} is an export of ChatGPT: import it from chatgpt-export")
        if "data_files" in values:
            raise InvalidInput(f"{self._place.path} only names the archives of an export; name the folder they are in")
        reader = next((one for name, one in self._kinds.items() if name in values), None)
        if reader is None:
            yield Left(UNREADABLE)
        else:
            yield from reader(values)

    def _user(self, id: object) -> str | None:
        """Return whose something is, in the export of several people."""
        return label(id) if self._several else None

    # ---- conversations

    def _conversation(self, values: Json) -> Iterator[Found]:
        room = label(values.get("uuid")) or label(values.get("id"))
        if room is None:
            yield Left(UNREADABLE)
            return
        messages = {_id(room, place, one): one for place, one in enumerate(_objects(values.get("chat_messages")))}
        if broken := len(as_list(values.get("chat_messages"))) - len(messages):
            yield Left(EMPTY, broken)
        elif not messages:
            yield Left(_BLANK)
        if as_text(values.get("summary")).strip():
            yield Left(_SUMMARY)
        parents = _parents(messages)
        path = shown(parents, label(values.get("current_leaf_message_uuid")), lambda id: _time(messages[id]))
        talked = {*path}
        if beside := [id for id in messages if id not in talked]:
            yield Beside(
                room, tuple((f"claude:{room}", f"{id}{part}") for id in beside for part in _parts(messages[id]))
            )
            yield Left(BESIDE, len(beside))
        talk = _Talk(room, self._user(as_object(values.get("account")).get("uuid")), short(values.get("name")))
        last = moment(values.get("created_at"))
        for id in path:
            last = not_before(moment(messages[id].get("created_at")), last)
            yield from talk.message(id, messages[id], last)

    # ---- projects and memories

    def _project(self, project: Json) -> Iterator[Found]:
        """Give the instructions and documents of a project, and what it is about."""
        id, name = label(project.get("uuid")) or "", short(project.get("name"))
        user = self._user(as_object(project.get("creator")).get("uuid"))
        self._projects[id] = name or id
        for field, what in (("prompt_template", "project instructions"), ("description", "project description")):
            if text := as_text(project.get(field)).strip():
                yield Item(
                    kind="note", origin=("project" if field == "prompt_template" else field, id), text=text, user=user,
                    at=moment(project.get("created_at")), metadata=plain({"project": name, "claude": what}),
                )  # fmt: skip
        for one in _objects(project.get("docs")):
            text, title = as_text(one.get("content")), short(one.get("filename")) or "document"
            if not text.strip():
                yield Left(ATTACHED)
                continue
            yield Item(
                kind="document", origin=("project", digest([id, title, text])), title=title, text=text, user=user,
                metadata=plain({"project": name}),
            )  # fmt: skip

    def _memory(self, values: Json) -> Iterator[Found]:
        """Give what Claude itself remembers of a person."""
        kept: dict[str, object] = {"conversations": values.get("conversations_memory")}
        kept |= {self._projects.get(id, id): text for id, text in as_object(values.get("project_memories")).items()}
        files = map(as_object, as_list(values.get("memory_files")))
        kept |= {short(one.get("path")) or "file": one.get("content") for one in files}
        for about, text in kept.items():
            if as_text(text).strip():
                yield Item(
                    kind="note", origin=("memory", digest([about, text])), text=as_text(text),
                    user=self._user(values.get("account_uuid")), metadata={"claude": "memory", "about": about},
                )  # fmt: skip


def _objects(value: object) -> list[Json]:
    return [found for one in as_list(value) if (found := as_object(one))]


def _id(room: str, place: int, message: Json) -> str:
    return label(message.get("uuid")) or label(message.get("id")) or digest([room, place, message.get("text")])[:32]


def _time(message: Json) -> float:
    at = moment(message.get("created_at"))
    return 0.0 if at is None else at.timestamp()


def _parents(messages: dict[str, Json]) -> dict[str, str | None]:
    """Return which message each follows: the one it names, else the one before it in the list, as in older exports."""
    parents: dict[str, str | None] = {}
    before: str | None = None
    for id, message in messages.items():
        parent = label(message.get("parent_message_uuid"))
        parents[id] = None if parent == _ROOT else parent if parent in messages else before
        before = id
    return parents


def _parts(message: Json) -> list[str]:
    """Return what the ids of a message's turns end with."""
    return ["", *(f"/{number}" for number in range(1, len(as_list(message.get("content"))) + 1))]


@dataclass(frozen=True, slots=True)
class _Talk:
    """A conversation whose messages are given."""

    room: str
    user: str | None
    title: str | None

    def message(self, id: str, message: Json, at: datetime | None) -> Iterator[Found]:
        """Give the turns of a message, and what was attached to it."""
        sender = as_text(message.get("sender")) or as_text(message.get("role"))
        role = _ROLES.get(sender)
        if role is None:
            yield Left(HIDDEN if sender == "notice" else _SENDER)
            return
        attached = [as_object(one) for one in as_list(message.get("attachments"))]
        names = [name for one in attached if (name := short(one.get("file_name")))]
        files = [short(one.get("file_name") or one.get("filename")) for one in _objects(message.get("files"))]
        missing = [one for one in files if one not in names]
        made = Turns(id, message)
        metadata = plain({"title": self.title, "files": [*names, *filter(None, missing)]})
        for number, (said, calls, answers, text) in enumerate(made.turns):
            yield Item(
                kind="message", origin=(f"claude:{self.room}", id if number == 0 else f"{id}/{number}"), room=self.room,
                user=self.user, role=said or role, text=text, at=at, tool_calls=calls, tool_call_id=answers,
                name=short(message.get("name")) if (said or role) == "user" else None,
                metadata=metadata if number == 0 else plain({"title": self.title}),
            )  # fmt: skip
        yield from made.left
        if not made.turns and not attached and not missing and not made.left:
            yield Left(EMPTY)
        if missing:
            yield Left(ATTACHED, len(missing))
        yield from (self._attachment(id, one) for one in attached)

    def _attachment(self, id: str, attachment: Json) -> Found:
        name, text = short(attachment.get("file_name")) or "attachment", as_text(attachment.get("extracted_content"))
        if not text.strip():
            return Left(ATTACHED)
        return Item(
            kind="document", origin=(f"claude:{self.room}", digest([id, name, text])), room=self.room, user=self.user,
            title=name, text=text, metadata=plain({"conversation": self.title, "message": id}),
        )  # fmt: skip
