"""The settings page: the settings of this process, read-only; secrets are shown as set or not set."""

import ast
import inspect
from collections.abc import Sequence
from dataclasses import fields
from functools import cache
from itertools import pairwise
from typing import Any, Final, NamedTuple, cast
from urllib.parse import urlsplit

from rememo.engine.view import view_of
from rememo.serve.dashboard.visit import Visit
from rememo.serve.service import ServerOptions
from rememo.settings import Settings

_VARIABLE: Final = "REMEMO_"


class SettingRow(NamedTuple):
    """A row of the settings table."""

    name: str
    value: str
    changed: bool
    """Whether it differs from the default."""
    says: str


def settings_page(visit: Visit) -> tuple[str, dict[str, Any]]:
    """Return all settings."""
    engine = view_of(visit.service.memory).engine
    model = engine.embedder
    condition = engine.store.health()
    return "settings.html", {
        "groups": [
            ("Memory", _VARIABLE, setting_rows(engine.settings)),
            ("Server", "", setting_rows(visit.service.options)),
        ],
        "about": [
            ("Kept by", condition.engine),
            ("Embedder", "none: no vectors are kept" if model is None else f"{model.name}, {model.dimension} numbers"),
            *((name, what) for name, what in condition.lacks.items()),
        ],
    }


def setting_rows(settings: Settings | ServerOptions) -> list[SettingRow]:
    """Return a row for each field, without secrets."""
    descriptions = _field_texts(type(settings))
    plain = type(settings)()
    return [
        SettingRow(
            field.name,
            _format_value(value, secret=not field.repr),
            value != getattr(plain, field.name),
            descriptions.get(field.name, ""),
        )
        for field in fields(settings)
        for value in (getattr(settings, field.name),)
    ]


def _format_value(value: object, *, secret: bool) -> str:
    if secret:
        return "set" if value else "not set"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        return f"{value:,}"
    if isinstance(value, str):
        return _without_credentials(value) if "://" in value else value or "not set"
    if isinstance(value, tuple | list):
        return ", ".join(map(str, cast("Sequence[object]", value))) or "none"
    return "not set" if value is None else str(value)


def _without_credentials(text: str) -> str:
    """Return a URL without credentials and query."""
    parts = urlsplit(text)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


@cache
def _field_texts(kind: type) -> dict[str, str]:
    """Return the docstrings below the fields of a class, read from its source."""
    body = [
        node
        for class_node in ast.parse(inspect.getsource(kind)).body
        if isinstance(class_node, ast.ClassDef)
        for node in class_node.body
    ]
    texts: dict[str, str] = {}
    for node, next_one in pairwise(body):
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and isinstance(next_one, ast.Expr):
            value = next_one.value
            texts[node.target.id] = str(value.value).replace("`", "") if isinstance(value, ast.Constant) else ""
    return texts
