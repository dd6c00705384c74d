"""Images embedded in messages: raster formats are served, with a type detected from their bytes.

Images at other URLs are not loaded: that would reveal to others who looks at what.
"""

import re
from base64 import b64decode
from typing import Any, Final, cast

from rememo.errors import InvalidInput, NotFound
from rememo.serve.dashboard.visit import Visit

_DATA_URL: Final = re.compile(r"data:image/(png|jpeg|gif|webp);base64,", re.ASCII)
_LARGEST: Final = 16 * 2**20
_SIGNATURES: Final = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
)


def is_embedded(address: object) -> bool:
    """Whether a URL is a data URL of a supported image type."""
    return isinstance(address, str) and _DATA_URL.match(address) is not None


def image_of(visit: Visit) -> tuple[bytes, str]:
    """Return the bytes of an image of a message, and its type as detected from the bytes, whatever was declared."""
    record = visit.memory.get(visit.query.get("id", ""), known_at=visit.time("known_at"))
    images: Any = record.data.get("images")
    listed = cast("list[object]", images) if isinstance(images, list) else []
    index = visit.number("part", least=1) - 1
    if record.kind != "message" or index >= len(listed):
        raise NotFound(f"record {record.id!r} has no image {index + 1}")
    address = listed[index]
    if not isinstance(address, str) or not is_embedded(address) or len(address) > _LARGEST * 4 // 3:
        raise InvalidInput("this image is not shown: it is not embedded, of another type, or too large")
    try:
        content = b64decode(address.partition(",")[2], validate=True)
    except ValueError:
        raise InvalidInput("this image cannot be decoded: its base64 data is damaged") from None
    return content, _detect_type(content)


def _detect_type(content: bytes) -> str:
    for beginning, kind in _SIGNATURES:
        if content.startswith(beginning):
            return kind
    if content[:4] == b"RIFF" and content[8:12] == b"WEBP":
        return "image/webp"
    raise InvalidInput("this image is not shown: it is not PNG, JPEG, GIF or WebP")
