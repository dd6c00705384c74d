"""Check imported key-value entries by their namespace: whatever reads them later relies on it."""

import json
from collections.abc import Callable, Mapping
from datetime import date
from typing import Any, Final, cast

from rememo.collections.limits import read_limits
from rememo.errors import InvalidInput
from rememo.keep.export_entries import FieldCheck, check_fields
from rememo.keep.retention import check_policy
from rememo.learn.conflicts import POLICIES
from rememo.learn.facts import POLICY_SPACE
from rememo.model.check import check_label, check_offset
from rememo.model.scope import LABELS
from rememo.model.times import to_utc
from rememo.store.kv.protocol import EMBED_CACHE, LEDGER
from rememo.summary.room_summaries import SummaryPolicy

_MOST_TOKENS: Final = 2**53


def check_entry(space: str, key: str, value: object) -> None:
    """Refuse an entry that those who keep something in its namespace could not have written."""
    check = _BY_NAME.get(space)
    if check is None:
        check = _BY_KIND.get(_namespace_kind(space))
    if check is not None:
        check(key, value)


def _namespace_kind(space: str) -> str:
    """Return what a namespace of a view is for: nothing for the view's own keys."""
    try:
        parts: Any = json.loads(space)
    except (ValueError, RecursionError):
        parts = None
    if not isinstance(parts, list) or len(cast("list[Any]", parts)) < len(LABELS):
        raise InvalidInput(f"there is no namespace {space[:60]!r}")
    for name, label in zip(LABELS, cast("list[object]", parts), strict=False):
        if label is not None:
            check_label(label, name)
    return "".join(check_label(part, "space") for part in cast("list[object]", parts)[len(LABELS) : len(LABELS) + 1])


def _check_object(value: object, field: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise InvalidInput(f"{field} must be an object, not {type(value).__name__}")
    return cast("dict[str, Any]", value)


def _check_boolean(value: object, field: str) -> bool:
    if not isinstance(value, bool):
        raise InvalidInput(f"{field} must be true or false, not {value!r}")
    return value


def _check_profile(_: str, value: object) -> None:
    _check_object(value, "a profile")


_FLOW: Final[dict[str, FieldCheck]] = {
    "step": check_label, "data": _check_object, "paused": _check_boolean,
    "started_at": to_utc, "updated_at": to_utc,
}  # fmt: skip


def _check_flow(_: str, value: object) -> None:
    check_fields(value, "", _FLOW)


def _check_session(_: str, value: object) -> None:
    if not isinstance(value, list) or len(cast("list[Any]", value)) != 2:  # noqa: PLR2004 - its head and its body
        raise InvalidInput("a session must be a list of two objects")
    head, body = cast("list[object]", value)
    numbers = dict.fromkeys(("messages", "actions", "thoughts", "todos", "context", "bytes"), check_offset)
    check_fields(head, "", {"name": check_label, "saved_at": to_utc, **numbers})
    _check_object(body, "a session")  # what it holds is checked when it is loaded


def _check_limits(key: str, value: object) -> None:
    if key == "messages":
        read_limits(value)
        return
    fields = check_fields(value, "", {"policy": lambda policy, _: policy, "beside": check_offset})
    if fields["policy"] is not None:
        SummaryPolicy(**_check_object(fields["policy"], "policy"))


def _check_spending(key: str, value: object) -> None:
    date.fromisoformat(key)
    for operation, row in _check_object(value, "a day's spending").items():
        for name, number in _check_object(row, operation).items():
            if check_offset(number, f"{operation}.{name}") > _MOST_TOKENS:
                raise InvalidInput(f"{operation}.{name} must be at most {_MOST_TOKENS:,}")


def _check_policy_mode(_: str, value: object) -> None:
    if value not in POLICIES:
        raise InvalidInput(f"a policy must be one of {', '.join(POLICIES)}")


def _refuse(_: str, value: object) -> None:
    raise InvalidInput(f"vectors that were paid for are not brought in ({type(value).__name__})")


_BY_NAME: Final[Mapping[str, Callable[[str, object], None]]] = {
    POLICY_SPACE: _check_policy_mode,
    LEDGER: _check_spending,
    EMBED_CACHE: _refuse,
}
_BY_KIND: Final[Mapping[str, Callable[[str, object], None]]] = {
    "profiles": _check_profile,
    "sessions": _check_session,
    "flows": _check_flow,
    "limits": _check_limits,
    "retention": lambda _, value: check_policy(value),
}
