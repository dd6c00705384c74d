"""Validation at the edge: what passes here is stored exactly and read back equal."""

import inspect
import json
import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, cast

from rememo.errors import InvalidInput

Json = dict[str, Any] | list[Any] | str | int | float | bool | None

_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode

MAX_LABEL = 512
MAX_LIMIT = 10_000


def check_text(value: object, field: str, *, max_bytes: int) -> str:
    """Return text that every backend can store; NUL, lone surrogates and oversize are refused by name."""
    if not isinstance(value, str):
        hint = f"; give its {field}" if isinstance(getattr(value, field, None), str) else ""
        raise InvalidInput(f"{field} must be text, not {type(value).__name__}{hint}")
    if "\x00" in value:
        raise InvalidInput(f"{field} contains a NUL character at position {value.index(chr(0))}; remove it")
    if len(value) * 4 > max_bytes or not value.isascii():
        try:
            size = len(value.encode())
        except UnicodeEncodeError as error:
            raise InvalidInput(
                f"{field} contains a lone surrogate at position {error.start}; decode the text properly first"
            ) from None
        if size > max_bytes:
            help = "shorten it" if max_bytes == MAX_LABEL else "raise the limit"
            if field in ("text", "content"):
                help = "add it as a document or raise the limit"
            raise InvalidInput(f"{field} is {size:,} bytes, more than the {max_bytes:,} allowed; {help}")
    return value


def check_label(value: object, field: str) -> str:
    """Return an opaque, non-empty label such as an id, a tenant or a room."""
    text = check_text(value, field, max_bytes=MAX_LABEL)
    if not text:
        raise InvalidInput(f"{field} is empty; leave it out or give it a value")
    return text


def check_flag(value: object, field: str) -> bool:
    """Return True or False; anything else is refused, since both "no" and "false" count as true in Python."""
    if not isinstance(value, bool):
        raise InvalidInput(f"{field} must be True or False, not {value!r}")
    return value


def check_unit(value: object, field: str) -> float:
    """Return a number from 0 to 1."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise InvalidInput(f"{field} must be a number from 0 to 1, not {value!r}")
    return float(value)


def check_limit(value: object, field: str = "limit", *, maximum: int = MAX_LIMIT) -> int:
    """Return a count of things asked for, from 1 to `maximum`."""
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= maximum:
        raise InvalidInput(f"{field} must be a whole number from 1 to {maximum:,}, not {value!r}")
    return value


def check_version(value: object, field: str = "expected_version") -> int:
    """Return the number of a version, from 1."""
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value < 2**62:
        raise InvalidInput(f"{field} must be a whole number from 1, not {value!r}")
    return value


def check_offset(value: object, field: str = "offset") -> int:
    """Return a number of things to pass over, from 0."""
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**62:
        raise InvalidInput(f"{field} must be a whole number from 0, not {value!r}")
    return value


def check_many(value: object, field: str) -> tuple[Any, ...]:
    """Return what a collection holds; a text is none, though it can be gone through letter by letter."""
    if isinstance(value, str | bytes) or not isinstance(value, Iterable):
        raise InvalidInput(f"{field} must be a collection such as a list, not {type(value).__name__}")
    return tuple(cast("Iterable[Any]", value))


def check_function(value: object, field: str) -> None:
    """Refuse what cannot be called, and async functions: they would not be awaited, so they would never run."""
    if not callable(value):
        raise InvalidInput(f"{field} must be a function, not {type(value).__name__}")
    if inspect.iscoroutinefunction(value) or inspect.iscoroutinefunction(value.__call__):
        raise InvalidInput(
            f"{field} must be a plain function, since an async one would not be awaited;"
            " let a plain one start it by asyncio.run_coroutine_threadsafe()"
        )


def check_object(value: object, field: str, *, max_bytes: int, max_depth: int) -> dict[str, Any]:
    """Return a deep copy of a JSON object; tuples become lists, anything JSON cannot hold is refused by name."""
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise InvalidInput(f"{field} must be a mapping, not {type(value).__name__}")
    if not value:
        return {}
    copy = cast("dict[str, Any]", check_json(cast("object", value), field, max_bytes=max_bytes, depth=max_depth))
    size = len(dump_json(copy).encode())
    if size > max_bytes:
        raise InvalidInput(f"{field} is {size:,} bytes of JSON, more than the {max_bytes:,} allowed")
    return copy


def check_json(value: object, field: str, *, max_bytes: int, depth: int) -> Json:
    """Return a deep copy of a JSON value, nested at most `depth` levels."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return check_text(value, field, max_bytes=max_bytes)
    if isinstance(value, int):
        # Longer ones would be cut by readers of the store other than Python.
        if not -(2**63) <= value < 2**63:
            raise InvalidInput(f"{field} is a whole number beyond 64 bits; store it as text")
        return int(value)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise InvalidInput(f"{field} is {value}, which JSON cannot hold; use None or text")
        return float(value)
    if depth <= 0:
        raise InvalidInput(f"{field} is nested too deeply; flatten it or raise the limit")
    if isinstance(value, Mapping):
        result: dict[str, Any] = {}
        for key, item in cast("Mapping[object, object]", value).items():
            if not isinstance(key, str):
                raise InvalidInput(f"{field} has the key {key!r}; keys must be text")
            check_text(key, f"a key of {field}", max_bytes=max_bytes)
            result[key] = check_json(item, f"{field}.{key}", max_bytes=max_bytes, depth=depth - 1)
        return result
    if isinstance(value, list | tuple):
        items = cast("list[object] | tuple[object, ...]", value)
        return [
            check_json(item, f"{field}[{index}]", max_bytes=max_bytes, depth=depth - 1)
            for index, item in enumerate(items)
        ]
    raise InvalidInput(f"{field} is a {type(value).__name__}, which JSON cannot hold; convert it first")


def texts_in(value: object) -> Iterator[str]:
    """Give every text in a JSON value, names of fields too."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for name, item in cast("Mapping[str, object]", value).items():
            yield name
            yield from texts_in(item)
    elif isinstance(value, list | tuple):
        for item in cast("list[object]", value):
            yield from texts_in(item)


def dump_json(value: Json) -> str:
    """Return the one way Rememo writes JSON: compact, keys in their order, characters as they are."""
    return _encode(value)
