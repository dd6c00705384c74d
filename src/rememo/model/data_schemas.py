"""Schemas of the data that Rememo writes into each kind of record.

Callers may use a kind for something of their own, and may import what others wrote. So whatever reads such data asks first
whether it is of the shape that its makers write (`matches_schema`), and what could be mistaken for it is refused when it is stored
(`check_data`).
"""

from collections.abc import Callable, Mapping
from typing import Any, Final, cast

from rememo.errors import InvalidInput
from rememo.model.times import to_utc

Test = Callable[[Any], bool]

_MOST: Final = 2**53
_MICROS: Final = (-62_135_596_800_000_000, 253_402_300_799_999_999)
"""The years 1 to 9999."""


def matches_schema(kind: str, data: Mapping[str, Any]) -> bool:
    """Whether data has everything that Rememo writes into a record of this kind, each of the right type and range."""
    return all(name in data for name in _REQUIRED[kind]) and first_invalid_field(kind, data) is None


def check_data(kind: str, data: Mapping[str, Any]) -> None:
    """Refuse data whose fields would be read as those of its kind and cannot be."""
    if kind in _REFUSED and (name := first_invalid_field(kind, data)) is not None:
        raise InvalidInput(f"data.{name} cannot be {str(data[name])[:60]!r} in a record of the kind {kind!r}")


def first_invalid_field(kind: str, data: Mapping[str, Any]) -> str | None:
    """Return the first field that is there and cannot be what a field of its name is in a record of this kind."""
    for name, test in _FIELDS.get(kind, {}).items():
        if name in data and not test(data[name]):
            return name
    return None


# ---- tests


def _text(value: Any) -> bool:
    return isinstance(value, str)


def _boolean(value: Any) -> bool:
    return isinstance(value, bool)


def _count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _MOST


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and -_MOST < value < _MOST


def _unit(value: Any) -> bool:
    return _number(value) and 0 <= value <= 1


def _micros(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and _MICROS[0] <= value <= _MICROS[1]


def _time(value: Any) -> bool:
    try:
        return isinstance(value, str) and to_utc(value, "") is not None  # pyright: ignore[reportUnnecessaryComparison] - it raises
    except InvalidInput:
        return False


def _object(value: Any) -> bool:
    return isinstance(value, dict)


def _texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in cast("list[object]", value))


def _pair(value: Any) -> bool:
    return _texts(value) and len(value) == 2  # noqa: PLR2004 - a platform and an id


def _objects(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, dict) for item in cast("list[object]", value))


def _or_none(test: Test) -> Test:
    return lambda value: value is None or test(value)


def _of(fields: Mapping[str, Test], *required: str) -> Test:
    """Return a test for objects that have `required` fields, and fields that pass their own tests."""

    def test(value: Any) -> bool:
        return (
            isinstance(value, dict)
            and all(name in value for name in required)
            and all(name not in value or field_test(value[name]) for name, field_test in fields.items())
        )

    return test


def _list_of(test: Test) -> Test:
    return lambda value: isinstance(value, list) and all(test(item) for item in cast("list[Any]", value))


def _sourced(value: Any) -> bool:
    return ("source" in value) == ("version" in value)


def _map_of(test: Test) -> Test:
    return lambda value: isinstance(value, dict) and all(test(item) for item in cast("dict[str, Any]", value).values())


# ---- tables

_STATEMENT: Final = _of(
    {
        "object": _text, "said": _micros, "known": _micros, "confidence": _unit, "source": _text, "version": _count,
        "name": _or_none(_text), "begin": _micros, "end": _micros, "ends": _boolean, "refused": _boolean,
        "corrects": _or_none(_text), "fixed": _texts, "wording": _or_none(_text), "trust": _unit,
        "importance": _or_none(_unit),
    },
    "object", "said", "known", "confidence",
)  # fmt: skip
_REVISION: Final = _of(
    {"by": _text, "reason": _text, "confidence": _unit, "at": _micros, "wording": _or_none(_text)},
    "by", "reason", "confidence", "at", "wording",
)  # fmt: skip

