"""Values of foreign JSON, read without trust: what is of another type reads as empty."""

import json
from collections.abc import Mapping
from hashlib import sha256
from typing import Any, Final, cast

Json = dict[str, Any]
_MAX_TITLE: Final = 200


def as_object(value: object) -> Json:
    """Return a JSON object, or an empty one for anything else."""
    return cast("Json", value) if isinstance(value, dict) else {}


def as_list(value: object) -> list[Any]:
    """Return a JSON list, or an empty one for anything else."""
    return cast("list[Any]", value) if isinstance(value, list | tuple) else []


def as_text(value: object) -> str:
    """Return a text, or an empty one for anything else."""
    return value if isinstance(value, str) else ""


def as_label(value: object) -> str | None:
    """Return an id as a label: text or a number that is not empty; None for anything else."""
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return value if isinstance(value, str) and value else None


def drop_empty(value: Mapping[str, Any]) -> Json:
    """Return an object without its empty entries."""
    return {name: entry for name, entry in value.items() if entry not in (None, "", [], {})}


def as_title(value: object) -> str | None:
    """Return a text shortened to fit a title; None for an empty one."""
    text = " ".join(as_text(value).split())
    return text[:_MAX_TITLE] or None


def digest(value: object) -> str:
    """Return the SHA-256 digest of a JSON value, the same in every process."""
    text = json.dumps(value, sort_keys=True, default=str, ensure_ascii=True, separators=(",", ":"))
    return sha256(text.encode()).hexdigest()


def parse_object(text: str) -> Json:
    """Return the JSON object that a text holds, or an empty one."""
    if not text.lstrip().startswith("{"):
        return {}
    try:
        return as_object(json.loads(text))
    except (ValueError, RecursionError):
        return {}
