"""ChatGPT: the archive of a person's account, with `conversations.json` (or `conversations-000.json` and so on).

A conversation is a tree of messages. What the person sees is the path from its root to `current_node`; what lies beside
it was edited or asked for again, and is left out.
"""

from collections.abc import Iterator
from datetime import datetime
from typing import Final

from rememo.errors import InvalidInput
from rememo.imports.chat_content import tool_call
from rememo.imports.chatgpt_content import Assets, MessageContent, read_message_content, same_file
from rememo.imports.folder import Folder, base_name, open_folder
from rememo.imports.item import AbandonedMessages, ImportItem, ReadResult, Skipped
from rememo.imports.json_values import Json, as_label, as_list, as_object, as_text, as_title, digest, drop_empty
from rememo.imports.message_times import in_order, parse_time, sort_time
from rememo.imports.skip_reasons import ABANDONED, EMPTY, HIDDEN, NO_FILE, NOT_TEXT, REASONING, UNREAD_FILE, UNREADABLE
from rememo.imports.source_path import SourcePath, iter_entries
from rememo.imports.visible_path import visible_path

_NO_IMAGE: Final = "an image that is not in the export, or too large"
_MISSING_FILE: Final = "a file of conversations that the export names and that is not in it"
_ALL: Final = "all"
_MEMORY_TOOL: Final = "bio"
"""ChatGPT's tool for saving a memory."""
_THINKING: Final = ("thoughts", "reasoning_recap")
_CONTEXT: Final = ("user_editable_context", "model_editable_context")
_PROFILE_FIELDS: Final = {"about_user_message": "user_profile", "about_model_message": "user_instructions"}
"""The fields of a message's metadata with the person's profile and instructions."""


def read(source: SourcePath) -> Iterator[ReadResult]:
    """Yield the messages of every conversation in their order, and the profile and memories that the person gave ChatGPT."""
    with open_folder(source) as folder:
        files = folder.main_files("conversations")
        if not files:
            raise InvalidInput(f"{source.path} has no conversations.json; name the archive that ChatGPT sent")
        seen: set[str] = set()
        assets = Assets(folder)
        for name in files:
            with folder.open(name) as file:
                for entry in iter_entries(file, f"{source.path}: {name}", "conversations"):
                    values = as_object(entry)
                    if "chat_messages" in values:
                        raise InvalidInput(f"{source.path} is an export of Claude: import it from claude-export")
                    yield from _ChatGptConversation(values, assets, seen).read()
        yield from _missing_files(folder, files)
        if folder.unread_count:
            yield Skipped(UNREAD_FILE, folder.unread_count)


def _missing_files(folder: Folder, files: list[str]) -> Iterator[ReadResult]:
    """Report how many files the manifest names that are missing."""
    present = {base_name(file) for file in files}
    for name in [] if folder.is_single_file else folder.json_files("export_manifest"):
        parts = as_object(as_object(folder.read_small(name).get("logical_files")).get("conversations.json"))
        missing = [
            file_name
            for file_name in map(as_text, as_list(parts.get("files")))
            if file_name and base_name(file_name) not in present
        ]
        if missing:
            yield Skipped(_MISSING_FILE, len(missing))


