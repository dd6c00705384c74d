"""Paths of a model's memory files: below `/memories`, and nowhere else."""

import unicodedata
from urllib.parse import unquote

from rememo.errors import InvalidInput

ROOT = "/memories"
_LONGEST_PATH, _LONGEST_NAME = 1_024, 255
_DECODINGS = 5


def resolve_path(path: object) -> str:
    """Return the normalized path, without dots and doubled slashes; one that leads out of `/memories` is refused.

    So is one that leads out of it for anybody who takes `%2e`, a backslash or a full-width dot for what they stand for.
    """
    if not isinstance(path, str):
        raise InvalidInput(f"A path must be text, not {type(path).__name__}")
    if path != ROOT and not path.startswith(f"{ROOT}/"):
        raise InvalidInput(f"Path must start with {ROOT}, got: {path}")
    if any(unicodedata.category(character) in {"Cc", "Cs"} for character in path):
        raise InvalidInput(f"Path {path!r} has control characters in it")
    parts = _normalize(path)
    if parts is None or any(_normalize(reading) is None for reading in _decodings(path)):
        raise InvalidInput(f"Path {path} would escape {ROOT} directory")
    if len(path.encode()) > _LONGEST_PATH or any(len(part.encode()) > _LONGEST_NAME for part in parts):
        raise InvalidInput(
            f"Path {path[:80]}… is too long; a path may take {_LONGEST_PATH:,} bytes, a name {_LONGEST_NAME}"
        )
    return "/" + "/".join(parts)


def parent_directories(path: str) -> list[str]:
    """Return the directories between `/memories` and what a path names, outermost first."""
    parts = path.split("/")
    return ["/".join(parts[:end]) for end in range(3, len(parts))]


def _normalize(path: str) -> list[str] | None:
    """Return where a path leads; None when that, or a step on the way, is out of the tree."""
    parts: list[str] = []
    for part in path.split("/"):
        if part == "..":
            if not parts:
                return None
            parts.pop()
        elif part not in {"", "."}:
            parts.append(part)
    return parts if parts[:1] == [ROOT[1:]] else None


def _decodings(path: str) -> list[str]:
    """Return a path as each further decoding reads it."""
    decodings = [path]
    for _ in range(_DECODINGS):
        decodings.append(unicodedata.normalize("NFKC", unquote(decodings[-1])).replace("\\", "/"))
    return decodings[1:]
