"""ChatGPT: the archive of a person's account, with `conversations.json` (or `conversations-000.json` and so on).

A conversation is a tree of messages. What the person sees is the path from its root to `current_node`; what lies beside
it was edited or asked for again, and is left out.
"""

from collections.abc import Iterator
from datetime import datetime
from typing import Final

from rememo.errors import InvalidInput
from rememo.imports.chatgpt_content import Assets, Spoken, same_file, spoken
from rememo.imports.folder import Folder, folder_of, own_name
from rememo.imports.item import (
    ATTACHED,
    BESIDE,
    EMPTY,
    HIDDEN,
    OTHER,
    REASONING,
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
    call_of,
    digest,
    label,
    moment,
    not_before,
    plain,
    short,
)
from rememo.imports.source_path import Place, entries
from rememo.imports.visible_path import shown

_NO_IMAGE: Final = "an image that is not in the export, or too large"
_MISSING: Final = "a file of conversations that the export names and that is not in it"
_ALL: Final = "all"
_MEMORY: Final = "bio"
"""The tool by which ChatGPT writes down what it will remember."""
_THINKING: Final = ("thoughts", "reasoning_recap")
_CONTEXT: Final = ("user_editable_context", "model_editable_context")
_TOLD: Final = {"about_user_message": "user_profile", "about_model_message": "user_instructions"}
"""What a person told ChatGPT about themselves and how to answer, as the metadata of a message has it."""


def read(place: Place) -> Iterator[Found]:
    """Give the messages of every conversation in their order, and what the person told ChatGPT to keep in mind."""
    with folder_of(place) as folder:
        files = folder.main("conversations")
        if not files:
            raise InvalidInput(f"{place.path} has no conversations.json; name the archive that ChatGPT sent")
        seen: set[str] = set()
        assets = Assets(folder)
        for name in files:
            with folder.opened(name) as file:
                for one in entries(file, f"{place.path}: {name}", "conversations"):
                    values = as_object(one)
                    if "chat_messages" in values:
                        raise InvalidInput(f"{place.path} is an export of Claude: import it from claude-export")
                    yield from _Conversation(values, assets, seen).found()
        yield from _missing(folder, files)
        if folder.unread:
            yield Left(UNREAD, folder.unread)


def _missing(folder: Folder, files: list[str]) -> Iterator[Found]:
    """Tell how many parts an archive should have that it has not."""
    there = {own_name(one) for one in files}
    for name in [] if folder.single else folder.named("export_manifest"):
        parts = as_object(as_object(folder.small(name).get("logical_files")).get("conversations.json"))
        lost = [one for one in map(as_text, as_list(parts.get("files"))) if one and own_name(one) not in there]
        if lost:
            yield Left(_MISSING, len(lost))


