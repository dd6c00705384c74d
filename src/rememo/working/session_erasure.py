"""Remove erased records from saved sessions."""

import json
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from rememo.collections.base import value_id
from rememo.engine.engine import Engine
from rememo.model.check import dump_json, texts_in
from rememo.model.scope import LABELS, Scope
from rememo.working.context_values import CONTEXT
from rememo.working.export_format import SECTIONS

_VALUES = "context"
_PARTS = (*SECTIONS, _VALUES)


def clean_session(
    engine: Engine,
    scope: Scope,
    text: str,
    erased: Callable[[Scope, str], bool],
    holds: Callable[[Iterable[str]], bool],
) -> str | None:
    """Return the JSON of a saved session without the records that `erased` names, the same where it has none of them.

    None for one that cannot be kept: it cannot be read, nothing is left in it, or a value that is left in it `holds` erased
    words.
    """
    try:
        head, body = _split_session(json.loads(text))
        left_parts = {
            part: [entry for entry in body[part] if not _is_erased(engine, scope, part, entry, erased)]
            for part in _PARTS
        }
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None
    if any(holds(texts_in(value)) for value in left_parts[_VALUES]):
        return None
    if all(len(left_parts[part]) == len(body[part]) for part in _PARTS):
        return text
    if not any(left_parts.values()):
        return None
    remaining = dump_json(body | left_parts)
    counts = {part: len(entries) for part, entries in left_parts.items()}
    return f"[{dump_json(head | counts | {'bytes': len(remaining.encode())})},{remaining}]"


def _split_session(session: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    head, body = session
    return dict(head), dict(body)


def _is_erased(
    engine: Engine, scope: Scope, part: str, entry: dict[str, Any], erased: Callable[[Scope, str], bool]
) -> bool:
    labels = {name: label for name, label in entry.get("labels", {}).items() if name in LABELS}
    erased_scope = replace(scope, **labels)
    return erased(
        erased_scope, value_id(engine, erased_scope, CONTEXT, entry["name"]) if part == _VALUES else entry["id"]
    )