_MET: Final = {"count": _count, "first": _or_none(_micros), "last": _or_none(_micros)}
_PLAN: Final[dict[str, Test]] = {
    "status": _text, "priority": _count, "parent": _or_none(_text), "done_at": _or_none(_time), "due": _or_none(_time)
}  # fmt: skip
_FIELDS: Final[dict[str, dict[str, Test]]] = {
    "message": {
        "role": _text, "name": _or_none(_text), "username": _or_none(_text), "tool_calls": _or_none(_objects),
        "tool_call_id": _or_none(_text), "images": _or_none(_texts), "external_id": _or_none(_pair),
        "reply_to": _or_none(_text),
    },
    "goal": _PLAN,
    "task": {
        **_PLAN, "recurrence": _or_none(lambda value: _text(value) or _number(value)), "goal": _or_none(_text),
        "times_done": _count, "first": _or_none(_time), "zone": _or_none(_text),
    },
    "action": {
        "tool": _text, "parameters": _or_none(_object), "success": _or_none(_boolean), "error": _or_none(_text),
        "duration": _or_none(lambda value: _number(value) and value >= 0),
    },
    "thought": {"step": _text},
    "post": {
        "type": _text, "location": _or_none(_text), "prompt": _or_none(_text), "image": _or_none(_text),
        "external_id": _or_none(_pair),
    },
    "fact": {
        "subject": _text, "predicate": _text, "object": _text, "confidence": _unit, "sources": _texts,
        "wording": _or_none(_text),
        "status": lambda value: value in ("current", "superseded", "retracted", "disputed"),
        "match": _of({"subject": _text, "object": _text}, "subject", "object"),
        "statements": _list_of(lambda value: _STATEMENT(value) and _sourced(value)),
    },
    "relationship": {
        "entity": _text, "target": _text, "type": _text, "strength": _unit, "count": _count,
        "first": _or_none(_micros), "last": _or_none(_micros),
        "own": _of({**_MET, "strength": _or_none(_unit), "sentiment": _or_none(_number)}),
        "learned": _or_none(_of(_MET, "count", "first", "last")),
        "match": _of({"entity": _text, "target": _text, "type": _text}, "entity", "target", "type"),
    },
    "revision": {"record": _text, "revisions": _map_of(_REVISION), "sources": _texts, "confirmed": _texts, "rejected": _map_of(_REVISION)},
    "summary": {
        "made_by": _text, "writer": _text, "from": _time, "to": _time, "count": _count, "sources": _texts,
        "kept": _texts, "left_out": _texts, "machines": _texts, "worth": _number, "gist": _text, "max_tokens": _count,
        "made_of": _or_none(_text), "fallback": _or_none(_text),
    },
    "document": {
        "title": _text, "summary": _text, "media_type": _text, "size": _count, "hash": _text, "characters": _count,
        "chunks": lambda value: _count(value) and value <= _MOST_CHUNKS, "tags": _texts, "source": _or_none(_text),
    },
    "chunk": {
        "document": _text, "place": _count, "start": _count, "end": _count, "headings": _texts, "tags": _texts,
        "source": _or_none(_text),
    },
}  # fmt: skip
_MOST_CHUNKS: Final = 200_000
_REQUIRED: Final[dict[str, tuple[str, ...]]] = {
    "fact": tuple(_FIELDS["fact"]),
    "relationship": ("entity", "target", "type", "strength", "count", "first", "last", "own", "match"),
    "revision": ("record", "revisions", "sources"),
    "summary": ("made_by", "from", "to", "count", "sources"),
    "document": ("title", "summary", "media_type", "size", "hash", "characters", "chunks"),
    "chunk": ("document", "place", "start", "end"),
}
_REFUSED: Final = frozenset({"message", "goal", "task", "action", "thought", "post"})
"""Kinds that have no field by which records made by this library are recognised."""