class _ChatGptConversation:
    """Reads one conversation."""

    def __init__(self, values: Json, assets: Assets, seen: set[str]) -> None:
        self._values = values
        self._assets = assets
        self._seen = seen
        self._id = as_label(values.get("conversation_id")) or as_label(values.get("id"))
        self._nodes = {id: as_object(node) for id, node in as_object(values.get("mapping")).items()}
        self._title = as_title(values.get("title"))
        self._last: datetime | None = parse_time(values.get("create_time"))
        self._call: str | None = None
        """The tool call that the next tool message answers."""

    def read(self) -> Iterator[ReadResult]:
        if self._id is None or not self._nodes:
            yield Skipped(UNREADABLE)
            return
        parents = {id: as_label(node.get("parent")) for id, node in self._nodes.items()}
        path = visible_path(parents, as_label(self._values.get("current_node")), self._time)
        visible = {*path}
        abandoned = [
            id for id, node in self._nodes.items() if id not in visible and _has_visible_content(_node_message(node))
        ]
        if abandoned:
            yield AbandonedMessages(self._id, tuple((f"chatgpt:{self._id}", id) for id in abandoned))
            yield Skipped(ABANDONED, len(abandoned))
        for node in path:
            yield from self._message(self._id, node, _node_message(self._nodes[node]))

    def _time(self, id: str) -> float:
        return sort_time(_node_message(self._nodes[id]).get("create_time"))

    def _message(self, room: str, node: str, message: Json) -> Iterator[ReadResult]:
        content, metadata = as_object(message.get("content")), as_object(message.get("metadata"))
        kind = as_text(content.get("content_type"))
        yield from self._profile_notes(content, as_object(metadata.get("user_context_message_data")))
        if kind in _CONTEXT:
            return
        parsed = read_message_content(content, metadata)
        if _is_hidden(message):
            if _has_content(parsed):
                yield Skipped(HIDDEN)
            return
        if kind in _THINKING:
            yield Skipped(REASONING)
            return
        self._last = in_order(parse_time(message.get("create_time")), self._last)
        attached = [
            attachment
            for attachment in map(as_object, as_list(metadata.get("attachments")))
            if not any(same_file(pointer, attachment) for pointer in parsed.pointers)
        ]
        yield from self._turn(room, node, message, parsed, attached)
        for attachment in attached:
            yield self._file(room, node, attachment)

    def _turn(
        self, room: str, node: str, message: Json, content: MessageContent, attached: list[Json]
    ) -> Iterator[ReadResult]:
        author, metadata = as_object(message.get("author")), as_object(message.get("metadata"))
        role, text = as_text(author.get("role")), content.text
        images = tuple(image for image in map(self._assets.image, content.pointers) if image is not None)
        yield from (Skipped(NOT_TEXT.format(kind)) for kind in content.other)
        if len(images) < len(content.pointers):
            yield Skipped(_NO_IMAGE, len(content.pointers) - len(images))
        calls, answers = self._tools(node, message, role, text)
        if calls:
            yield from self._memory_note(as_text(message.get("recipient")), text)
            text = ""
        if not text.strip() and not calls and not images:
            # Its contents that are no text were reported.
            if not attached and not content.other and not content.pointers:
                yield Skipped(EMPTY)
            return
        model = metadata.get("model_slug") or (self._values.get("default_model_slug") if role == "assistant" else None)
        yield ImportItem(
            kind="message", origin=(f"chatgpt:{room}", node), room=room, role=role, text=text, at=self._last,
            tool_calls=calls, tool_call_id=answers, images=images,
            metadata=drop_empty(
                {
                    "title": self._title, "model": as_title(model), "tool": as_title(author.get("name")),
                    "files": [*filter(None, (as_title(attachment.get("name")) for attachment in attached))],
                }
            ),
        )  # fmt: skip

    def _tools(self, node: str, message: Json, role: str, text: str) -> tuple[tuple[Json, ...], str | None]:
        """Return the call that a message makes, or that it answers: what an assistant says to a tool is a call of it."""
        recipient = as_text(message.get("recipient"))
        if role == "assistant" and recipient not in ("", _ALL):
            self._call = node
            return (tool_call(node, recipient, text),), None
        if role == "tool":
            return (), self._call
        self._call = None
        return (), None

    def _file(self, room: str, node: str, attachment: Json) -> ReadResult:
        """Return what was attached, as a document; its text is read out of it when it is stored."""
        content = self._assets.file(attachment)
        if content is None:
            return Skipped(NO_FILE)
        name = as_title(attachment.get("name")) or "attachment"
        return ImportItem(
            kind="document", origin=(f"chatgpt:{room}", digest([node, attachment.get("id")])), room=room, title=name,
            text="", content=content, metadata=drop_empty({"conversation": self._title, "message": node}),
        )  # fmt: skip

    def _profile_notes(self, content: Json, user_context: Json) -> Iterator[ReadResult]:
        notes = {
            name: as_text(content.get(name)) for name in ("user_profile", "user_instructions", "model_set_context")
        }
        # The metadata has the same without what ChatGPT writes around it for its model.
        notes |= {name: text for field, name in _PROFILE_FIELDS.items() if (text := as_text(user_context.get(field)))}
        for name, text in notes.items():
            yield from self._note(name, text)

    def _memory_note(self, tool: str, text: str) -> Iterator[ReadResult]:
        if tool == _MEMORY_TOOL:
            yield from self._note("memory", text)

    def _note(self, name: str, text: str) -> Iterator[ReadResult]:
        key = digest([name, text.strip()])
        if text.strip() and key not in self._seen:
            self._seen.add(key)  # every conversation with this profile repeats it
            yield ImportItem(
                kind="note", origin=(name, key), text=text.strip(), at=self._last, metadata={"chatgpt": name}
            )


def _node_message(node: Json) -> Json:
    return as_object(node.get("message"))


def _is_hidden(message: Json) -> bool:
    metadata = as_object(message.get("metadata"))
    role = as_text(as_object(message.get("author")).get("role"))
    return role not in ("user", "assistant", "tool") or bool(metadata.get("is_visually_hidden_from_conversation"))


def _has_content(content: MessageContent) -> bool:
    return bool(content.text.strip() or content.pointers or content.other)


def _has_visible_content(message: Json) -> bool:
    content = as_object(message.get("content"))
    if _is_hidden(message) or as_text(content.get("content_type")) in (*_CONTEXT, *_THINKING):
        return False
    return _has_content(read_message_content(content, as_object(message.get("metadata"))))