class _Conversation:
    """One conversation, on its way through."""

    def __init__(self, values: Json, assets: Assets, seen: set[str]) -> None:
        self._values = values
        self._assets = assets
        self._seen = seen
        self._id = label(values.get("conversation_id")) or label(values.get("id"))
        self._nodes = {id: as_object(node) for id, node in as_object(values.get("mapping")).items()}
        self._title = short(values.get("title"))
        self._last: datetime | None = moment(values.get("create_time"))
        self._call: str | None = None
        """The call that waits for its result."""

    def found(self) -> Iterator[Found]:
        if self._id is None or not self._nodes:
            yield Left(UNREADABLE)
            return
        parents = {id: label(node.get("parent")) for id, node in self._nodes.items()}
        path = shown(parents, label(self._values.get("current_node")), self._time)
        on_it = {*path}
        beside = [id for id, node in self._nodes.items() if id not in on_it and _says(_message_of(node))]
        if beside:
            yield Beside(self._id, tuple((f"chatgpt:{self._id}", id) for id in beside))
            yield Left(BESIDE, len(beside))
        for node in path:
            yield from self._message(self._id, node, _message_of(self._nodes[node]))

    def _time(self, id: str) -> float:
        at = moment(_message_of(self._nodes[id]).get("create_time"))
        return 0.0 if at is None else at.timestamp()

    def _message(self, room: str, node: str, message: Json) -> Iterator[Found]:
        content, more = as_object(message.get("content")), as_object(message.get("metadata"))
        kind = as_text(content.get("content_type"))
        yield from self._kept_in_mind(content, as_object(more.get("user_context_message_data")))
        if kind in _CONTEXT:
            return
        said = spoken(content, more)
        if _hidden(message):
            if _holds(said):
                yield Left(HIDDEN)
            return
        if kind in _THINKING:
            yield Left(REASONING)
            return
        self._last = not_before(moment(message.get("create_time")), self._last)
        attached = [
            one
            for one in map(as_object, as_list(more.get("attachments")))
            if not any(same_file(pointer, one) for pointer in said.pointers)
        ]
        yield from self._turn(room, node, message, said, attached)
        for one in attached:
            yield self._file(room, node, one)

    def _turn(self, room: str, node: str, message: Json, said: Spoken, attached: list[Json]) -> Iterator[Found]:
        author, more = as_object(message.get("author")), as_object(message.get("metadata"))
        role, text = as_text(author.get("role")), said.text
        images = tuple(one for one in map(self._assets.image, said.pointers) if one is not None)
        yield from (Left(OTHER.format(one)) for one in said.other)
        if len(images) < len(said.pointers):
            yield Left(_NO_IMAGE, len(said.pointers) - len(images))
        calls, answers = self._tools(node, message, role, text)
        if calls:
            yield from self._remembered(as_text(message.get("recipient")), text)
            text = ""
        if not text.strip() and not calls and not images:
            # What it holds instead of words was told.
            if not attached and not said.other and not said.pointers:
                yield Left(EMPTY)
            return
        model = more.get("model_slug") or (self._values.get("default_model_slug") if role == "assistant" else None)
        yield Item(
            kind="message", origin=(f"chatgpt:{room}", node), room=room, role=role, text=text, at=self._last,
            tool_calls=calls, tool_call_id=answers, images=images,
            metadata=plain(
                {
                    "title": self._title, "model": short(model), "tool": short(author.get("name")),
                    "files": [*filter(None, (short(one.get("name")) for one in attached))],
                }
            ),
        )  # fmt: skip

    def _tools(self, node: str, message: Json, role: str, text: str) -> tuple[tuple[Json, ...], str | None]:
        """Return the call that a message makes, or that it answers: what an assistant says to a tool is a call of it."""
        recipient = as_text(message.get("recipient"))
        if role == "assistant" and recipient not in ("", _ALL):
            self._call = node
            return (call_of(node, recipient, text),), None
        if role == "tool":
            return (), self._call
        self._call = None
        return (), None

    def _file(self, room: str, node: str, attachment: Json) -> Found:
        """Return what was attached, as a document; its text is read out of it when it is stored."""
        content = self._assets.file(attachment)
        if content is None:
            return Left(ATTACHED)
        name = short(attachment.get("name")) or "attachment"
        return Item(
            kind="document", origin=(f"chatgpt:{room}", digest([node, attachment.get("id")])), room=room, title=name,
            text="", content=content, metadata=plain({"conversation": self._title, "message": node}),
        )  # fmt: skip

    def _kept_in_mind(self, content: Json, told: Json) -> Iterator[Found]:
        known = {
            name: as_text(content.get(name)) for name in ("user_profile", "user_instructions", "model_set_context")
        }
        # The metadata has the same without what ChatGPT writes around it for its model.
        known |= {name: text for field, name in _TOLD.items() if (text := as_text(told.get(field)))}
        for name, text in known.items():
            yield from self._note(name, text)

    def _remembered(self, tool: str, text: str) -> Iterator[Found]:
        if tool == _MEMORY:
            yield from self._note("memory", text)

    def _note(self, name: str, text: str) -> Iterator[Found]:
        key = digest([name, text.strip()])
        if text.strip() and key not in self._seen:
            self._seen.add(key)  # it stands in every conversation that was held under it
            yield Item(kind="note", origin=(name, key), text=text.strip(), at=self._last, metadata={"chatgpt": name})


def _message_of(node: Json) -> Json:
    return as_object(node.get("message"))


def _hidden(message: Json) -> bool:
    more = as_object(message.get("metadata"))
    role = as_text(as_object(message.get("author")).get("role"))
    return role not in ("user", "assistant", "tool") or bool(more.get("is_visually_hidden_from_conversation"))


def _holds(said: Spoken) -> bool:
    return bool(said.text.strip() or said.pointers or said.other)


def _says(message: Json) -> bool:
    content = as_object(message.get("content"))
    if _hidden(message) or as_text(content.get("content_type")) in (*_CONTEXT, *_THINKING):
        return False
    return _holds(spoken(content, as_object(message.get("metadata"))))
