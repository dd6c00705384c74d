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
from rememo.imports.claude_blocks import ClaudeTurns
from rememo.imports.claude_design import to_conversation
from rememo.imports.folder import Folder, base_name, open_folder
from rememo.imports.item import AbandonedMessages, ImportItem, ReadResult, Skipped
from rememo.imports.json_values import Json, as_label, as_list, as_object, as_text, as_title, digest, drop_empty
from rememo.imports.message_times import in_order, parse_time, sort_time
from rememo.imports.skip_reasons import ABANDONED, EMPTY, HIDDEN, NO_FILE, UNREAD_FILE, UNREADABLE
from rememo.imports.source_path import BLOCK, SourcePath, iter_entries
from rememo.imports.visible_path import visible_path

_ROLES: Final = {"human": "user", "user": "user", "assistant": "assistant"}
_ROOT: Final = "00000000-0000-4000-8000-000000000000"
"""What the first message of a conversation follows."""
_PARTS: Final = ("conversations", "design_chats", "projects", "memories")
_NO_MESSAGES: Final = "a conversation without messages"
_UNKNOWN_SENDER: Final = "a message of an unknown sender"
_SUMMARY: Final = "a summary that Claude wrote of a conversation"
_MISSING_ARCHIVE: Final = "an archive that the manifest names and that is not there: {}"
_ACCOUNT: Final = re.compile(rb'"account"\s*:\s*\{\s*"uuid"\s*:\s*"([^"\\]+)"')


def read(source: SourcePath) -> Iterator[ReadResult]:
    """Yield the messages of every conversation in their order, with what was attached, projects and memories."""
    with open_folder(source) as folder:
        files = (
            folder.names
            if folder.is_single_file
            else [name for part in _PARTS for name in folder.json_files(part, within=True)]
        )
        if not files:
            raise InvalidInput(
                f"{source.path} has no conversations.json, nor projects or memories; name the archive that Claude sent,"
                " or the folder of its archives"
            )
        source.peeking = True
        export = _ClaudeExport(source, several=_count_accounts(folder) > 1)
        source.peeking = False
        for name in dict.fromkeys(files):
            with folder.open(name) as file:
                for entry in iter_entries(file, f"{source.path}: {name}", "conversations"):
                    yield from export.read_entry(as_object(entry))
        yield from _missing_archives(folder)
        if folder.unread_count:
            yield Skipped(UNREAD_FILE, folder.unread_count)


def _count_accounts(folder: Folder) -> int:
    """Return how many accounts an export has: by its users file, else by its conversations."""
    accounts: set[object] = set()
    for name in [] if folder.is_single_file else folder.json_files("users"):
        with folder.open(name) as file:
            accounts |= {as_label(as_object(entry).get("uuid")) for entry in iter_entries(file, name)}
    for name in folder.main_files("conversations") if not accounts else []:
        with folder.open(name) as file:
            rest = b""
            while block := file.read(BLOCK):
                accounts |= {*_ACCOUNT.findall(rest + block)}
                rest = block[-200:]
    return len(accounts)


def _missing_archives(folder: Folder) -> Iterator[ReadResult]:
    """Report which archives are missing: each has its own download link that works once."""
    for name in [] if folder.is_single_file else folder.json_files("manifest"):
        for archive in map(as_object, as_list(folder.read_small(name).get("data_files"))):
            file, part = base_name(as_text(archive.get("filename"))), as_text(archive.get("category"))
            unpacked = not folder.archives and folder.json_files(part, within=True)
            if part in _PARTS and file not in folder.archives and not unpacked:
                yield Skipped(_MISSING_ARCHIVE.format(file))


