"""The shape that chat models take: roles, parts, tool calls, and images as data URLs."""

import base64
import binascii
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rememo.errors import InvalidInput
from rememo.files import read_regular_file
from rememo.text.windows import call_ids

MAX_IMAGE_BYTES = 20_971_520
"""The largest image that is read or passed on."""

_REFUSED = re.compile(r"(?:(?![\w-])[\x00-\x7f]|\s)+")
"""Letters of other alphabets pass."""
_LONGEST_NAME = 64
_ADDRESS = re.compile(r"https?://|data:", re.IGNORECASE)
_MARKS: tuple[tuple[int, bytes, str], ...] = (
    (0, b"\x89PNG\r\n\x1a\n", "image/png"),
    (0, b"\xff\xd8\xff", "image/jpeg"),
    (0, b"GIF87a", "image/gif"),
    (0, b"GIF89a", "image/gif"),
    (8, b"WEBP", "image/webp"),
    (4, b"ftypavif", "image/avif"),
    (4, b"ftypheic", "image/heic"),
    (0, b"BM", "image/bmp"),
    (0, b"II*\x00", "image/tiff"),
    (0, b"MM\x00*", "image/tiff"),
)


def media_type(content: bytes, field: str) -> str:
    """Return an image's media type by its first bytes; what is no image is refused."""
    for start, mark, name in _MARKS:
        if content[start : start + len(mark)] == mark and (name != "image/webp" or content[:4] == b"RIFF"):
            return name
    raise InvalidInput(f"{field} is no image that is known here (PNG, JPEG, GIF, WebP, AVIF, HEIC, BMP, TIFF)")


def image_url(image: bytes | str | Path, field: str = "image") -> str:
    """Return where a model finds an image: the address as it is, or a data URL of bytes or of a file.

    The media type of a data URL is that of its bytes, whatever a file's name or the URL itself says.
    """
    if isinstance(image, str) and _ADDRESS.match(image):
        return address_url(image, field)
    if isinstance(image, str | Path):
        return _data_url(read_regular_file(image, field, max_bytes=MAX_IMAGE_BYTES), field)
    if isinstance(image, bytes | bytearray):  # pyright: ignore[reportUnnecessaryIsInstance] - callers may be untyped
        return _data_url(bytes(image), field)
    raise InvalidInput(f"{field} must be bytes, a path, an address or a data URL, not {type(image).__name__}")


def address_url(address: str, field: str = "image") -> str:
    """Return where a model finds an image that somebody else named: an address of the web as it is, or a data URL.

    For what comes from clients: no file is opened and nothing is fetched, whatever they name.
    """
    scheme = _ADDRESS.match(address)
    if scheme is None:
        raise InvalidInput(f"{field} must be an address that begins with https:// or http://, or a data: URL")
    return _data_url(_decode_data_url(address, field), field) if scheme[0].lower() == "data:" else address


def _decode_data_url(url: str, field: str) -> bytes:
    head, comma, body = url.partition(",")
    if not comma or not head.endswith(";base64"):
        raise InvalidInput(f"{field} is a data URL without ;base64; encode it so")
    try:
        return base64.b64decode(body, validate=True)
    except (binascii.Error, ValueError):
        raise InvalidInput(f"{field} is a data URL whose base64 is broken") from None


def _data_url(content: bytes, field: str) -> str:
    if not content:
        raise InvalidInput(f"{field} is empty")
    if len(content) > MAX_IMAGE_BYTES:
        raise InvalidInput(f"{field} is larger than the {MAX_IMAGE_BYTES:,} bytes allowed; make it smaller first")
    return f"data:{media_type(content, field)};base64,{base64.b64encode(content).decode()}"


def _accepted_name(name: object) -> str:
    """Return a name as chat models accept it: endpoints refuse a whole request for a blank or an apostrophe in one."""
    shaped = _REFUSED.sub("_", str(name or "").strip())[:_LONGEST_NAME]
    return shaped if shaped.strip("_") else ""


def chat_message(role: str, text: str, data: Mapping[str, Any], *, calls: bool = True) -> dict[str, Any]:
    """Return one message in the OpenAI chat shape; `calls=False` leaves its tool calls out."""
    shaped: dict[str, Any] = {"role": role, "content": text}
    if images := data.get("images"):
        parts: list[dict[str, Any]] = [{"type": "text", "text": text}] if text else []
        shaped["content"] = parts + [{"type": "image_url", "image_url": {"url": url}} for url in images]
    if name := _accepted_name(data.get("name")):
        shaped["name"] = name
    if calls and data.get("tool_calls"):
        shaped["tool_calls"] = data["tool_calls"]
        shaped["content"] = shaped["content"] or None
    if data.get("tool_call_id"):
        shaped["tool_call_id"] = data["tool_call_id"]
    return shaped


def chat_messages(turns: Sequence[tuple[str, str, Mapping[str, Any]]]) -> list[dict[str, Any]]:
    """Return messages (role, text, data) in the OpenAI chat shape, in an order that chat models accept.

    Models refuse a tool result without its call, and a call without its results before the next message. So results
    follow their call directly; a result without its call is left out, and so are calls that were never answered
    (their text stays), except in the newest message, whose answer may be on its way.
    """
    results: dict[str, tuple[str, str, Mapping[str, Any]]] = {}
    for turn in turns:
        if isinstance(turn[2].get("tool_call_id"), str):
            results.setdefault(turn[2]["tool_call_id"], turn)
    shaped: list[dict[str, Any]] = []
    for index, (role, text, data) in enumerate(turns):
        if data.get("tool_call_id"):
            continue
        called = call_ids(data)
        answered = [results[id] for id in called if id in results]
        is_complete = len(answered) == len(called) or index + 1 + len(answered) >= len(turns)
        if is_complete or text or data.get("images"):
            shaped.append(chat_message(role, text, data, calls=is_complete))
        if is_complete:
            shaped += [chat_message(*turn) for turn in answered]
    return shaped
