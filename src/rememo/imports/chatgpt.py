"""ChatGPT: the archive of a person's account, with `conversations.json` (or `conversations-000.json` and so on).

A conversation is a tree of messages. What the person sees is the path from its root to `current_node`; what lies beside
it was edited or asked for again, and is left out.
"""

from collections.abc import Iterator
from datetime import datetime
from typing import Any, Final

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
    digest,
    label,
    moment,
    not_before,
    plain,
    short,
)

_BESIDE: Final = "a message beside the path that is shown: edited, or asked for again"
_HIDDEN: Final = "a message that ChatGPT itself hides"
_EMPTY: Final = "a message without words"
_REASONING: Final = "a step of reasoning"
_UNREADABLE: Final = "an entry that is no conversation"
_NO_IMAGE: Final = "an image that is not in the export, or too large"
_OTHER: Final = "a part that is no text: {}"
_LARGEST_IMAGE: Final = 512 * 1024
_ALL: Final = "all"
_THINKING: Final = ("thoughts", "reasoning_recap")
_CONTEXT: Final = ("user_editable_context", "model_editable_context")


def read(place: Place) -> Iterator[Found]:
    """Give the messages of every conversation in their order, and what the person told ChatGPT to keep in mind."""
    with place.folder() as folder:
        files = folder.main("conversations")
        if not files:
            raise InvalidInput(f"{place.path} has no conversations.json; name the archive that ChatGPT sent")
        seen: set[str] = set()
        for name in files:
            with folder.opened(name) as file:
                for one in entries(file, f"{place.path}: {name}"):
                    yield from _Conversation(as_object(one), folder, seen).found()


class _Conversation:
    """One conversation, on its way through."""

    def __init__(self, values: Json, folder: Folder, seen: set[str]) -> None:
        self._values = values
        self._folder = folder
        self._seen = seen
        self._id = label(values.get("conversation_id")) or label(values.get("id"))
        self._nodes = as_object(values.get("mapping"))
        self._title = short(values.get("title"))
        self._last: datetime | None = moment(values.get("create_time"))
        self._call: str | None = None
        """The call that waits for its result."""

    def found(self) -> Iterator[Found]:
        if self._id is None or not self._nodes:
            yield Left(_UNREADABLE)
            return
        path = self._path()
        for node in path:
            yield from self._message(self._id, node, as_object(as_object(self._nodes[node]).get("message")))
        shown = set(path)
        beside = sum(1 for id, node in self._nodes.items() if id not in shown and _says(node))
        if beside:
            yield Left(_BESIDE, beside)

    def _path(self) -> list[str]:
        """Return the ids from the root to the current node; without one, to the newest leaf."""
        current = label(self._values.get("current_node"))
        if current not in self._nodes:
            leaves = [id for id, node in self._nodes.items() if not as_list(as_object(node).get("children"))]
            current = max(leaves, key=self._time, default=None)
        path: dict[str, None] = {}
        while current is not None and current in self._nodes and current not in path:
            path[current] = None
            current = label(as_object(self._nodes[current]).get("parent"))
        return list(reversed(path))

    def _time(self, id: str) -> float:
        at = moment(as_object(as_object(self._nodes[id]).get("message")).get("create_time"))
        return 0.0 if at is None else at.timestamp()

    def _message(self, room: str, node: str, message: Json) -> Iterator[Found]:
        content = as_object(message.get("content"))
        kind = as_text(content.get("content_type"))
        if kind in _CONTEXT:
            yield from self._kept_in_mind(content)
            return
        role = as_text(as_object(message.get("author")).get("role"))
        if not message or _hidden(message, role):
            if _words(content)[0]:
                yield Left(_HIDDEN)
            return
        if kind in _THINKING:
            yield Left(_REASONING)
            return
        text, pointers, other = _words(content)
        images = tuple(one for one in map(self._image, pointers) if one is not None)
        yield from (Left(_OTHER.format(one)) for one in other)
        if len(images) < len(pointers):
            yield Left(_NO_IMAGE, len(pointers) - len(images))
        self._last = not_before(moment(message.get("create_time")), self._last)
        calls, answers = self._tools(node, message, role, text)
        if calls:
            text = ""
        if not text.strip() and not calls and not images:
            yield Left(_EMPTY)
            return
        author, more = as_object(message.get("author")), as_object(message.get("metadata"))
        yield Item(
            kind="message", origin=(f"chatgpt:{room}", node), room=room, role=role, text=text, at=self._last,
            tool_calls=calls, tool_call_id=answers, images=images,
            metadata=plain(
                {"title": self._title, "model": short(more.get("model_slug")), "tool": short(author.get("name"))}
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

    def _kept_in_mind(self, content: Json) -> Iterator[Found]:
        names = ("user_profile", "user_instructions", "model_set_context")
        for name in names:
            text = as_text(content.get(name)).strip()
            key = digest([name, text])
            if text and key not in self._seen:
                self._seen.add(key)  # it stands in every conversation that was held under it
                yield Item(kind="note", origin=(name, key), text=text, at=self._last, metadata={"chatgpt": name})

    def _image(self, pointer: str) -> bytes | None:
        """Return an image of the archive: the file whose name begins with what the pointer says."""
        wanted = pointer.rpartition("/")[2].partition("#")[0].partition("?")[0]
        if not wanted:
            return None
        for name in self._folder.names:
            if name.replace("\\", "/").rpartition("/")[2].startswith(wanted):
                if self._folder.size(name) > _LARGEST_IMAGE:
                    return None
                with self._folder.opened(name) as file:
                    content = file.read()
                return content if _is_image(content) else None
        return None


def _hidden(message: Json, role: str) -> bool:
    more = as_object(message.get("metadata"))
    return role not in ("user", "assistant", "tool") or bool(more.get("is_visually_hidden_from_conversation"))


def _words(content: Json) -> tuple[str, list[str], list[str]]:
    """Return the text of a content, the images it points at, and what else it holds."""
    texts: list[str] = []
    images: list[str] = []
    other: list[str] = []
    parts: list[Any] = as_list(content.get("parts")) or [content.get("text") or content.get("result") or ""]
    for part in parts:
        if isinstance(part, str):
            texts.append(part)
            continue
        known = as_object(part)
        kind = as_text(known.get("content_type"))
        if kind == "image_asset_pointer":
            images.append(as_text(known.get("asset_pointer")))
        elif said := as_text(known.get("text")):  # what was spoken, written down
            texts.append(said)
        elif part:
            other.append(kind or "unknown")
    return "\n".join(one for one in texts if one), images, other


def _says(node: object) -> bool:
    message = as_object(as_object(node).get("message"))
    role = as_text(as_object(message.get("author")).get("role"))
    return bool(message) and not _hidden(message, role) and bool(_words(as_object(message.get("content")))[0])


def _is_image(content: bytes) -> bool:
    return content.startswith((b"\x89PNG", b"\xff\xd8\xff", b"GIF8")) or content[8:12] == b"WEBP"