class _ClaudeExport:
    """Reads an export; the fields of an entry tell its type."""

    def __init__(self, source: SourcePath, *, several: bool) -> None:
        self._source = source
        self._several = several
        self._projects: dict[str, str] = {}
        """The names of projects."""
        self._kinds: dict[str, Callable[[Json], Iterator[ReadResult]]] = {
            "chat_messages": self._conversation,
            "messages": lambda values: self._conversation(to_conversation(values)),
            "docs": self._project,
            "prompt_template": self._project,
            "conversations_memory": self._memory,
            "project_memories": self._memory,
            "memory_files": self._memory,
        }

    def read_entry(self, values: Json) -> Iterator[ReadResult]:
        if "mapping" in values:
            raise InvalidInput(f"{self._source.path} is an export of ChatGPT: import it from chatgpt-export")
        if "data_files" in values:
            raise InvalidInput(f"{self._source.path} only names the archives of an export; name the folder they are in")
        reader = next((kind_reader for name, kind_reader in self._kinds.items() if name in values), None)
        if reader is None:
            yield Skipped(UNREADABLE)
        else:
            yield from reader(values)

    def _user(self, id: object) -> str | None:
        """Return the user label of an account id, in the export of several people."""
        return as_label(id) if self._several else None

    # ---- conversations

    def _conversation(self, values: Json) -> Iterator[ReadResult]:
        room = as_label(values.get("uuid")) or as_label(values.get("id"))
        if room is None:
            yield Skipped(UNREADABLE)
            return
        messages = {
            _message_id(room, position, message): message
            for position, message in enumerate(_nonempty_objects(values.get("chat_messages")))
        }
        if broken := len(as_list(values.get("chat_messages"))) - len(messages):
            yield Skipped(EMPTY, broken)
        elif not messages:
            yield Skipped(_NO_MESSAGES)
        if as_text(values.get("summary")).strip():
            yield Skipped(_SUMMARY)
        parents = _parents(messages)
        path = visible_path(
            parents,
            as_label(values.get("current_leaf_message_uuid")),
            lambda id: sort_time(messages[id].get("created_at")),
        )
        visible = {*path}
        if abandoned := [id for id in messages if id not in visible]:
            yield AbandonedMessages(
                room,
                tuple((f"claude:{room}", f"{id}{part}") for id in abandoned for part in _turn_suffixes(messages[id])),
            )
            yield Skipped(ABANDONED, len(abandoned))
        conversation = _ClaudeConversation(
            room, self._user(as_object(values.get("account")).get("uuid")), as_title(values.get("name"))
        )
        last = parse_time(values.get("created_at"))
        for id in path:
            last = in_order(parse_time(messages[id].get("created_at")), last)
            yield from conversation.message(id, messages[id], last)

    # ---- projects and memories

    def _project(self, project: Json) -> Iterator[ReadResult]:
        """Yield the instructions and documents of a project, and what it is about."""
        id, name = as_label(project.get("uuid")) or "", as_title(project.get("name"))
        user = self._user(as_object(project.get("creator")).get("uuid"))
        self._projects[id] = name or id
        for field, what in (("prompt_template", "project instructions"), ("description", "project description")):
            if text := as_text(project.get(field)).strip():
                yield ImportItem(
                    kind="note", origin=("project" if field == "prompt_template" else field, id), text=text, user=user,
                    at=parse_time(project.get("created_at")), metadata=drop_empty({"project": name, "claude": what}),
                )  # fmt: skip
        for document in _nonempty_objects(project.get("docs")):
            text, title = as_text(document.get("content")), as_title(document.get("filename")) or "document"
            if not text.strip():
                yield Skipped(NO_FILE)
                continue
            yield ImportItem(
                kind="document", origin=("project", digest([id, title, text])), title=title, text=text, user=user,
                metadata=drop_empty({"project": name}),
            )  # fmt: skip

    def _memory(self, values: Json) -> Iterator[ReadResult]:
        """Yield Claude's own memory of a person."""
        memories: dict[str, object] = {"conversations": values.get("conversations_memory")}
        memories |= {self._projects.get(id, id): text for id, text in as_object(values.get("project_memories")).items()}
        files = map(as_object, as_list(values.get("memory_files")))
        memories |= {as_title(file.get("path")) or "file": file.get("content") for file in files}
        for about, text in memories.items():
            if as_text(text).strip():
                yield ImportItem(
                    kind="note", origin=("memory", digest([about, text])), text=as_text(text),
                    user=self._user(values.get("account_uuid")), metadata={"claude": "memory", "about": about},
                )  # fmt: skip


def _nonempty_objects(value: object) -> list[Json]:
    return [fields for item in as_list(value) if (fields := as_object(item))]


def _message_id(room: str, position: int, message: Json) -> str:
    return (
        as_label(message.get("uuid"))
        or as_label(message.get("id"))
        or digest([room, position, message.get("text")])[:32]
    )


def _parents(messages: dict[str, Json]) -> dict[str, str | None]:
    """Return which message each follows: the one it names, else the one before it in the list, as in older exports."""
    parents: dict[str, str | None] = {}
    before: str | None = None
    for id, message in messages.items():
        parent = as_label(message.get("parent_message_uuid"))
        parents[id] = None if parent == _ROOT else parent if parent in messages else before
        before = id
    return parents


def _turn_suffixes(message: Json) -> list[str]:
    """Return the suffixes of the ids of a message's turns."""
    return ["", *(f"/{number}" for number in range(1, len(as_list(message.get("content"))) + 1))]


@dataclass(frozen=True, slots=True)
class _ClaudeConversation:
    """Yields the items of one conversation's messages."""

    room: str
    user: str | None
    title: str | None

    def message(self, id: str, message: Json, at: datetime | None) -> Iterator[ReadResult]:
        """Yield the turns of a message, and what was attached to it."""
        sender = as_text(message.get("sender")) or as_text(message.get("role"))
        role = _ROLES.get(sender)
        if role is None:
            yield Skipped(HIDDEN if sender == "notice" else _UNKNOWN_SENDER)
            return
        attached = [as_object(attachment) for attachment in as_list(message.get("attachments"))]
        names = [name for attachment in attached if (name := as_title(attachment.get("file_name")))]
        files = [
            as_title(file.get("file_name") or file.get("filename")) for file in _nonempty_objects(message.get("files"))
        ]
        missing = [file for file in files if file not in names]
        parsed = ClaudeTurns(id, message)
        metadata = drop_empty({"title": self.title, "files": [*names, *filter(None, missing)]})
        for number, (turn_role, calls, answers, text) in enumerate(parsed.turns):
            yield ImportItem(
                kind="message", origin=(f"claude:{self.room}", id if number == 0 else f"{id}/{number}"), room=self.room,
                user=self.user, role=turn_role or role, text=text, at=at, tool_calls=calls, tool_call_id=answers,
                name=as_title(message.get("name")) if (turn_role or role) == "user" else None,
                metadata=metadata if number == 0 else drop_empty({"title": self.title}),
            )  # fmt: skip
        yield from parsed.left
        if not parsed.turns and not attached and not missing and not parsed.left:
            yield Skipped(EMPTY)
        if missing:
            yield Skipped(NO_FILE, len(missing))
        yield from (self._attachment(id, attachment) for attachment in attached)

    def _attachment(self, id: str, attachment: Json) -> ReadResult:
        name, text = as_title(attachment.get("file_name")) or "attachment", as_text(attachment.get("extracted_content"))
        if not text.strip():
            return Skipped(NO_FILE)
        return ImportItem(
            kind="document", origin=(f"claude:{self.room}", digest([id, name, text])), room=self.room, user=self.user,
            title=name, text=text, metadata=drop_empty({"conversation": self.title, "message": id}),
        )  # fmt: skip
