"""Owners of memories: the user, agent, run and app that a request names."""

from collections.abc import Mapping
from typing import Any, Final

from rememo.errors import InvalidInput
from rememo.model.check import check_label
from rememo.serve.mem0.filters import APP, ENTITIES

OWNERS: Final = (*ENTITIES, APP)
"""The fields that name an owner."""


def named_entities(fields: Mapping[str, str | None], filters: Mapping[str, Any] | None) -> dict[str, str]:
    """Return the entities named by fields or by filters that name nothing else."""
    named = {name: check_label(value, name) for name, value in fields.items() if value is not None}
    for name, value in (filters or {}).items():
        if name not in OWNERS or named.get(name, value) != value:
            raise InvalidInput(f"filters may name {', '.join(OWNERS)} here, each once, and nothing else")
        named[name] = check_label(value, name)
    return named


def labels_of(named: Mapping[str, str]) -> dict[str, str]:
    """Return the labels of a scope that owners stand for; an app is metadata."""
    return {ENTITIES[name]: value for name, value in named.items() if name in ENTITIES}
