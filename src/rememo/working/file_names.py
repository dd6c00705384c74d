"""Names that can be file names on every system."""

import re
import unicodedata

from rememo.errors import InvalidInput

_MOST_CHARACTERS = 100
_MOST_BYTES = 200
"""File systems take 255; some are left for an ending."""
_RESERVED = re.compile(r"(con|prn|aux|nul|conin\$|conout\$|(com|lpt)[0-9¹²³]) *(\..*)?", re.IGNORECASE | re.DOTALL)
_FORBIDDEN = frozenset('/\\:*?"<>|')


def check_file_name(value: object, field: str = "name") -> str:
    """Return a name, composed (NFC), that is safe as a file name on Linux, macOS and Windows."""
    if not isinstance(value, str):
        raise InvalidInput(f"{field} must be text, not {type(value).__name__}")
    name = unicodedata.normalize("NFC", value)
    if not name:
        raise InvalidInput(f"{field} is empty; give it a name")
    for index, character in enumerate(name):
        if character in _FORBIDDEN or not character.isprintable():
            raise InvalidInput(
                f"{field} {name[:120]!r} has {character!r} at position {index}, which no file name may have"
            )
    if name != name.strip(" ") or name.endswith("."):
        raise InvalidInput(f"{field} {name[:120]!r} begins or ends with a space, or ends with a dot; take that away")
    if len(name) > _MOST_CHARACTERS or len(name.encode()) > _MOST_BYTES:
        raise InvalidInput(
            f"{field} {name[:120]!r} is longer than {_MOST_CHARACTERS} characters or {_MOST_BYTES} bytes; shorten it"
        )
    if _RESERVED.fullmatch(name):
        raise InvalidInput(f"{field} {name!r} means a device on Windows; choose another")
    return name


def fold_file_name(name: str) -> str:
    """Return what two names share that a file system might take for the same."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())
