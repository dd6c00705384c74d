"""The content of ChatGPT's messages: text of many content types, and the files that it refers to.

Marks that ChatGPT's own pages draw as links, cards and footnotes stand in the text between characters of the private use area,
such as `<E200>cite<E202>turn0search1<E201>`; what they stand for is in `content_references` beside it.
"""

import json
import re
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

from rememo.imports.folder import Folder, base_name
from rememo.imports.json_values import Json, as_list, as_object, as_text, as_title

_MARK: Final = re.compile("\ue200([^\ue200\ue201]*)\ue201")
_LONE_MARK: Final = re.compile("[\ue200-\ue20f]")
_LINKS: Final = ("url", "link_title")
_FILE: Final = re.compile(r"file[-_][0-9A-Za-z]+")
_MAX_IMAGE: Final = 512 * 1024
_MAX_FILE: Final = 4 * 1024 * 1024
_NO_TEXT: Final = ("image/", "audio/", "video/")
_ORIGIN_FIELDS: Final = ("title", "url", "name")
_TEXT_FIELDS: Final = ("text", "result", "summary", "output_str", "snippet")
"""The text fields of contents without parts, the best first: of code, tools, pages, and errors."""


@dataclass(slots=True)
class MessageContent:
    """The content of a message."""

    text: str = ""
    pointers: list[str] = field(default_factory=list[str])
    """Images."""
    other: list[str] = field(default_factory=list[str])
    """The content types of parts that are neither."""


def read_message_content(content: Json, metadata: Json) -> MessageContent:
    """Return the text, images and other parts of a content, with the references of its message's metadata."""
    content_read = MessageContent()
    texts: list[str] = []
    for part in as_list(content.get("parts")):
        if isinstance(part, str):
            texts.append(part)
        else:
            _read_part(as_object(part), texts, content_read)
    if not texts and not content_read.pointers and not content_read.other:
        texts.append(_read_without_parts(content, content_read))
    drawn = as_list(as_object(metadata.get("aggregate_result")).get("messages"))
    content_read.pointers += [
        url for drawn_message in drawn if (url := as_text(as_object(drawn_message).get("image_url")))
    ]
    content_read.text = resolve_marks(
        "\n".join(text for text in texts if text), as_list(metadata.get("content_references"))
    )
    return content_read


def _read_part(part: Json, texts: list[str], message: MessageContent) -> None:
    kind = as_text(part.get("content_type"))
    if kind == "image_asset_pointer":
        message.pointers.append(as_text(part.get("asset_pointer")))
    elif transcript := as_text(part.get("text")):  # what was spoken, written down
        texts.append(transcript)
    elif part:
        message.other.append(kind or "unknown")


def _read_without_parts(content: Json, message: MessageContent) -> str:
    """Return the text of a content without parts: its origin, and its text."""
    words = next((text for name in _TEXT_FIELDS if (text := as_text(content.get(name)).strip("\n"))), "")
    screen = as_object(content.get("screenshot"))
    if screen:
        message.pointers.append(as_text(screen.get("asset_pointer")))
        state = as_object(content.get("state"))
        words = words or "\n".join(filter(None, (as_text(state.get(name)) for name in _ORIGIN_FIELDS)))
    elif not words and any(value for name, value in content.items() if name not in _IGNORED_FIELDS):
        message.other.append(as_text(content.get("content_type")) or "unknown")
    where = [as_text(content.get(name)) for name in _ORIGIN_FIELDS] if words and not screen else []
    return "\n".join(line for line in (*where, words) if line and not line.startswith("file-id:"))


_IGNORED_FIELDS: Final = (
    "content_type",
    "parts",
    "language",
    "response_format_name",
    "tether_id",
    "metadata",
    "assets",
)


# ---- marks


def resolve_marks(text: str, references: list[Any]) -> str:
    """Return a text with its marks replaced by what they stand for."""
    for reference in map(as_object, references):
        mark, stands_for = (
            as_text(reference.get("matched_text")),
            as_text(reference.get("alt")) or _reference_file(reference),
        )
        # Some references match a mere blank, and mean no mark.
        if stands_for and mark.startswith(("\ue200", "\u3010")):
            text = text.replace(mark, stands_for)
    return _LONE_MARK.sub("", _MARK.sub(_mark_text, text)) if _LONE_MARK.search(text) else text


def _reference_file(reference: Json) -> str:
    return f"[{name}]" if reference.get("type") == "file" and (name := as_title(reference.get("name"))) else ""


def _mark_text(mark: re.Match[str]) -> str:
    """Return the text that a mark shows: the name of an entity, or a link; empty for footnotes."""
    kind, *fields = mark[1].split("\ue202")
    if kind == "entity" and fields:
        try:
            names = [name for name in as_list(json.loads(fields[0])) if isinstance(name, str)]
        except (ValueError, RecursionError):
            return fields[0]
        return names[1] if len(names) > 1 else "".join(names)
    if kind in _LINKS and fields:
        target = fields[1] if len(fields) > 1 and fields[1].startswith(("https://", "http://")) else ""
        return f"[{fields[0]}]({target})" if target else fields[0]
    return ""


# ---- files


class Assets:
    """The files of an archive that messages point at: `file-<id>-<name>`, or newer `file_<id>.dat`."""

    def __init__(self, folder: Folder) -> None:
        self._folder = folder

    @cached_property
    def _names(self) -> dict[str, str]:
        matches = ((_FILE.match(base_name(name)), name) for name in self._folder.names)
        return {id[0]: name for id, name in matches if id is not None}

    def image(self, pointer: str) -> bytes | None:
        """Return an image of the archive; None for one that is not there, too large, or none."""
        content = self._content(pointer, _MAX_IMAGE)
        return content if content is not None and _is_image(content) else None

    def file(self, attachment: Json) -> bytes | None:
        """Return what was attached, where it is in the archive and may have text in it."""
        if as_text(attachment.get("mime_type")).startswith(_NO_TEXT):
            return None
        content = self._content(as_text(attachment.get("id")), _MAX_FILE)
        return content if content and not _is_image(content) else None

    def _content(self, pointer: str, most: int) -> bytes | None:
        name = self._names.get(_file_id(pointer))
        if name is None or self._folder.size(name) > most:
            return None
        return self._folder.read(name)


def same_file(pointer: str, attachment: Json) -> bool:
    """Return whether an attachment is an image that the message points at too."""
    id = as_text(attachment.get("id"))
    return bool(id) and _file_id(pointer) == id


def _file_id(pointer: str) -> str:
    """Return the id of a file in an address such as `file-service://file-<id>` or `sediment://…#file_<id>#p_0.jpg`."""
    return next(reversed(_FILE.findall(pointer)), "")


def _is_image(content: bytes) -> bool:
    return content.startswith((b"\x89PNG", b"\xff\xd8\xff", b"GIF8")) or content[8:12] == b"WEBP"
