"""A framework's JSON objects as record data: what goes in comes out equal, and its text can be searched."""

import json
from collections.abc import Mapping
from typing import Any

from rememo.errors import InvalidInput
from rememo.model.check import check_object

_VALUE, _WRITTEN = "verbatim", "verbatim_json"


def pack_json(value: object) -> dict[str, Any]:
    """Return a JSON value as a record's data: unchanged, or serialized to text where a record cannot store it unchanged.

    That concerns NUL characters, lone surrogates, numbers beyond 64 bits and deep nesting, all of which tools and
    models do send. What JSON cannot hold raises `InvalidInput`.
    """
    try:
        return check_object({_VALUE: value}, "the item", max_bytes=2**62, max_depth=16)
    except InvalidInput:
        try:
            return {_WRITTEN: json.dumps(value)}
        except (TypeError, ValueError, RecursionError) as error:
            raise InvalidInput(f"this value cannot be kept as JSON: {error}; convert it first") from None


def unpack_json(data: Mapping[str, Any]) -> Any:
    """Return the value that `pack_json` packed."""
    if _VALUE in data:
        return data[_VALUE]
    try:
        return json.loads(data[_WRITTEN])
    except json.JSONDecodeError as error:
        raise InvalidInput(f"the stored JSON was changed, perhaps by redaction, and is JSON no more: {error}") from None


def storable_text(text: str) -> str:
    """Return a text that a record can store: without NUL characters and lone surrogates."""
    return text.replace("\0", "").encode(errors="replace").decode()
